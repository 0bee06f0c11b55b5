#!/usr/bin/env bash
# On a machine with a GPU, in under 6 minutes: build the native trainer with nvcc, hold its operations
# against float64 references, the whole trainer against Torch's and environments on the GPU against
# the CPU's, run small cases under compute-sanitizer where it is installed, and measure. Figures go
# to $OUT (default: .).
#
#     tests/cuda/run.sh         # with a GPU
#     tests/cuda/run.sh --dry   # without: everything on the CPU, with tests in a small selection
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-.venv/bin/python}
puffer=$(dirname "$python")/puffer
out=${OUT:-.}
native=tests/cuda/native
within() { timeout "$@"; }
if [ "${1:-}" = --dry ]; then
    device=cpu seconds=0.1 limit=2
    within() { "${@:2}"; }  # a busy machine has time
    export PUFFER_TEST_DEVICE=emulated
    ops=(-k advantage) trainer=(-k "forgotten_reset") environments="bytes and squared"
    places=(cpu)
else
    device=cuda seconds=2 limit=25
    nvidia-smi --query-gpu=name,driver_version --format=csv
    time "$puffer" build native
    export PUFFER_TEST_DEVICE=cuda
    ops=() trainer=()
    # those without functions whose last bits differ
    environments="bytes and (squared or snake or connect4)"
    places=(gpu cpu)
fi

within 90 "$python" -m pytest -q "$native/test_ops.py" "${ops[@]}"
within 90 "$python" -m pytest -q "$native/test_golden.py" "$native/test_trainer.py" "${trainer[@]}"
within 60 "$python" -m pytest -q "$native/test_gpu_environments.py" -k "$environments"
if [ "$device" = cuda ] && command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        within 30 compute-sanitizer --tool "$tool" --error-exitcode 1 \
            "$python" -m pytest -q "$native/test_ops.py" -k "mingru_scan or statistics"
    done
else
    echo "compute-sanitizer: not run"
fi
"$python" benchmarks/gpu.py --device "$device" --seconds "$seconds" --json "$out/gpu.json"
for place in "${places[@]}"; do
    "$python" benchmarks/solve.py breakout pong --device "$device" --vec-device "$place" \
        --limit "$limit" --json "$out/solve_$place.json"
done
