"""The puffer command, and the pufferlib facade."""
