"""Policies and PuffeRL, the PPO trainer. Submodules import torch; this module does not."""
