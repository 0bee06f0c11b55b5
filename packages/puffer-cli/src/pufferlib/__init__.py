"""The names that programs written for PufferLib import."""
