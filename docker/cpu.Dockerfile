# Puffer on CPUs: docker build -f docker/cpu.Dockerfile -t puffer . && docker run -it puffer train breakout
FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ git libc6-dev && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir uv
WORKDIR /puffer
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY packages packages
RUN uv sync --frozen --no-dev
ENV PATH=/puffer/.venv/bin:$PATH
RUN puffer envs
ENTRYPOINT ["puffer"]
CMD ["--help"]
