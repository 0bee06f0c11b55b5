// Learning curves of the runs that pass: an envelope from all of their points, a mean, single runs.

import { View } from "./model.js";
import { choose, fill, h, s, select } from "./dom.js";
import { brief, drawAxes } from "./axes.js";
import { category } from "./colors.js";
import { nice, number, thousands } from "./scales.js";

const MARGIN = { left: 54, right: 12, top: 10, bottom: 26 };
const SINGLE = 24; // runs up to which each has its own line
const GROUPS = 7;

export class Curves extends View {
  constructor(model) {
    const plot = h("div.plot", { role: "img", "aria-label": "Learning curves" });
    super(model, plot, true);
    this.plot = plot;
    this.grid = s("g");
    this.body = s("g");
    this.note = h("p.foot");
    plot.append(s("svg", { class: "over", "aria-hidden": "true" }, this.grid, this.body));
    this.y = select("metric of the curves", [], "", (y) => this.#set({ y }));
    this.x = select("horizontal axis of the curves", [], "", (x) => this.#set({ x }));
    this.smooth = h("input", { type: "range", min: 0, max: 0.98, step: 0.02, "aria-label": "Smoothing" });
    this.smooth.oninput = () => this.#set({ smooth: Number(this.smooth.value) }, false);
    this.smooth.onchange = () => this.state.commit();
    this.panel = h("section.panel.curves", { "aria-label": "Learning curves" },
      h("header", {}, this.y, h("span.over-word", {}, "over"), this.x, h("span.grow"),
        h("label.smooth", {}, "smooth", this.smooth)), plot, this.note);
  }

  get mine() { return this.state.now.curves; }
  #set(patch, commit = true) { this.state.set({ curves: { ...this.mine, ...patch } }, commit); }

  draw(keys) {
    const { model } = this, { curves } = model.header;
    this.panel.hidden = curves.length === 0;
    if (!curves.length) return;
    if (keys.has("data")) {
      const names = curves.map(({ name }) => [name, briefOf(curves, name)]);
      fill(this.y, names, this.mine.y);
      fill(this.x, names, this.mine.x);
    }
    for (const axis of ["x", "y"]) choose(this[axis], this.mine[axis]);
    this.smooth.value = this.mine.smooth;
    const relevant = ["data", "resize", "filters", "lassos", "search", "color", "curves", "pins", "hover", "theme", "settle"];
    if (!relevant.some((key) => keys.has(key))) return;
    const onlyHover = keys.size === 1 && keys.has("hover");
    if (onlyHover && this.hovered === undefined) return;
    this.#draw();
  }

  #draw() {
    const { model } = this, { width, height } = this.size;
    const x = model.curveColumn(this.mine.x), y = model.curveColumn(this.mine.y);
    if (!x || !y) return void (this.note.textContent = "loading the curves…");
    const box = { left: MARGIN.left, top: MARGIN.top, width: Math.max(40, width - MARGIN.left - MARGIN.right), height: Math.max(40, height - MARGIN.top - MARGIN.bottom) };
    const runs = this.#runs();
    const chosen = this.#block(runs.all);
    const [ends, tops] = [this.#extent(x, chosen), this.#extent(y, chosen, x)];
    this.body.replaceChildren();
    if (!ends || !tops) {
      this.grid.replaceChildren();
      this.note.textContent = runs.all.length ? "no run has both" : "no run passes the filters";
      this.#free(chosen);
      return;
    }
    const pad = (tops[1] - tops[0]) * 0.04 || 1;
    const low = tops[0] - pad, high = tops[1] + pad;
    const sx = box.width / (ends[1] - ends[0] || 1), sy = box.height / (high - low);
    const at = (vx, vy) => [box.left + (vx - ends[0]) * sx, box.top + (high - vy) * sy];
    drawAxes(this.grid, box,
      { ticks: nice(ends[0], ends[1] || 1, box.width / 80).map((v) => [v, number(v)]), at: (v) => (v - ends[0]) * sx },
      { ticks: nice(low, high, box.height / 48).map((v) => [v, number(v)]), at: (v) => (high - v) * sy });
    // no finer than the runs are logged: a bucket then holds points of most of them
    const points = model.header.points / Math.max(1, model.start.length - 1);
    const buckets = Math.round(Math.max(20, Math.min(400, box.width / 2, 2 * points)));
    this.means = new Map();
    for (const group of runs.groups) {
      const rows = this.#block(group.runs);
      this.#band(x, y, rows, group, ends, buckets, at);
      this.#free(rows);
    }
    this.#free(chosen);
    for (const line of runs.lines) this.#line(x, y, line, ends, buckets, at);
    const dropped = model.header.curves_dropped;
    const parts = [`${thousands(runs.all.length)} runs: mean, least and greatest of all points`];
    if (runs.groups.length > 1) parts[0] += `, by ${brief(model, this.state.now.color)}`;
    if (dropped) parts.push(`${dropped} metrics left out of this file`);
    this.note.textContent = parts.join(" · ");
    this.plot.setAttribute("aria-label", `${this.mine.y} over ${this.mine.x} of ${runs.all.length} runs, from ${number(tops[0])} to ${number(tops[1])}`);
  }

  /** The runs that pass, in groups by a colour that is a category, and those with lines. */
  #runs() {
    const { model } = this, fails = model.fails.a, seen = new Set(), all = [];
    const color = model.column(this.state.now.color), codes = color?.labels ? model.raw(color).a : null;
    const groups = new Map();
    for (let row = 0; row < model.n; row++) {
      if (fails[row] !== 0) continue;
      const run = model.curveOf(row);
      if (seen.has(run) || model.start[run] === model.start[run + 1]) continue;
      seen.add(run);
      all.push(run);
      const code = codes && codes[row] < GROUPS ? codes[row] : codes ? GROUPS : -1;
      if (!groups.has(code)) groups.set(code, []);
      groups.get(code).push(run);
    }
    const { pins } = this.state.now;
    const lines = pins.filter((row) => row < model.n).map((row, k) => ({ run: model.curveOf(row), kind: "pinned", name: String(k + 1) }));
    this.hovered = undefined;
    if (model.hover >= 0) {
      this.hovered = model.curveOf(model.hover);
      lines.push({ run: this.hovered, kind: "hovered" });
    }
    if (all.length <= SINGLE) {
      const grouped = [...groups].flatMap(([code, runs]) => runs.map((run) => ({ run, kind: "single", code })));
      lines.unshift(...grouped);
    }
    return { all, lines, groups: [...groups].sort((a, b) => a[0] - b[0]).map(([code, runs]) => ({ code, runs })) };
  }

  #block(runs) {
    const block = this.model.core.make(Uint32Array, Math.max(1, runs.length));
    block.a.set(runs);
    block.count = runs.length;
    return block;
  }

  #free(block) { this.model.core.free(block); }

  /** Least and greatest finite value of some runs; null if there is none. */
  #extent(values, runs, partner = values) {
    const { model } = this, { start } = model, array = values.a, other = partner.a;
    let low = Infinity, high = -Infinity;
    for (let k = 0; k < runs.count; k++) {
      const run = runs.a[k];
      for (let i = start[run]; i < start[run + 1]; i++) {
        const v = array[i];
        if (v - v === 0 && other[i] - other[i] === 0) {
          if (v < low) low = v;
          if (v > high) high = v;
        }
      }
    }
    return low <= high ? [low, high] : null;
  }

  /** Count, sum, least and greatest of each bucket. */
  #buckets(x, y, runs, ends, buckets) {
    const { core } = this.model;
    if (this.starts?.of !== core) {
      this.starts = core.make(Uint32Array, this.model.start.length);
      this.starts.a.set(this.model.start);
      this.starts.of = core;
    }
    const counts = core.make(Uint32Array, buckets), stats = core.make(Float64Array, 3 * buckets);
    const high = ends[1] > ends[0] ? ends[1] : ends[0] + 1;
    core.envelope(x, y, this.starts, runs, runs.count, ends[0], high, buckets, counts, stats);
    const found = [];
    for (let k = 0; k < buckets; k++) {
      if (!counts.a[k]) continue;
      const middle = ends[0] + (k + 0.5) / buckets * (high - ends[0]);
      found.push({ x: middle, mean: stats.a[3 * k] / counts.a[k], low: stats.a[3 * k + 1], high: stats.a[3 * k + 2] });
    }
    core.free(counts);
    core.free(stats);
    return found;
  }

  #band(x, y, runs, { code }, ends, buckets, at) {
    const points = this.#buckets(x, y, runs, ends, buckets);
    if (!points.length) return;
    const color = code < 0 ? "var(--accent)" : category(code);
    const top = points.map((p) => at(p.x, p.high).map((v) => v.toFixed(1)).join(" "));
    const bottom = points.map((p) => at(p.x, p.low).map((v) => v.toFixed(1)).join(" ")).reverse();
    if (runs.count > 1) {
      const area = s("path", { class: "band", d: `M${[...top, ...bottom].join("L")}Z` });
      area.style.fill = color;
      this.body.append(area);
    }
    const raw = points.map((p) => [p.x, p.mean]);
    this.means.set(code, raw);
    this.#stroke(raw, "mean", color, at);
  }

  /** A line as it is, and smoothed above it: smoothing never hides what was measured. */
  #stroke(points, kind, color, at) {
    const path = (list) => `M${list.map(([vx, vy]) => at(vx, vy).map((v) => v.toFixed(1)).join(" ")).join("L")}`;
    const add = (list, extra) => {
      const line = s("path", { class: `curve ${kind} ${extra}`, d: path(list) });
      line.style.stroke = color;
      this.body.append(line);
    };
    const { smooth } = this.mine;
    add(points, smooth ? "raw" : "");
    if (smooth) add(smoothed(points, smooth), "");
  }

  #line(x, y, { run, kind, code, name }, ends, buckets, at) {
    const { start } = this.model, from = start[run], to = start[run + 1];
    const xs = x.a, ys = y.a;
    let points = [];
    if (to - from <= 4 * buckets) {
      for (let i = from; i < to; i++) if (xs[i] - xs[i] === 0 && ys[i] - ys[i] === 0) points.push([xs[i], ys[i]]);
    } else { // least and greatest of each bucket: a spike stays
      const one = this.#block([run]);
      points = this.#buckets(x, y, one, ends, buckets).flatMap((p) => [[p.x, p.low], [p.x, p.high]]);
      this.#free(one);
    }
    if (!points.length) return;
    const color = kind === "single" && code >= 0 ? category(code) : kind === "single" ? "var(--accent)" : "var(--text)";
    this.#stroke(points, kind, color, at);
    if (name) {
      const [px, py] = at(...points[points.length - 1]);
      this.body.append(s("text", { class: "pin-name", x: px - 4, y: py - 6, "text-anchor": "end" }, name));
    }
  }
}

/** Exponential moving average, without the pull to zero at the start. */
export function smoothed(points, weight) {
  let sum = 0, norm = 0;
  return points.map(([x, y]) => {
    sum = weight * sum + (1 - weight) * y;
    norm = weight * norm + (1 - weight);
    return [x, sum / norm];
  });
}

function briefOf(curves, name) {
  const last = name.split(/[/.]/).pop();
  return curves.filter((other) => other.name.split(/[/.]/).pop() === last).length === 1 ? last : name;
}
