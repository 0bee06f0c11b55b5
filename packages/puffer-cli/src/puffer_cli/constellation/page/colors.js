// Palettes that people with colour-blindness can read, as 256 colours in the order of pixels.

// Nine stops each of cividis, viridis and a single-hue ramp; between them, linear.
const RAMPS = {
  viridis: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"],
  cividis: ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8779", "#a69d75", "#c4b56c", "#fee838"],
  ice: ["#08306b", "#08519c", "#2171b5", "#4292c6", "#6baed6", "#9ecae1", "#c6dbef", "#deebf7", "#f7fbff"],
};
export const PALETTES = Object.keys(RAMPS).map((name) => [name, name]);

// Okabe and Ito's eight, without black, and grey for whatever comes after.
export const CATEGORIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800"];
// The same hues, lighter, for a dark ground.
const ON_DARK = ["#4aa3df", "#f0b340", "#2fc79a", "#dd92bd", "#a5d8f7", "#f0824f", "#e3da66"];
const OTHER = "#8a8f98";
let dark = false;

/** Choose the colours for a dark or a light ground. */
export const setDark = (yes) => { dark = yes; };
export const MISSING_COLOR = 255;
const LEVELS = 64;

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const pack = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;

/** The 32-bit pixel of a CSS colour #rrggbb. */
export const pixelOf = (hex) => pack(channels(hex));

/** Colour of a ramp at 0 to 1, as CSS. The ends that vanish on the background are cut off. */
export function ramp(name, at) {
  const stops = RAMPS[name] ?? RAMPS.viridis;
  const place = (dark ? 0.14 + 0.86 * at : 0.9 * at) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(place));
  const a = channels(stops[k]), b = channels(stops[k + 1]);
  const mixed = a.map((v, i) => Math.round(v + (b[i] - v) * (place - k)));
  return `#${mixed.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
}

/** Colour of a category by its code, as CSS. */
export const category = (code) => (dark ? ON_DARK : CATEGORIES)[code] ?? OTHER;

/**
 * The palette of a colouring: entries 0 to 63 for numbers, codes for categories, 255 for missing.
 * @param {Uint32Array} out 256 entries
 */
export function fillPalette(out, kind, name, single) {
  for (let k = 0; k < 256; k++) {
    if (kind === "number") out[k] = pixelOf(ramp(name, k < LEVELS ? k / (LEVELS - 1) : 1));
    else if (kind === "category") out[k] = pixelOf(category(k));
    else out[k] = pixelOf(single);
  }
  out[MISSING_COLOR] = pixelOf(OTHER);
}

/** 256 colours of density, faint to full. */
export function densityPalette(out, name) {
  for (let k = 0; k < 256; k++) out[k] = pixelOf(ramp(name, dark ? k / 255 : 1 - k / 255));
}

/** Which entry each row takes. Numbers go by their bin, of which there are as many as levels. */
export function colorRows(out, n, kind, bins, codes) {
  if (kind === "number") {
    for (let i = 0; i < n; i++) out[i] = bins[i] < LEVELS ? bins[i] : MISSING_COLOR;
  } else if (kind === "category") {
    for (let i = 0; i < n; i++) {
      const code = codes[i];
      out[i] = code === code ? Math.min(code, CATEGORIES.length) : MISSING_COLOR;
    }
  } else {
    out.fill(0, 0, n);
  }
}
