// A scatter plot: points in pixels by the core, axes and what is pointed out in SVG above them.

import { View } from "./model.js";
import { button, choose, deviceRatio, h, s, say, select } from "./dom.js";
import { brief, columnTicks, drawAxes } from "./axes.js";
import { SCALES, forward, inverse, thousands } from "./scales.js";
import { MAX_PINS } from "./state.js";
import { choices, tooltip } from "./columns.js";
import { ICONS } from "./icons.js";
import { Painter } from "./painter.js";

const MARGIN = { left: 54, right: 12, top: 10, bottom: 26 };
const STRIP = 14; // pixels for what has no place on an axis
const POINT_KEYS = [
  "data", "resize", "filters", "lassos", "search", "scales", "color", "palette", "shape", "size",
  "theme", "draw", "settle",
];

export class Scatter extends View {
  /** @param {"a"|"b"} key of its part of the state */
  constructor(model, key, heading) {
    const plot = h("div.plot", { tabIndex: 0, role: "application", "aria-label": "Plot" });
    super(model, plot);
    Object.assign(this, { key, plot, tool: "pan" });
    this.canvas = h("canvas.points", { "aria-hidden": "true" });
    this.painter = new Painter(model, this.canvas);
    this.grid = s("g");
    this.over = s("g");
    this.svg = s("svg", { class: "over", "aria-hidden": "true" }, this.grid, this.over);
    this.note = h("p.foot");
    plot.append(this.canvas, this.svg);
    this.pickers = {};
    for (const axis of ["x", "y"]) {
      const column = select(`${axis} axis of ${heading}`, [], "", (name) => this.#pick({ [axis]: name, zoom: null }));
      const scale = select(`scale of the ${axis} axis`, SCALES, "", (kind) => this.#rescale(axis, kind));
      scale.classList.add("quiet");
      this.pickers[axis] = { column, scale };
    }
    this.tools = ["pan", "box", "lasso"].map((tool) => button(
      { pan: "Move and zoom", box: "Select a box (Shift and drag)", lasso: "Select by lasso (Alt and drag)" }[tool],
      ICONS[tool], () => this.#use(tool), { "aria-pressed": String(tool === "pan") },
    ));
    const { x, y } = this.pickers;
    this.header = h("header", {},
      h("span.axis", {}, y.column, y.scale), h("span.over-word", {}, "over"), h("span.axis", {}, x.column, x.scale),
      h("span.grow"), h("span.tools", {}, ...this.tools, button("Show all", ICONS.fit, () => this.#pick({ zoom: null }))));
    this.panel = h("section.panel.scatter", { "aria-label": heading }, this.header, plot, this.note);
    this.#listen();
  }

  get mine() { return this.state.now[this.key]; }

  #pick(patch, commit = true) {
    const next = { ...this.mine, ...patch };
    for (const name of Object.keys(next)) if (next[name] === null) delete next[name];
    this.state.set({ [this.key]: next }, commit);
  }

  #rescale(axis, kind) {
    const column = this.model.column(this.mine[axis]);
    if (!column) return;
    this.state.set({ scales: { ...this.state.now.scales, [column.name]: kind }, [this.key]: without(this.mine, "zoom") });
  }

  #use(tool) {
    this.tool = tool;
    ["pan", "box", "lasso"].forEach((name, k) => this.tools[k].setAttribute("aria-pressed", String(name === tool)));
  }

  /** Columns, their places, and the pixels of both. */
  #geometry() {
    const { model } = this, x = model.column(this.mine.x), y = model.column(this.mine.y);
    if (!x || !y) return null;
    const { width, height } = this.size;
    const box = {
      left: MARGIN.left, top: MARGIN.top,
      width: Math.max(40, width - MARGIN.left - MARGIN.right),
      height: Math.max(40, height - MARGIN.top - MARGIN.bottom),
    };
    const [px, py] = [model.place(x), model.place(y)];
    const strips = [px.finite < model.n, py.finite < model.n].map((some) => (some ? STRIP : 0));
    const domain = (place, zoom, column) => {
      if (Array.isArray(zoom) && zoom.length === 2 && zoom[1] > zoom[0]) return zoom;
      const { low, high } = place;
      const pad = high > low ? 0.04 * (high - low) : column.labels ? 0.5 : Math.abs(high) * 0.1 || 1;
      return [low - pad, high + pad];
    };
    const dx = domain(px, this.mine.zoom?.x, x), dy = domain(py, this.mine.zoom?.y, y);
    const sx = (box.width - strips[0]) / (dx[1] - dx[0]), sy = -(box.height - strips[1]) / (dy[1] - dy[0]);
    return {
      x, y, px, py, box, dx, dy, sx, sy, strips,
      ox: strips[0] - dx[0] * sx, oy: box.height - strips[1] - dy[0] * sy,
    };
  }

  draw(keys) {
    const has = (...names) => names.some((name) => keys.has(name));
    if (has("data")) this.#choices();
    if (has("data", "scales", this.key)) this.#show();
    const g = this.g = this.#geometry();
    if (!g) return;
    const { box } = g;
    if (has(...POINT_KEYS, this.key)) {
      const ratio = deviceRatio(this.size), [w, t] = [box.width, box.height].map((v) => Math.max(1, Math.round(v * ratio)));
      for (const side of ["left", "top", "width", "height"]) this.canvas.style[side] = `${box[side]}px`;
      this.ratio = w / box.width;
      this.map = [g.sx, g.ox, g.sy, g.oy, g.strips[0] / 2, box.height - g.strips[1] / 2].map((v) => v * this.ratio);
      this.painter.draw(g.px.block, g.py.block, this.map, this.ratio, w, t);
      this.#say();
    }
    if (has("data", "resize", "scales", this.key)) this.#axes(g);
    this.#marks(g);
  }

  #choices() {
    for (const axis of ["x", "y"]) choices(this.pickers[axis].column, this.model);
  }

  #show() {
    for (const axis of ["x", "y"]) {
      const column = this.model.column(this.mine[axis]);
      choose(this.pickers[axis].column, this.mine[axis]);
      choose(this.pickers[axis].scale, column ? this.model.scaleOf(column) : "linear");
      this.pickers[axis].scale.disabled = !column || Boolean(column.labels);
    }
  }

  #axes({ x, y, box, dx, dy, sx, sy, ox, oy, strips }) {
    const { model } = this;
    drawAxes(this.grid, box,
      { ticks: columnTicks(model, x, model.scaleOf(x), ...dx, box.width / 80), at: (t) => t * sx + ox },
      { ticks: columnTicks(model, y, model.scaleOf(y), ...dy, box.height / 48), at: (t) => t * sy + oy });
    const { left, top, width, height } = box;
    const edge = (x1, y1, x2, y2) => this.grid.append(s("line", { class: "strip", x1, x2, y1, y2 }));
    if (strips[0]) edge(left + strips[0], top, left + strips[0], top + height);
    if (strips[1]) edge(left, top + height - strips[1], left + width, top + height - strips[1]);
  }

  /** Where a row's point is, in CSS pixels of the plot. */
  #at(row, g) {
    const one = (v, scale, offset, strip) => (Number.isFinite(v) ? v * scale + offset : strip);
    return [
      g.box.left + one(g.px.block.a[row], g.sx, g.ox, g.strips[0] / 2),
      g.box.top + one(g.py.block.a[row], g.sy, g.oy, g.box.height - g.strips[1] / 2),
    ];
  }

  /** The front, the budget, pinned rows, the row pointed at, and what is being selected. */
  #marks(g) {
    const { model } = this, { front, pins, cost, score, least, budget } = this.state.now;
    const { box } = g, parts = [];
    const objective = g.x.name === cost && g.y.name === score;
    if (objective && (front || budget !== null)) {
      const rows = model.frontRows();
      if (front && rows.length) {
        let path = "";
        for (const [k, row] of rows.entries()) {
          const [x, y] = this.#at(row, g);
          path += k ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`;
        }
        parts.push(s("path", { class: "front", d: path }));
        if (rows.length < 200) {
          for (const row of rows) {
            const [x, y] = this.#at(row, g);
            parts.push(s("circle", { class: "front-point", cx: x, cy: y, r: 3.5 }));
          }
        }
      }
      if (budget !== null) {
        const kind = model.scaleOf(g.x);
        const place = kind === "linear" ? budget - g.x.base : kind === "rank" ? NaN : forward[kind](budget);
        const x = box.left + place * g.sx + g.ox;
        if (x >= box.left && x <= box.left + box.width) {
          parts.push(s("line", { class: "budget", x1: x, x2: x, y1: box.top, y2: box.top + box.height }));
        }
      }
    }
    if (this.shape?.length > 1) {
      parts.push(s("path", { class: "lasso", d: `M${this.shape.map((p) => p.join(" ")).join("L")}Z` }));
    }
    for (const [k, row] of pins.entries()) {
      if (row >= model.n) continue;
      const [x, y] = this.#at(row, g);
      parts.push(s("circle", { class: "pin", cx: x, cy: y, r: 8 }), s("text", { class: "pin-name", x, y: y - 12, "text-anchor": "middle" }, String(k + 1)));
    }
    if (model.hover >= 0) {
      const [x, y] = this.#at(model.hover, g);
      parts.push(s("circle", { class: "hover", cx: x, cy: y, r: 7 }));
    }
    if (!parts.length && !this.over.hasChildNodes()) return;
    const { left: x, top: y, width, height } = box; // an inner frame cuts off what lies outside
    const frame = s("svg", { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` }, ...parts);
    this.over.replaceChildren(...(parts.length ? [frame] : []));
  }

  /** What the picture leaves out or thins, and a sentence for those who do not see it. */
  #say() {
    const { model, g } = this, notes = [];
    if (model.step > 1) {
      notes.push(`${thousands(Math.ceil(model.n / model.step))} of ${thousands(model.n)} shown while moving`);
    }
    for (const [axis, column, place] of [["x", g.x, g.px], ["y", g.y, g.py]]) {
      const out = model.n - place.finite;
      if (!out) continue;
      const kind = model.scaleOf(column);
      const why = kind === "log" ? "not positive or missing" : kind === "logit" ? "not between 0 and 1, or missing" : "missing or not finite";
      notes.push(`${thousands(out)} at the edge: ${axis} ${why}`);
    }
    say(this.note, notes.join(" · "));
    if (model.moving) return;
    this.plot.setAttribute("aria-label",
      `${brief(model, g.y.name)} over ${brief(model, g.x.name)}: ${thousands(model.count)} of ${thousands(model.n)} ${model.header.unit}s. ` +
      "Arrow keys step through the points, Enter pins, plus and minus zoom, 0 shows all.");
  }

  // Input

  #listen() {
    const { plot } = this;
    const at = (event) => {
      const { left, top } = plot.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    let drag = null;
    plot.onpointerdown = (event) => {
      if (event.button !== 0 || !this.g) return;
      const tool = event.shiftKey ? "box" : event.altKey ? "lasso" : this.tool;
      const budget = this.#nearBudget(at(event));
      if (event.pointerType === "touch" && tool === "pan" && !budget) return;
      drag = { tool: budget ? "budget" : tool, from: at(event), g: this.g, moved: false };
      plot.setPointerCapture(event.pointerId);
    };
    plot.onpointermove = (event) => {
      const here = at(event);
      if (!drag) return this.#hover(here, event);
      if (Math.hypot(here[0] - drag.from[0], here[1] - drag.from[1]) > 3) drag.moved = true;
      if (!drag.moved) return;
      this.model.touch();
      if (drag.tool === "pan") this.#pan(drag, here);
      else if (drag.tool === "budget") this.#budget(here);
      else this.#outline(drag, here);
    };
    plot.onpointerup = (event) => {
      const done = drag;
      drag = null;
      if (!done) {
        if (event.pointerType === "touch") this.#click(at(event));
        return;
      }
      if (!done.moved) this.#click(at(event));
      else if (done.tool === "pan" || done.tool === "budget") this.state.commit();
      else this.#select(event.ctrlKey || event.metaKey);
    };
    plot.onpointercancel = () => { drag = this.shape = null; };
    plot.onpointerleave = () => {
      if (drag) return;
      this.model.point(-1);
      tooltip(this.model, -1);
    };
    plot.ondblclick = () => this.#pick({ zoom: null });
    plot.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoom(at(event), Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004));
    }, { passive: false });
    plot.onkeydown = (event) => this.#key(event);
  }

  #hover([x, y], event) {
    const { g, model } = this;
    if (!g || !this.map) return;
    const reach = 16 * this.ratio;
    const px = (x - g.box.left) * this.ratio, py = (y - g.box.top) * this.ratio;
    const row = model.core.nearest(g.px.block, g.py.block, model.n, this.painter.map, model.fails, px, py, reach);
    model.point(row);
    tooltip(model, row, event, [g.x, g.y]);
  }

  #click([x, y]) {
    this.#hover([x, y], null);
    if (this.model.hover >= 0) this.model.pin(this.model.hover, MAX_PINS);
  }

  #pan({ from, g }, here) {
    const dx = (here[0] - from[0]) / g.sx, dy = (here[1] - from[1]) / g.sy;
    this.#pick({ zoom: { x: g.dx.map((v) => v - dx), y: g.dy.map((v) => v - dy) } }, false);
  }

  #zoom([x, y], factor) {
    const { g } = this;
    if (!g) return;
    this.model.touch();
    const cx = (x - g.box.left - g.ox) / g.sx, cy = (y - g.box.top - g.oy) / g.sy;
    const zoom = { x: g.dx.map((v) => cx + (v - cx) * factor), y: g.dy.map((v) => cy + (v - cy) * factor) };
    if (!(zoom.x[1] - zoom.x[0] > 1e-9 * Math.abs(cx || 1))) return;
    this.#pick({ zoom }, false);
    clearTimeout(this.zoomed);
    this.zoomed = setTimeout(() => this.state.commit(), 400);
  }

  #nearBudget([x]) {
    const { budget, cost, score } = this.state.now, { g, model } = this;
    if (budget === null || g.x.name !== cost || g.y.name !== score) return false;
    const kind = model.scaleOf(g.x);
    if (kind === "rank") return false;
    const place = kind === "linear" ? budget - g.x.base : forward[kind](budget);
    return Math.abs(g.box.left + place * g.sx + g.ox - x) < 8;
  }

  #budget([x]) {
    const { g, model } = this, kind = model.scaleOf(g.x);
    const place = (x - g.box.left - g.ox) / g.sx;
    const value = kind === "linear" ? place + g.x.base : inverse[kind](place);
    this.state.set({ budget: Number(value.toPrecision(4)) }, false);
  }

  #outline({ tool, from }, here) {
    if (tool === "box") this.shape = [from, [here[0], from[1]], here, [from[0], here[1]]];
    else (this.shape ??= [from]).push(here);
    this.pending.add("hover");
    this.model.request();
  }

  /** Keep what the shape holds; with Ctrl, hide it. */
  #select(hide) {
    const { g, model, shape } = this;
    this.shape = null;
    if (!shape || shape.length < 3) return;
    const points = shape.filter((_, k) => shape.length < 200 || k % Math.ceil(shape.length / 200) === 0)
      .map(([x, y]) => [(x - g.box.left - g.ox) / g.sx, (y - g.box.top - g.oy) / g.sy].map((v) => Number(v.toPrecision(7))));
    const lasso = { x: g.x.name, y: g.y.name, xs: model.scaleOf(g.x), ys: model.scaleOf(g.y), points, hide };
    this.state.set({ lassos: [...this.state.now.lassos, lasso].slice(-12) });
  }

  #key(event) {
    const { model, g } = this;
    if (!g) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };
    const middle = [g.box.left + g.box.width / 2, g.box.top + g.box.height / 2];
    if (event.shiftKey && event.key.startsWith("Arrow")) {
      const [dx, dy] = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
      this.#pan({ from: [0, 0], g }, [dx, dy]);
      this.state.commit();
    } else if (event.key in steps) {
      const rows = model.sorted(g.x.name, false);
      const now = rows.indexOf(model.hover);
      const next = Math.max(0, Math.min(rows.length - 1, now < 0 ? 0 : now + steps[event.key]));
      if (rows.length) model.point(rows[next]);
      const { left, top } = this.plot.getBoundingClientRect();
      const [x, y] = this.#at(model.hover, g);
      tooltip(model, model.hover, { clientX: left + x, clientY: top + y }, [g.x, g.y]);
    } else if (event.key === "Enter" || event.key === " ") {
      if (model.hover >= 0) model.pin(model.hover, MAX_PINS);
    } else if (event.key === "+" || event.key === "=") this.#zoom(middle, 0.8);
    else if (event.key === "-") this.#zoom(middle, 1.25);
    else if (event.key === "0") this.#pick({ zoom: null });
    else if (event.key === "Escape") {
      model.point(-1);
      tooltip(model, -1);
    } else return;
    event.preventDefault();
  }
}

function without(object, key) {
  const { [key]: _, ...rest } = object;
  return rest;
}
