// Points as pixels: from the core, or from a graphics card where rows are very many.

import { theme } from "./theme.js";

const SIDE = 25; // pixels of the largest stamp
const SHAPES = 6, SIZES = 5;
const SIZE = [0.6, 0.8, 1, 1.6, 2.4]; // of the sizes, to the middle one
const DIAMETER = [[300, 9], [3000, 6.5], [20000, 4.5], [60000, 3.4], [Infinity, 2.6]]; // CSS pixels, by rows
const CRISP = 20000; // rows from which points are opaque and have no smooth edge

/** Draws the points of one view. */
export class Painter {
  /** @param {HTMLCanvasElement} canvas to draw on */
  constructor(model, canvas) {
    Object.assign(this, { model, canvas, core: null });
  }

  /** Take memory for a picture; again when the data or the size changed. */
  #resize(width, height) {
    const { core } = this.model;
    if (this.core !== core) {
      this.core = core;
      this.stamps = core.make(Uint8Array, SHAPES * SIZES * SIDE * SIDE);
      this.sizes = core.make(Uint8Array, SHAPES * SIZES);
      this.map = core.make(Float64Array, 6);
      this.grey = core.make(Uint32Array, 1);
      this.pixels = this.under = this.ground = null;
      this.diameter = 0;
    }
    if (this.pixels && this.width === width && this.height === height) return;
    for (const block of [this.pixels, this.under]) if (block) core.free(block);
    this.pixels = core.make(Uint32Array, width * height);
    this.under = core.make(Uint32Array, width * height);
    Object.assign(this, { width, height, ground: null });
    Object.assign(this.canvas, { width, height });
  }

  #stamp(diameter) {
    if (this.diameter === diameter) return;
    this.diameter = diameter;
    for (let k = 0; k < SHAPES * SIZES; k++) {
      const size = Math.max(1, Math.min(SIDE, Math.round(diameter * SIZE[k % SIZES])));
      this.sizes.a[k] = size;
      this.core.stamp(Math.floor(k / SIZES), size, this.stamps.part(k * SIDE * SIDE, size * size));
    }
  }

  /** Draw all rows; x and y are blocks of places, `map` turns them into pixels (core.h). */
  draw(x, y, map, ratio, width, height) {
    const { model } = this, { draw } = model.state.now, colors = theme();
    this.#resize(width, height);
    const [, css] = DIAMETER.find(([most]) => model.count <= most);
    this.#stamp(Math.max(1, Math.round(css * ratio)));
    this.map.a.set(map);
    const crisp = model.count > CRISP || draw === "solid", some = model.count < model.n, alpha = crisp ? 255 : 215;
    const context = this.canvas.getContext("2d", { alpha: false });
    this.grey.a[0] = colors.contextPixel;
    if (model.card && draw !== "density") {
      const { card, n } = model, middle = [null, 2]; // the circle of middle size
      card.begin(width, height, colors.panelPixel, map, { stamps: this.stamps.a, sizes: this.sizes.a });
      if (some) card.points(n, x, y, { fails: [null, 0], color: [null, 0], stamp: middle }, this.grey.a, 255);
      const stamp = model.stamped ? [model.stamp] : middle;
      card.points(n, x, y, { fails: [model.fails], color: [model.color], stamp }, model.palette.a, alpha);
      model.stats.points += model.count;
      return card.end(context, width, height);
    }
    const { core, pixels, under, stamps, sizes } = this;
    const paint = (fails, color, palette, plain, alpha, out) => {
      const [kinds, all, sized] = plain ? [null, stamps.part(2 * SIDE * SIDE, SIDE * SIDE), sizes.part(2, 1)] : [model.stamp, stamps, sizes];
      return core.points(x, y, model.n, model.step, this.map, fails, color, palette, kinds, all, sized, SIDE, alpha, out, width, height);
    };
    if (draw === "density") {
      pixels.a.fill(0);
      paint(model.fails, null, model.density, true, 0, pixels);
      core.tone(pixels, width * height, model.density);
      for (let i = 0, { a } = pixels; i < a.length; i++) if (a[i] === 0) a[i] = colors.panelPixel;
    } else {
      if (some) {
        // all rows in grey, beneath; they stay while a filter moves
        const ground = [x, y, ...map, this.diameter, model.step, colors.panelPixel, colors.contextPixel];
        if (!this.ground || ground.some((value, k) => value !== this.ground[k])) {
          this.ground = ground;
          under.a.fill(colors.panelPixel);
          paint(null, null, this.grey, true, 255, under);
        }
        pixels.a.set(under.a);
      } else pixels.a.fill(colors.panelPixel);
      model.stats.points += paint(model.fails, model.color, model.palette, !model.stamped, alpha, pixels);
    }
    const bytes = new Uint8ClampedArray(pixels.a.buffer, pixels.a.byteOffset, width * height * 4);
    context.putImageData(new ImageData(bytes, width, height), 0, 0);
  }
}
