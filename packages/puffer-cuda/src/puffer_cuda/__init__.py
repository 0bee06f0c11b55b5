"""Policies and PuffeRL, the PPO trainer."""
