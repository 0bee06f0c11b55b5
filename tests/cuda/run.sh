#!/usr/bin/env bash
# On a machine with a GPU, in under 6 minutes: build the native trainer with nvcc, hold its operations
# against float64 references and the whole trainer against Torch's, run small cases under
# compute-sanitizer where it is installed, and measure. Figures go to $OUT (default: .).
#
#     tests/cuda/run.sh         # with a GPU
#     tests/cuda/run.sh --dry   # without: compile for one architecture, run everything on the CPU
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-.venv/bin/python}
puffer=$(dirname "$python")/puffer
out=${OUT:-.}
steps=()
if [ "${1:-}" = --dry ]; then
    device=cpu seconds=1 steps=(--train.total-timesteps 70000)
    "$python" -m pytest -q tests/cuda/native/test_cuda_compiles.py
    export PUFFER_TEST_DEVICE=emulated
else
    device=cuda seconds=6
    nvidia-smi --query-gpu=name,driver_version --format=csv
    time "$puffer" build native
    export PUFFER_TEST_DEVICE=cuda
fi

"$python" -m pytest -q tests/cuda/native/test_ops.py
"$python" -m pytest -q tests/cuda/native/test_golden.py tests/cuda/native/test_trainer.py
if [ "$device" = cuda ] && command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck; do
        timeout 60 compute-sanitizer --tool "$tool" --error-exitcode 1 \
            "$python" -m pytest -q tests/cuda/native/test_ops.py -k "mingru_scan or statistics"
    done
else
    echo "compute-sanitizer: not run"
fi
"$python" benchmarks/gpu.py --device "$device" --seconds "$seconds" --json "$out/gpu.json"
for env in breakout pong; do
    timeout 90 "$puffer" train "$env" --train.backend native \
        --train.device "$device" --json "${steps[@]}" >"$out/gpu_$env.json"
    echo "$env: $out/gpu_$env.json"
done
