// Points drawn by a graphics card (WebGL2): the pixels that painter.js has from the core.

const MARGIN = 32; // pixels around the picture: a point whose middle lies outside is not lost
const PLACES = 8; // columns that are kept on the card
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

const VERTEX = `#version 300 es
precision highp float;
precision highp int;
uniform vec4 scale; // pixel = (place - scale.xz) * scale.yw + offset.xy
uniform vec4 offset; // .zw: pixels of what is missing
uniform vec2 picture;
uniform int sizes[30];
uniform sampler2D palette;
in float x, y;
in uint fails, color, stamp;
flat out vec3 paint;
flat out ivec2 kind;
float place(float v, float from, float by, float to, float missing) {
  return isnan(v) || isinf(v) ? missing : (v - from) * by + to;
}
void main() {
  int size = sizes[stamp];
  vec2 at = vec2(place(x, scale.x, scale.y, offset.x, offset.z), place(y, scale.z, scale.w, offset.y, offset.w));
  vec2 middle = floor(at - 0.5 * float(size - 1)) + 0.5 * float(size);
  vec2 clip = (middle + ${MARGIN}.0) / (picture + ${2 * MARGIN}.0) * 2.0 - 1.0;
  gl_Position = fails == 0u ? vec4(clip.x, -clip.y, 0, 1) : vec4(9, 9, 9, 1);
  gl_PointSize = float(size);
  paint = texelFetch(palette, ivec2(color, 0), 0).rgb;
  kind = ivec2(stamp, size);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D stamps;
uniform float alpha; // 0 to 255
flat in vec3 paint;
flat in ivec2 kind;
out vec4 pixel;
void main() {
  ivec2 at = ivec2(gl_PointCoord * float(kind.y));
  float cover = floor(255.0 * texelFetch(stamps, ivec2(at.y * kind.y + at.x, kind.x), 0).r + 0.5);
  float weight = alpha == 255.0 ? (cover < 128.0 ? 0.0 : 255.0) : floor((cover * alpha + 127.0) / 255.0);
  if (weight == 0.0) discard;
  pixel = vec4(paint, weight / 255.0);
}`;

/**
 * The card, if this page may use one that is better than the core's pixels.
 * @param {boolean} software whether one that only pretends will do
 * @returns {Card|null}
 */
export function openCard(software) {
  const canvas = new OffscreenCanvas(1, 1);
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
  if (!gl) return null;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  const able = gl.getParameter(gl.ALIASED_POINT_SIZE_RANGE)[1] >= MARGIN;
  return able && (software || !SOFTWARE.test(name)) ? new Card(canvas, gl) : null;
}

class Card {
  constructor(canvas, gl) {
    Object.assign(this, { canvas, gl, buffers: new Map() });
    const program = this.program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    for (const [unit, name] of ["palette", "stamps"].entries()) {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      gl.uniform1i(this.#uniform(name), unit);
    }
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.BLEND);
    gl.enable(gl.SCISSOR_TEST);
  }

  /** Let go of all columns: the data is another. */
  forget() {
    for (const { buffer } of this.buffers.values()) this.gl.deleteBuffer(buffer);
    this.buffers.clear();
  }

  #uniform(name) { return this.gl.getUniformLocation(this.program, name); }

  /** Begin a picture: its size, its ground (a pixel), its map (core.h) and its stamps. */
  begin(width, height, ground, map, { stamps, sizes }) {
    const { gl, canvas } = this;
    if (canvas.width < width || canvas.height < height) {
      Object.assign(canvas, { width: Math.max(width, canvas.width), height: Math.max(height, canvas.height) });
    }
    gl.viewport(-MARGIN, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN);
    gl.scissor(0, 0, width, height);
    gl.clearColor((ground & 255) / 255, (ground >> 8 & 255) / 255, (ground >> 16 & 255) / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    // from the place at pixel 0: 32 bits would not hold a small part of a large place
    const from = [0, 1].map((k) => Math.fround(map[2 * k] ? -map[2 * k + 1] / map[2 * k] : 0));
    const rest = from.map((v, k) => v * map[2 * k] + map[2 * k + 1]);
    gl.uniform4f(this.#uniform("scale"), from[0], map[0], from[1], map[2]);
    gl.uniform4f(this.#uniform("offset"), ...rest, map[4], map[5]);
    gl.uniform2f(this.#uniform("picture"), width, height);
    gl.uniform1iv(this.#uniform("sizes"), Int32Array.from(sizes));
    gl.activeTexture(gl.TEXTURE1);
    const rows = sizes.length;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, stamps.length / rows, rows, 0, gl.RED, gl.UNSIGNED_BYTE, stamps);
  }

  /** Draw points: x, y and the bytes of each row as blocks with a `version`, null for `otherwise`. */
  points(n, x, y, bytes, palette, alpha) {
    const { gl } = this;
    this.#attribute("x", x);
    this.#attribute("y", y);
    for (const [name, [block, otherwise]] of Object.entries(bytes)) this.#attribute(name, block, otherwise);
    gl.activeTexture(gl.TEXTURE0);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, palette.length, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(palette.buffer, palette.byteOffset, palette.byteLength));
    gl.uniform1f(this.#uniform("alpha"), alpha);
    gl.drawArrays(gl.POINTS, 0, n);
  }

  /** Put the picture on a canvas. */
  end(context, width, height) {
    context.drawImage(this.canvas, 0, this.canvas.height - height, width, height, 0, 0, width, height);
  }

  #attribute(name, block, otherwise) {
    const { gl } = this, at = gl.getAttribLocation(this.program, name);
    if (!block) {
      gl.disableVertexAttribArray(at);
      return gl.vertexAttribI4ui(at, otherwise, 0, 0, 0);
    }
    const kept = this.buffers.get(block) ?? { buffer: gl.createBuffer(), version: null };
    gl.bindBuffer(gl.ARRAY_BUFFER, kept.buffer);
    if (kept.version !== (block.version ?? 0)) gl.bufferData(gl.ARRAY_BUFFER, block.a, gl.DYNAMIC_DRAW);
    kept.version = block.version ?? 0;
    this.buffers.delete(block); // the least recently used comes first
    this.buffers.set(block, kept);
    for (const [old, { buffer }] of this.buffers) {
      if (this.buffers.size <= PLACES) break;
      gl.deleteBuffer(buffer);
      this.buffers.delete(old);
    }
    gl.enableVertexAttribArray(at);
    if (block.a instanceof Float32Array) gl.vertexAttribPointer(at, 1, gl.FLOAT, false, 0, 0);
    else gl.vertexAttribIPointer(at, 1, gl.UNSIGNED_BYTE, 0, 0);
  }
}
