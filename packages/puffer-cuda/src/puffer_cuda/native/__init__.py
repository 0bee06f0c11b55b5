"""PuffeRL in C++: the same algorithm as on Torch, several times as fast, behind the same class."""
