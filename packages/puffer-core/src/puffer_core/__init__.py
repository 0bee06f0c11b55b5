"""Flat, preallocated environments: PufferEnv, spaces, emulation."""
