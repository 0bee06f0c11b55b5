"""Our vectorizers behind the interfaces of other stacks; each module imports its own stack."""
