#!/usr/bin/env bash
# On a machine with a GPU: the operations of the native trainer, compiled with nvcc, against the same
# float64 references as on the CPU, then under compute-sanitizer where it is installed.
#
#     tests/cuda/run.sh         # with a GPU
#     tests/cuda/run.sh --dry   # without: compile for every architecture, run the host's part
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-.venv/bin/python}
if [ "${1:-}" = --dry ]; then
    "$python" -m pytest -q -m "slow or not slow" tests/cuda/native/test_cuda_compiles.py
    "$python" -m pytest -q tests/cuda/native/test_ops.py
    exit
fi
export PUFFER_TEST_DEVICE=cuda
nvidia-smi --query-gpu=name,driver_version --format=csv
"$python" -m pytest -q tests/cuda/native/test_ops.py
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck initcheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 1 \
            "$python" -m pytest -q tests/cuda/native/test_ops.py -k "mingru or loss or statistics"
    done
else
    echo "compute-sanitizer is not installed: not run"
fi
