# Puffer on NVIDIA GPUs, with nvcc for the native backend:
# docker build -f docker/cuda.Dockerfile -t puffer-cuda . && docker run --gpus all -it puffer-cuda train breakout
FROM nvidia/cuda:13.0.2-devel-ubuntu24.04
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ git python3-dev python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --break-system-packages uv
WORKDIR /puffer
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY packages packages
RUN uv sync --frozen --no-dev
ENV PATH=/puffer/.venv/bin:$PATH
RUN puffer envs
ENTRYPOINT ["puffer"]
CMD ["--help"]
