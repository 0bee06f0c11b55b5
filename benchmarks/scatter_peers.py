"""Plotly's scattergl and regl-scatterplot at the work of constellation.py; npm fetches them."""

from __future__ import annotations

import functools
import http.server
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PACKAGES = {"plotly.js-gl2d-dist-min": "3.7.0", "regl-scatterplot": "1.16.0"}
GL_FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

PAGE = """<!doctype html>
<meta charset="utf-8">
<script type="importmap">{"imports": {
    "pub-sub-es": "./node_modules/pub-sub-es/dist/index.js",
    "regl": "data:text/javascript,export default globalThis.createREGL"
}}</script>
<script src="node_modules/regl/dist/regl.min.js"></script>
<script src="node_modules/plotly.js-gl2d-dist-min/plotly-gl2d.min.js"></script>
<style>body { margin: 0; display: flex } div, canvas { width: 660px; height: 440px }</style>
"""

DRIVE = """
async ({ peer, seconds }) => {
    const columns = await Promise.all([0, 1, 2, 3].map(async (k) =>
        new Float32Array(await (await fetch(`column-${k}.bin`)).arrayBuffer())));
    const [brushed] = columns, n = brushed.length;
    const views = await (peer === "plotly" ? plotly : regl)();
    const gaps = [];
    let last = 0, first = 0, step = 0;
    const begun = performance.now();
    while (performance.now() - begun < 1000 * seconds) {
        const t = (step % 60) / 60;
        if (step++ % 120 < 60) {
            const low = -4.5 + 0.6 * t * 9, high = low + 0.4 * 9, rows = [];
            for (let i = 0; i < n; i++) if (brushed[i] >= low && brushed[i] <= high) rows.push(i);
            await Promise.all(views.map((view) => view.show(rows)));
        } else await views[0].zoom(4 - 3 * t);
        const now = await new Promise(requestAnimationFrame);
        if (last) gaps.push(now - last);
        last = now;
    }
    return { fps: 1000 * gaps.length / gaps.reduce((x, y) => x + y, 0), frames: gaps.length };

    async function plotly() {
        const found = [];
        for (const [x, y] of [[0, 1], [2, 3]]) {
            const div = document.body.appendChild(document.createElement("div"));
            const marker = { size: 3, color: columns[y], colorscale: "Viridis" };
            const points = { x: columns[x], y: columns[y], marker };
            const trace = { type: "scattergl", mode: "markers", ...points };
            await Plotly.newPlot(div, [trace], { width: 660, height: 440 });
            found.push({
                show: (rows) => Plotly.restyle(div, {
                    x: [Float32Array.from(rows, (i) => columns[x][i])],
                    y: [Float32Array.from(rows, (i) => columns[y][i])],
                    "marker.color": [Float32Array.from(rows, (i) => columns[y][i])],
                }),
                zoom: (half) => Plotly.relayout(div, {
                    "xaxis.range": [-half, half], "yaxis.range": [-half, half],
                }),
            });
        }
        return found;
    }

    async function regl() {
        const { default: create } = await import(
            new URL("node_modules/regl-scatterplot/dist/regl-scatterplot.esm.js", location));
        const found = [];
        for (const [x, y] of [[0, 1], [2, 3]]) {
            const canvas = document.body.appendChild(document.createElement("canvas"));
            const plot = create({ canvas, width: 660, height: 440, pointSize: 3 });
            const scaled = (column) => column.map((v) => Math.max(-1, Math.min(1, v / 4.5)));
            await plot.draw({ x: scaled(columns[x]), y: scaled(columns[y]) });
            found.push({
                show: (rows) => plot.filter(rows),
                zoom: (half) => plot.zoomToArea(
                    { x: -half / 4.5, y: -half / 4.5, width: half / 2.25, height: half / 2.25 }),
            });
        }
        return found;
    }
}
"""


def fetch(cache: Path) -> None:
    """Install the packages below `cache`, unless they are there."""
    if all((cache / "node_modules" / name).exists() for name in PACKAGES):
        return
    cache.mkdir(parents=True, exist_ok=True)
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    options = ["--prefix", str(cache), "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(["npm", "install", *options, *wanted], check=True, capture_output=True)


def measure(
    browser: Any, cache: Path, columns: npt.NDArray[np.float32], seconds: float
) -> dict[str, Any]:
    """Frames a second of each peer: two plots of four columns, a brush and a zoom in turn.

    The peers draw and nothing else: no histogram, no count.
    """
    fetch(cache)
    (cache / "index.html").write_text(PAGE)
    for k, column in enumerate(columns):
        (cache / f"column-{k}.bin").write_bytes(column.astype("<f4").tobytes())
    handler = functools.partial(Quiet, directory=str(cache))
    found = {}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        for peer in ("plotly", "regl-scatterplot"):
            page = browser.new_page(viewport={"width": 1700, "height": 1000})
            page.goto(f"http://127.0.0.1:{site.server_address[1]}/")
            found[peer] = page.evaluate(DRIVE, {"peer": peer, "seconds": seconds})
            page.close()
        site.shutdown()
    return found


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""
