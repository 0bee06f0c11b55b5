// Which settings go with the score: rank correlation over the rows that pass.

import { View } from "./model.js";
import { h } from "./dom.js";
import { brief } from "./axes.js";
import { thousands } from "./scales.js";

const MOST = 14; // bars
const ENOUGH = 8; // rows, below which a correlation says nothing

export class Importance extends View {
  constructor(model) {
    const list = h("div.bars-list");
    super(model, list, true);
    this.list = list;
    this.note = h("p.rest");
    this.title = h("h2", {}, "What goes with the score");
    this.panel = h("section.panel.importance", { "aria-label": "Importance" }, h("header", {}, this.title), list, this.note);
  }

  draw(keys) {
    if (!["data", "filters", "lassos", "search", "score", "settle"].some((key) => keys.has(key))) return;
    const { model } = this, score = model.column(this.state.now.score);
    if (model.moving || !score) return void (model.moving && this.pending.add("settle"));
    this.title.textContent = `What goes with ${brief(model, score.name)}`;
    const found = this.correlations(score).slice(0, MOST);
    this.list.replaceChildren(...found.map(({ column, rho }) => {
      const fill = h("span.fill"), positive = rho >= 0;
      fill.style.width = `${50 * Math.abs(rho)}%`;
      fill.style[positive ? "left" : "right"] = "50%";
      fill.classList.toggle("negative", !positive);
      return h("button.bar", {
        type: "button", title: `${column.name}: show it under the score`,
        onclick: () => this.state.set({ a: { ...this.state.now.a, x: column.name, y: score.name, zoom: undefined } }),
      }, h("span.label", {}, brief(model, column.name)), h("span.track", {}, fill), h("span.count", {}, rho.toFixed(2).replace("-", "−")));
    }));
    this.note.textContent = found.length
      ? `Spearman's rank correlation over ${thousands(model.count)} ${model.header.unit}s: −1 to 1, no proof of a cause.`
      : "Too few rows, or nothing that varies.";
  }

  /** Rank correlation of each setting (of each number, if there are no settings) with the score. */
  correlations(score) {
    const { model } = this, numbers = model.columns.filter((c) => !c.labels && !c.constant && c !== score);
    const settings = numbers.filter((c) => c.group === "setting" && !c.seed);
    const chosen = (settings.length ? settings : numbers.filter((c) => c.group !== "projection")).slice(0, 200);
    const target = this.#passing(score);
    const found = chosen.map((column) => ({ column, rho: this.#spearman(column, target) }));
    model.core.free(target);
    return found.filter(({ rho }) => Number.isFinite(rho)).sort((a, b) => Math.abs(b.rho) - Math.abs(a.rho));
  }

  /** A copy of a column with NaN where rows fail. */
  #passing(column, other = null) {
    const { model } = this, block = model.core.make(Float32Array, model.n);
    const out = block.a, values = model.raw(column).a, fails = model.fails.a, also = other?.a;
    for (let i = 0; i < model.n; i++) {
      const known = fails[i] === 0 && (!also || also[i] - also[i] === 0);
      out[i] = known && values[i] - values[i] === 0 ? values[i] : NaN;
    }
    return block;
  }

  #spearman(column, target) {
    const { core, n } = this.model;
    const x = this.#passing(column, target), y = core.make(Float32Array, n);
    const [mine, theirs] = [x.a, target.a];
    for (let i = 0; i < n; i++) y.a[i] = mine[i] === mine[i] ? theirs[i] : NaN;
    const count = this.#rank(x);
    this.#rank(y);
    let sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    const [a, b] = [x.a, y.a];
    for (let i = 0; i < n; i++) {
      if (a[i] !== a[i]) continue;
      sx += a[i]; sy += b[i]; sxx += a[i] * a[i]; syy += b[i] * b[i]; sxy += a[i] * b[i];
    }
    core.free(x);
    core.free(y);
    if (count < ENOUGH) return NaN;
    const spread = (count * sxx - sx * sx) * (count * syy - sy * sy);
    return spread > 1e-12 ? (count * sxy - sx * sy) / Math.sqrt(spread) : NaN;
  }

  /** Replace values by their ranks. */
  #rank(block) {
    const { core, n, order, scratch } = this.model;
    const count = core.sort(block, n, order, scratch), out = core.make(Float32Array, n);
    core.ranks(block, order, count, n, out);
    block.a.set(out.a);
    core.free(out);
    return count;
  }
}
