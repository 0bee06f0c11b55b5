// Save what is seen: a plot as PNG or SVG, the rows that pass as CSV.

import { download } from "./dom.js";
import { exact } from "./scales.js";
import { theme } from "./theme.js";

// Properties that the drawing takes from the style sheet.
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "fill-opacity", "font-size", "font-family", "font-weight", "paint-order"];

/** A plot as one SVG: its pixels as an image, everything else as it is. */
export function plotSvg(plot) {
  const { width, height } = plot.getBoundingClientRect();
  const over = plot.querySelector("svg.over"), copy = /** @type {SVGElement} */ (over.cloneNode(true));
  const originals = [over, ...over.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((element, k) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) copies[k].setAttribute(name, value);
    }
    copies[k].removeAttribute("class");
    copies[k].removeAttribute("style");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const back = [make("rect", { width, height, fill: theme().panel })];
  const canvas = plot.querySelector("canvas");
  if (canvas) {
    const { left, top, width: w, height: t } = canvas.style;
    back.push(make("image", { href: canvas.toDataURL("image/png"), x: parseFloat(left) || 0, y: parseFloat(top) || 0, width: parseFloat(w) || width, height: parseFloat(t) || height }));
  }
  copy.prepend(...back);
  return new XMLSerializer().serializeToString(copy);
}

/** Save a plot. */
export async function savePlot(plot, form, name) {
  const text = plotSvg(plot);
  if (form === "svg") return download(`${name}.svg`, text, "image/svg+xml");
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  const { width, height } = plot.getBoundingClientRect();
  Object.assign(canvas, { width: 2 * width, height: 2 * height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, 2 * width, 2 * height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  download(`${name}.png`, blob, "image/png");
}

/** The rows that pass, all columns. */
export function csv(model) {
  const quote = (text) => {
    // a spreadsheet must not take a name for a formula
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const fails = model.fails.a, lines = [model.columns.map((column) => quote(column.name)).join(",")];
  for (let row = 0; row < model.n; row++) {
    if (fails[row] !== 0) continue;
    lines.push(model.columns.map((column) => {
      const value = model.value(column, row);
      if (value === null || Number.isNaN(value)) return "";
      return column.labels ? quote(value) : exact(value);
    }).join(","));
  }
  return `${lines.join("\n")}\n`;
}
