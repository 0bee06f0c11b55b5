"""Policies and PuffeRL, the PPO trainer. Submodules import torch; this module does not."""

import os

# OpenMP threads that wait for each other spin by default. As soon as anything else runs on the
# machine, they spin on the very cores that the other half of the work needs: training was seen to
# slow down eightfold. Read once, when torch is imported; a value of the user's stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
