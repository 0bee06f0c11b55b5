"""Environments in C, the C contract and its builder."""
