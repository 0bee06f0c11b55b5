// Axes: what a column's places are called, and lines with text for them, in SVG.

import { number, ticks, inverse, exact } from "./scales.js";
import { s } from "./dom.js";

/** Ticks of a column between two places. */
export function columnTicks(model, column, kind, low, high, count) {
  if (column.labels) {
    const step = Math.max(1, Math.ceil((high - low) / count));
    const found = [];
    for (let k = Math.max(0, Math.ceil(low)); k <= Math.min(high, column.labels.length - 1); k += step) {
      found.push([k, shorten(column.labels[k])]);
    }
    return found;
  }
  if (kind !== "linear" || !column.base) return ticks(kind, low, high, count);
  return ticks(kind, low + column.base, high + column.base, count).map(([t, text]) => [t - column.base, text]);
}

/** The value at a place, as text. */
export function placeText(column, kind, place) {
  if (column.labels) return column.labels[Math.round(place)] ?? "";
  if (kind === "rank") return `${(100 * place).toFixed(0)} %`;
  return number(kind === "linear" ? place + column.base : inverse[kind](place));
}

/** A row's value of a column, as text. */
export function valueText(model, column, row, full = false) {
  const value = model.value(column, row);
  if (value === null) return "–";
  if (column.labels) return value;
  return full ? exact(value) : number(value);
}

export const shorten = (text, most = 16) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** The last part of a name, where that says enough: `environment/score` is `score`. */
export function brief(model, name) {
  const last = name.split(/[/.]/).pop();
  model.briefs ??= new Map();
  if (model.briefs.of !== model.columns) {
    model.briefs = new Map();
    model.briefs.of = model.columns;
    for (const column of model.columns) {
      const end = column.name.split(/[/.]/).pop();
      model.briefs.set(end, (model.briefs.get(end) ?? 0) + 1);
    }
  }
  return model.briefs.get(last) === 1 ? last : name;
}

/**
 * Axes of a plot, drawn into a group.
 * @param {SVGGElement} group emptied before
 * @param {{left: number, top: number, width: number, height: number}} box in CSS pixels
 * @param x, y: {ticks: [place, text][], at: place => pixel within the box}
 */
export function drawAxes(group, box, x, y) {
  group.replaceChildren();
  const { left, top, width, height } = box, bottom = top + height;
  let last = -Infinity;
  for (const [place, text] of x.ticks) {
    const at = left + x.at(place), wide = text.length * 6.2;
    if (at < left - 1 || at > left + width + 1) continue;
    group.append(s("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
    if (at - wide / 2 < last + 8) continue;
    const anchor = at + wide / 2 > left + width + 8 ? "end" : at - wide / 2 < left - 8 ? "start" : "middle";
    last = at + wide / 2;
    group.append(s("text", { class: "tick", x: at, y: bottom + 16, "text-anchor": anchor }, text));
  }
  for (const [place, text] of y.ticks) {
    const at = top + y.at(place);
    if (at < top - 1 || at > bottom + 1) continue;
    group.append(s("line", { class: "grid", x1: left, x2: left + width, y1: at, y2: at }));
    group.append(s("text", { class: "tick", x: left - 8, y: at + 4, "text-anchor": "end" }, text));
  }
}
