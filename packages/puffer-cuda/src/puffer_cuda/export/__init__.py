"""Policies that leave Python: ONNX, and one C file. Heavy parts are imported from its modules."""
