"""Vectorized environments behind one interface: Serial, Multiprocessing."""
