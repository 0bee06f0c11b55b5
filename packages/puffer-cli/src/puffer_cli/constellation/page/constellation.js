// The element <puffer-constellation src="data.bin">: it loads the data and lays out the views.

import { Model, MARKS } from "./model.js";
import { Source } from "./data.js";
import { State, asked } from "./state.js";
import { button, choose, download, h, s, select } from "./dom.js";
import { brief, valueText } from "./axes.js";
import { PALETTES } from "./colors.js";
import { choices, makeTip } from "./columns.js";
import { ICONS } from "./icons.js";
import { number, thousands } from "./scales.js";
import { readTheme } from "./theme.js";
import { Scatter } from "./scatter.js";
import { Cloud } from "./cloud.js";
import { Filters } from "./filters.js";
import { Curves } from "./curves.js";
import { Parallel } from "./parallel.js";
import { Importance } from "./importance.js";
import { Rows } from "./table.js";
import { Details } from "./details.js";
import { csv, savePlot } from "./save.js";

const DRAWS = [["points", "points"], ["solid", "solid points"], ["density", "density"]];
const THEMES = ["", "light", "dark"];
const KEYS_HELP = [
  ["/", "search"], ["Ctrl Z", "undo"], ["Ctrl Shift Z", "redo"], ["R", "reset"], ["T", "light or dark"], ["F", "filters"],
  ["drag", "move; Shift: box; Alt: lasso; then Ctrl hides"], ["wheel, + −", "zoom; 0 or a double click shows all"],
  ["arrows", "step through points, move a brush, turn the space"], ["click, Enter", "pin, at most six"], ["Ctrl click", "only this label"],
];

class Constellation extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const root = this.attachShadow({ mode: "open" });
    this.source = new Source(this.getAttribute("src") ?? "data.bin");
    this.app = h("div.app", { role: "main" }, h("p.loading", { role: "status" }, "Loading…"));
    root.append(this.app);
    this.ready = this.#begin(root).catch((error) => {
      this.app.replaceChildren(h("div.error", { role: "alert" }, h("strong", {}, "The data could not be shown."), h("p", {}, error.message)));
      this.error = error;
    });
  }

  async #begin(root) {
    await this.#style(root);
    this.model = new Model(this.source);
    this.state = this.model.state = new State((keys) => this.#changed(keys));
    this.model.remark = () => this.#remark();
    await this.model.load();
    this.state.begin(this.#suggest(), asked());
    this.#sane();
    this.#layout();
    this.#theme();
    this.model.mark("data");
    if (this.model.header.live) this.#follow();
    addEventListener("hashchange", () => {
      const { start } = this.state;
      this.state.begin(start, asked());
      this.#sane();
      this.#theme();
      this.model.mark("data");
    });
  }

  /** The style sheet, embedded or beside this module. */
  async #style(root) {
    const embedded = document.querySelector('script[data-name="style.css"]');
    if (embedded) {
      const text = new TextDecoder().decode(await this.source.bytes("style.css"));
      root.prepend(h("style", {}, text));
      return;
    }
    const link = h("link", { rel: "stylesheet", href: new URL("style.css", import.meta.url).href });
    root.prepend(link);
    await new Promise((done) => { link.onload = link.onerror = done; });
  }

  /** What the view begins with. */
  #suggest() {
    const { model } = this, { header } = model;
    const numbers = model.columns.filter((column) => !column.labels && !column.constant);
    const rest = (...taken) => numbers.find((column) => !taken.includes(column.name))?.name ?? numbers[0]?.name ?? model.columns[0]?.name ?? "";
    const score = header.score ?? rest(), cost = header.cost ?? rest(score);
    const projected = numbers.filter((column) => column.group === "projection").map((column) => column.name);
    const plane = projected.find((name) => name.startsWith("t-sne")) ? ["t-sne 1", "t-sne 2"] : projected.slice(0, 2);
    const settings = numbers.filter((column) => column.group === "setting" && !column.seed).map((column) => column.name);
    const several = (name) => (model.column(name)?.labels?.length ?? 0) > 1;
    const color = several("env") && model.column("env").labels.length <= 7 ? "env" : score;
    const names = header.curves.map(({ name }) => name);
    const y = names.find((name) => name === score) ?? names.find((name) => /score|perf|return|reward/.test(name)) ?? names[1] ?? "";
    const x = [/agent_steps|^_?step/i, /time/i, /./].map((word) => names.find((name) => name !== y && word.test(name))).find(Boolean) ?? y;
    return {
      cost, score, color, least: /loss|error|cost/.test(score),
      a: { x: cost, y: score },
      b: { x: plane[0] ?? settings[0] ?? rest(score, cost), y: plane[1] ?? settings[1] ?? score },
      cloud: { x: settings[0] ?? cost, y: score, z: settings[1] ?? cost, turn: [0.6, 0.35] },
      curves: { x, y, smooth: 0 },
      axes: [...new Set([...settings.slice(0, 6), cost, score])].slice(0, 8),
    };
  }

  /** Leave out of the state what the data does not have. */
  #sane() {
    const { now, start } = this.state, { model } = this;
    const known = (name, instead) => (model.column(name) ? name : instead);
    for (const key of ["cost", "score"]) now[key] = known(now[key], start[key]);
    for (const key of ["color", "size", "shape"]) now[key] = known(now[key], "");
    for (const key of ["a", "b", "cloud"]) {
      for (const axis of ["x", "y", "z"]) if (axis in start[key]) now[key][axis] = known(now[key][axis], start[key][axis]);
    }
    const names = new Set(model.header.curves.map(({ name }) => name));
    for (const axis of ["x", "y"]) if (!names.has(now.curves[axis])) now.curves[axis] = start.curves[axis];
    now.pins = now.pins.filter((row) => Number.isInteger(row) && row >= 0 && row < model.n).slice(0, 6);
    now.axes = now.axes.filter((name) => model.column(name));
    if (!Number.isFinite(now.budget)) now.budget = null;
  }

  async #follow() {
    this.events = this.source.listen(async (version) => {
      if (version === this.source.version || this.loading) return;
      this.loading = true;
      try {
        await this.model.load();
        this.#sane();
        this.model.mark("data");
      } catch { /* the next version is on its way */ } finally {
        this.loading = false;
      }
    });
    this.events.onerror = () => this.app.classList.add("cut-off");
    this.events.onopen = () => this.app.classList.remove("cut-off");
  }

  #changed(keys) {
    if (keys.has("theme")) this.#theme();
    this.model.mark(...keys);
  }

  #theme() {
    this.app.dataset.theme = this.state.now.theme;
    this.app.classList.toggle("bare", this.state.now.bare);
    this.colors = readTheme(this.app);
  }

  #remark() { this.model.marks(this.colors.accent); }

  // Layout

  #layout() {
    const { model, state, app } = this;
    this.filters = new Filters(model);
    this.views = {
      a: new Scatter(model, "a", "Cost and score"), b: new Scatter(model, "b", "Second plot"), cloud: new Cloud(model),
      curves: new Curves(model), parallel: new Parallel(model), importance: new Importance(model), table: new Rows(model),
      pins: new Details(model),
    };
    const wanted = state.now.panels ? state.now.panels.split(",") : Object.keys(this.views);
    for (const [name, view] of Object.entries(this.views)) {
      view.panel.dataset.panel = name;
      if (!wanted.includes(name)) {
        model.views.splice(model.views.indexOf(view), 1);
        continue;
      }
      if (view.plot) this.#saving(view, name);
    }
    const shown = Object.entries(this.views).filter(([name]) => wanted.includes(name)).map(([, { panel }]) => panel);
    const side = h("aside.side", { "aria-label": "Filters" }, this.#marking(), this.filters.list);
    this.dialog = h("dialog.help", {}, h("h2", {}, "Keys"), h("dl", {}, ...KEYS_HELP.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])), h("form", { method: "dialog" }, h("button.text", {}, "Close")));
    app.replaceChildren(this.#bar(), side, h("div.views", {}, this.#summary(), ...shown), makeTip(), this.dialog);
    // a page of its own takes keys wherever the focus is, an element among others only its own
    (this.hasAttribute("fill") ? window : app).addEventListener("keydown", (event) => this.#key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.#theme(); model.mark("theme"); });
    matchMedia("(forced-colors: active)").addEventListener("change", () => { this.#theme(); model.mark("theme"); });
  }

  #saving(view, name) {
    const menu = h("details.menu", {}, h("summary", { title: "Save this plot", "aria-label": "Save this plot" }, iconOf(ICONS.save)),
      h("div", {}, ...["png", "svg"].map((form) => h("button.text", { type: "button", onclick: () => { menu.open = false; savePlot(view.plot, form, `constellation-${name}`); } }, form.toUpperCase()))));
    view.panel.querySelector("header").append(menu);
  }

  #bar() {
    const { state } = this;
    this.count = h("span.count-of", { role: "status" });
    this.search = h("input.search", { type: "search", placeholder: "Search names  /", "aria-label": "Search names" });
    let typing;
    this.search.oninput = () => {
      clearTimeout(typing);
      typing = setTimeout(() => state.set({ search: this.search.value.trim() }), 120);
    };
    const toggle = button("Filters", "M2 4h12M4.5 8h7M7 12h2", () => this.app.classList.toggle("side-open"), { className: "icon narrow" });
    const bar = h("header.bar", {}, toggle, h("h1", {}, iconOf(ICONS.star), "Constellation"), this.count, h("span.grow"), this.search,
      this.undo = button("Undo (Ctrl Z)", ICONS.undo, () => state.undo()),
      this.redo = button("Redo (Ctrl Shift Z)", ICONS.redo, () => state.redo()),
      button("Reset the view (R)", ICONS.reset, () => state.reset()),
      button("Save the rows that pass as CSV", ICONS.save, () => download("constellation.csv", csv(this.model), "text/csv")),
      button("Light or dark (T)", ICONS.theme, () => this.#nextTheme()),
      h("button.icon", { type: "button", title: "Keys", "aria-label": "Keys", onclick: () => this.dialog.showModal() }, "?"));
    this.#view(bar, ["data", "filters", "lassos", "search", "a", "b", "sort", "pins", "theme", "color", "settle"], () => {
      const { model } = this, unit = model.header.unit;
      this.count.replaceChildren(h("strong", {}, thousands(model.count)), ` of ${thousands(model.n)} ${unit}s`);
      this.undo.disabled = !state.past.length;
      this.redo.disabled = !state.future.length;
      if (this.shadowRoot.activeElement !== this.search) this.search.value = state.now.search;
    });
    return bar;
  }

  /** How points look: colour, size, shape, palette. */
  #marking() {
    const { model, state } = this, pickers = {};
    const pick = (key, label, empty) => {
      pickers[key] = select(label, [], "", (value) => state.set({ [key]: value }));
      pickers[key].empty = empty;
      return h("label.field", {}, h("span", {}, label), pickers[key]);
    };
    const fixed = (key, label, list) => {
      pickers[key] = select(label, list, state.now[key], (value) => state.set({ [key]: value }));
      return h("label.field", {}, h("span", {}, label), pickers[key]);
    };
    const box = h("div.marking", {}, pick("color", "Colour", "none"), fixed("palette", "Palette", PALETTES), pick("size", "Size", "none"), pick("shape", "Shape", "none"), fixed("draw", "Draw", DRAWS));
    this.#view(box, ["data", ...MARKS, "draw"], (keys) => {
      for (const [key, picker] of Object.entries(pickers)) {
        if (keys.has("data") && picker.empty) choices(picker, model, { empty: picker.empty });
        choose(picker, state.now[key]);
      }
    });
    return box;
  }

  /** What is asked and what the answer is: the objective, the best, the best under a budget. */
  #summary() {
    const { model, state } = this;
    const pickers = ["score", "cost"].map((key) => select(key === "score" ? "Score" : "Cost", [], "", (name) => {
      const axis = key === "score" ? "y" : "x", { a } = state.now;
      const follows = a[axis] === state.now[key] ? { a: { ...a, [axis]: name, zoom: undefined } } : {};
      state.set({ [key]: name, ...follows });
    }));
    const least = select("Whether a high or a low score is good", [["", "highest"], ["1", "lowest"]], "", (value) => state.set({ least: value === "1" }));
    const budget = h("input.budget-field", { type: "text", inputMode: "decimal", placeholder: "any", "aria-label": "Budget: the greatest cost" });
    budget.onchange = () => {
      const value = Number(budget.value.replace(/,/g, ""));
      state.set({ budget: budget.value.trim() === "" || Number.isNaN(value) ? null : value });
    };
    const front = h("input", { type: "checkbox", onchange: () => state.set({ front: front.checked }) });
    const answer = h("button.answer", { type: "button", title: "Pin this run" });
    const chips = h("div.active-filters"), notes = h("div.notices");
    const box = h("div.summary", {}, h("div.question", {}, least, pickers[0], h("span", {}, "for"), pickers[1], h("span", {}, "up to"), budget, answer, h("label.check", {}, front, "front")), chips, notes);
    this.#view(box, ["data", "filters", "lassos", "search", "cost", "score", "least", "budget", "front", "settle"], (keys) => {
      const { now } = state;
      if (keys.has("data")) for (const picker of pickers) choices(picker, model, { numbers: true });
      choose(pickers[0], now.score);
      choose(pickers[1], now.cost);
      choose(least, now.least ? "1" : "");
      front.checked = now.front;
      if (this.shadowRoot.activeElement !== budget) budget.value = now.budget === null ? "" : String(now.budget);
      this.#answer(answer);
      this.#chips(chips);
      if (keys.has("data") || keys.has("filters") || keys.has("settle")) this.#notices(notes);
    });
    return box;
  }

  #answer(element) {
    const { model, state: { now } } = this, cost = model.column(now.cost), score = model.column(now.score);
    element.hidden = !cost || !score;
    if (!cost || !score) return;
    const rows = model.frontRows();
    let best = -1;
    for (const row of rows) if (now.budget === null || model.value(cost, row) <= now.budget) best = row;
    element.disabled = best < 0;
    element.textContent = best < 0 ? "no run" : `${valueText(model, score, best)} at ${valueText(model, cost, best)}`;
    element.title = best < 0 ? "" : `${model.title(best)}; click pins it`;
    element.onclick = () => model.pin(best, 6);
  }

  #chips(box) {
    const { state } = this, { filters, lassos, search } = state.now;
    const chip = (text, remove) => h("button.chip", { type: "button", title: "Remove", onclick: remove }, text, iconOf(ICONS.close));
    const found = Object.entries(filters).map(([name, filter]) => {
      const label = filter.off ? `${name}: ${filter.off.length} off` : `${name} ${filter.outside ? "outside " : ""}${filter.low === null ? "≤" : filter.high === null ? "≥" : ""} ${[filter.low, filter.high].filter((v) => v !== null && v !== undefined).map(number).join(" to ")}`;
      return chip(label, () => {
        const { [name]: _, ...rest } = state.now.filters;
        state.set({ filters: rest });
      });
    });
    lassos.forEach((lasso, k) => found.push(chip(`${lasso.hide ? "hidden" : "selected"}: ${lasso.y} over ${lasso.x}`, () => state.set({ lassos: state.now.lassos.filter((_, j) => j !== k) }))));
    if (search) found.push(chip(`“${search}”`, () => state.set({ search: "" })));
    if (found.length > 1) found.push(h("button.text", { type: "button", onclick: () => state.set({ filters: {}, lassos: [], search: "" }) }, "remove all"));
    box.replaceChildren(...found);
  }

  /** What is left out, and why: files that were skipped, rows without a score. */
  #notices(box) {
    const { model } = this, { header } = model, parts = [];
    if (!model.n) parts.push(h("p", {}, "There is nothing to show yet."));
    const score = model.column(this.state.now.score);
    const missing = score && !model.moving ? model.missing(score) : 0;
    if (missing) parts.push(h("p", {}, `${thousands(missing)} of these have no finite ${brief(model, score.name)}.`));
    if (header.skipped_count) {
      parts.push(h("details", {}, h("summary", {}, `${thousands(header.skipped_count)} left out while reading`),
        h("ul", {}, ...header.skipped.map(([path, why]) => h("li", {}, h("code", {}, path), `: ${why}`)))));
    }
    if (box.querySelector("details")?.open && !this.opened) this.opened = true;
    box.replaceChildren(...parts);
  }

  /** A small view of the header that is drawn when some keys change. */
  #view(element, keys, draw) {
    const view = { pending: new Set(["data"]), shown: true, slow: false, element };
    view.draw = (changed) => { if (keys.some((key) => changed.has(key))) draw(changed); };
    this.model.views.push(view);
  }

  #nextTheme() {
    const dark = this.colors.dark, { theme } = this.state.now;
    const next = theme === "" ? (dark ? "light" : "dark") : THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    this.state.set({ theme: next });
  }

  #key(event) {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.composedPath()[0].tagName);
    const control = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
    if (control && key === "z" && !typing) event.shiftKey ? this.state.redo() : this.state.undo();
    else if (typing || control || event.altKey) return;
    else if (key === "/") this.search.focus();
    else if (key === "r") this.state.reset();
    else if (key === "t") this.#nextTheme();
    else if (key === "f") this.app.classList.toggle("side-open");
    else if (key === "?") this.dialog.showModal();
    else return;
    event.preventDefault();
  }
}

function iconOf(path) {
  return s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d: path }));
}

customElements.define("puffer-constellation", Constellation);
