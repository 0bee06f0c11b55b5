"""Frames of Constellation in headless Chromium, without a GPU.

    uv run --group browser python benchmarks/constellation.py [--rows N] [--seconds S] [--peers]

Two scatter plots and the histograms that fit on the screen; a brush is dragged and a plot zoomed in
turn, one step a frame. Prints frames a second, milliseconds of the main thread a frame, the time to
the first picture, and memory; with --peers also the frames a second of plotly's scattergl and of
regl-scatterplot, which draw the same two plots (scatter_peers.py).
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import scatter_peers
from playwright.sync_api import sync_playwright

from puffer_cli.constellation import dataset
from puffer_cli.constellation.index import Index
from puffer_cli.constellation.serve import Server

FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run", "--disable-gpu"]

DRIVE = """
async (seconds) => {
    const element = document.querySelector("puffer-constellation");
    const { model, state } = element, gaps = [], main = [];
    const column = model.column("c2"), { low, high } = model.place(column);
    const a = state.now.a;
    let last = 0, step = 0;
    await new Promise((done) => {
        const begun = performance.now();
        const frame = (now) => {
            if (last) gaps.push(now - last);
            last = now;
            if (now - begun > 1000 * seconds) return done();
            model.touch();
            const t = (step % 60) / 60, wide = high - low;
            if (step++ % 120 < 60) {
                const from = low + 0.6 * t * wide;
                state.set({ filters: { c2: { low: from, high: from + 0.4 * wide } } }, false);
            } else {
                const half = 4 - 3 * t;
                const zoom = { x: [-half, half], y: [-half, half] };
                state.set({ a: { ...a, zoom } }, false);
            }
            requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
    });
    const times = model.stats.times.slice(-gaps.length).sort((x, y) => x - y);
    const at = (list, q) => list[Math.floor(q * (list.length - 1))];
    return {
        fps: 1000 * gaps.length / gaps.reduce((x, y) => x + y, 0),
        main_median_ms: at(times, 0.5), main_p95_ms: at(times, 0.95), frames: gaps.length,
        histograms: element.filters.visible.size, core: model.core.name,
        core_mb: model.matrix.memory ? model.matrix.memory.buffer.byteLength / 1e6 : null,
    };
}
"""
FIRST = """
() => new Promise((done) => {
    const look = () => {
        const model = document.querySelector("puffer-constellation")?.model;
        if (model?.stats?.frames) done(performance.now());
        else setTimeout(look, 5);
    };
    look();
})
"""


def table(rows: int) -> Index:
    """Thirty columns of noise."""
    generator = np.random.default_rng(0)
    index = Index([])
    index.runs.append([{f"c{k}": 0.0 for k in range(30)}])
    index.runs.rows = rows
    for column in index.runs.columns.values():
        column.values = generator.normal(size=rows)
        column.valid = np.ones(rows, bool)
    return index


def measure(rows: int, seconds: float) -> dict[str, Any]:
    """Drive the page; see the module."""
    server = Server(dataset.build(table(rows), projection_kind="none"))
    server.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1700, "height": 1000})
        page.goto(f"{server.url}?panels=a,b")
        first = page.evaluate(FIRST)
        page.wait_for_timeout(1500)
        found: dict[str, Any] = page.evaluate(DRIVE, seconds)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        heap = next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize")
        browser.close()
    server.close()
    return {"rows": rows, "first_picture_ms": first, "js_heap_mb": heap / 1e6, **found}


def peers(rows: int, seconds: float) -> dict[str, Any]:
    """The same columns drawn by others, which the user's cache keeps."""
    columns = table(rows).runs.columns
    chosen = np.stack([columns[f"c{k}"].values for k in (2, 3, 0, 1)]).astype(np.float32)
    cache = Path.home() / ".cache" / "puffer" / "scatter-peers"
    flags = [flag for flag in FLAGS if flag != "--disable-gpu"] + scatter_peers.GL_FLAGS
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        found = scatter_peers.measure(browser, cache, chosen, seconds)
        browser.close()
    return found


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument(
        "--peers", action="store_true", help="fetch others by npm, measure them too"
    )
    options = parser.parse_args()
    found = measure(options.rows, options.seconds)
    if options.peers:
        found["peers"] = peers(options.rows, options.seconds)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
