// The core in plain JavaScript: for pages without WebAssembly, and the oracle of core.c. What each
// function does stands in core.h. Typed arrays where C has pointers; both agree bit for bit.
// Loaded only where it is needed.

const BINS = 64, MISSING = BINS, LEVELS = 32, NONE = 255;

const passes = (fails, row) => fails === null || fails[row] === 0;

const pixel = (value, map, axis) =>
  Number.isFinite(value) ? value * map[2 * axis] + map[2 * axis + 1] : map[4 + axis];

const byValue = (values) => (a, b) => values[a] - values[b] || a - b;

function mix(below, above, weight) {
  let out = 0;
  for (let shift = 0; shift < 32; shift += 8) {
    const a = below >>> shift & 255, b = above >>> shift & 255;
    out |= Math.round((a * (255 - weight) + b * weight) / 255) << shift;
  }
  return out >>> 0;
}

function gather(value, counts, stats, k) {
  stats[3 * k] += value;
  if (counts[k] === 0 || value < stats[3 * k + 1]) stats[3 * k + 1] = value;
  if (counts[k] === 0 || value > stats[3 * k + 2]) stats[3 * k + 2] = value;
  counts[k]++;
}

const inShape = [
  (dx, dy, side) => dx * dx + dy * dy <= side * side,
  (dx, dy, side) => 8 * Math.abs(dx) <= 7 * side && 8 * Math.abs(dy) <= 7 * side,
  (dx, dy, side) => Math.abs(dx) + Math.abs(dy) <= side,
  (dx, dy, side) => 2 * Math.abs(dx) <= side + dy,
  (dx, dy, side) => 2 * Math.abs(dx) <= side - dy,
  (dx, dy, side) => 3 * Math.abs(dy) <= side,
];

export const functions = {
  core_filter(values, stride, n, columns, ranges, inverted, filters, fails, which) {
    let count = 0;
    for (let i = 0; i < n; i++) {
      let failed = 0, last = NONE;
      for (let j = 0; j < filters; j++) {
        const v = values[columns[j] * stride + i];
        const within = v >= ranges[2 * j] && v <= ranges[2 * j + 1];
        if (v !== v || within === (inverted[j] !== 0)) {
          failed++;
          last = j;
        }
      }
      fails[i] = failed;
      which[i] = last;
      if (fails[i] === 0) count++;
    }
    return count;
  },

  core_histograms(bins, stride, n, columns, m, own, fails, which, counts) {
    counts.fill(0, 0, m * (BINS + 1));
    for (let j = 0; j < m; j++) {
      const from = columns[j] * stride, to = j * (BINS + 1), mine = own[j];
      for (let i = 0; i < n; i++) {
        if (fails[i] === 0 || (fails[i] === 1 && which[i] === mine)) counts[to + bins[from + i]]++;
      }
    }
  },

  core_bins(values, n, low, high, bins) {
    const scale = high > low ? BINS / (high - low) : 0;
    for (let i = 0; i < n; i++) {
      const at = (values[i] - low) * scale;
      if (!Number.isFinite(values[i])) bins[i] = MISSING;
      else if (!(at > 0)) bins[i] = 0;
      else bins[i] = at >= BINS ? BINS - 1 : Math.trunc(at);
    }
  },

  core_pairs(a, b, n, fails, counts) {
    counts.fill(0, 0, LEVELS * LEVELS);
    for (let i = 0; i < n; i++) {
      if (passes(fails, i) && a[i] !== MISSING && b[i] !== MISSING) {
        counts[(a[i] >> 1) * LEVELS + (b[i] >> 1)]++;
      }
    }
  },

  core_extent(values, n, fails, extent) {
    let count = 0, low = 0, high = 0;
    for (let i = 0; i < n; i++) {
      const v = values[i];
      if (!Number.isFinite(v) || !passes(fails, i)) continue;
      if (count === 0 || v < low) low = v;
      if (count === 0 || v > high) high = v;
      count++;
    }
    extent[0] = low;
    extent[1] = high;
    return count;
  },

  core_sort(values, n, order) {
    const rows = [];
    for (let i = 0; i < n; i++) if (Number.isFinite(values[i])) rows.push(i);
    order.set(rows.sort(byValue(values)));
    return rows.length;
  },

  core_quantiles(values, order, count, q, m, out) {
    for (let j = 0; j < m; j++) {
      const at = q[j] * (count - 1), low = Math.min(Math.trunc(at), count - 1);
      const a = values[order[low]], b = values[order[Math.min(low + 1, count - 1)]], t = at - low;
      if (count === 0) out[j] = 0;
      else out[j] = t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
    }
  },

  core_ranks(values, order, count, n, out) {
    out.fill(NaN, 0, n);
    for (let start = 0, end; start < count; start = end) {
      for (end = start + 1; end < count && values[order[end]] === values[order[start]];) end++;
      const rank = (start + (end - 1)) / 2;
      for (let k = start; k < end; k++) out[order[k]] = count > 1 ? rank / (count - 1) : 0.5;
    }
  },

  core_order(cost, score, n, order, scratch, scores) {
    const rows = [];
    for (let i = 0; i < n; i++) if (Number.isFinite(cost[i]) && Number.isFinite(score[i])) rows.push(i);
    rows.sort((a, b) => cost[a] - cost[b] || score[b] - score[a] || a - b);
    order.set(rows);
    scores.set(rows.map((row) => score[row]));
    return rows.length;
  },

  core_front(cost, order, scores, count, fails, front) {
    let kept = 0, best = -Infinity;
    for (let k = 0; k < count; k++) {
      const row = order[k], equal = scores[k] === best && cost[row] === cost[front[kept - 1]];
      if (passes(fails, row) && (scores[k] > best || equal)) {
        best = scores[k];
        front[kept++] = row;
      }
    }
    return kept;
  },

  core_envelope(x, y, start, runs, m, low, high, buckets, counts, stats) {
    const scale = high > low ? buckets / (high - low) : 0;
    counts.fill(0, 0, buckets);
    stats.fill(0, 0, 3 * buckets);
    for (let k = 0; k < m; k++) {
      for (let i = start[runs[k]]; i < start[runs[k] + 1]; i++) {
        const at = (x[i] - low) * scale;
        if (!Number.isFinite(y[i]) || !(x[i] >= low) || !(x[i] <= high)) continue;
        gather(y[i], counts, stats, at >= buckets ? buckets - 1 : Math.trunc(at));
      }
    }
  },

  core_stamp(shape, size, coverage) {
    const side = 8 * size, within = inShape[Math.min(shape, inShape.length - 1)];
    for (let p = 0; p < size * size; p++) {
      let inside = 0;
      for (let s = 0; s < 16; s++) {
        const x = p % size * 16 + s % 4 * 4 + 2;
        const y = Math.trunc(p / size) * 16 + Math.trunc(s / 4) * 4 + 2;
        if (within(x - side, y - side, side)) inside++;
      }
      coverage[p] = Math.trunc(inside * 255 / 16);
    }
  },

  core_points(x, y, n, step, map, fails, color, palette, stamp, stamps, sizes, side, alpha, pixels,
              width, height) {
    let drawn = 0;
    for (let i = 0; i < n; i += step) {
      if (!passes(fails, i)) continue;
      const px = pixel(x[i], map, 0), py = pixel(y[i], map, 1);
      if (!(px > -64 && py > -64 && px < width + 64 && py < height + 64)) continue;
      const kind = stamp === null ? 0 : stamp[i];
      const size = sizes[kind];
      const left = Math.trunc(px + 64 - 0.5 * (size - 1)) - 64;
      const top = Math.trunc(py + 64 - 0.5 * (size - 1)) - 64;
      const x0 = Math.max(0, -left), y0 = Math.max(0, -top);
      const x1 = Math.min(size, width - left), y1 = Math.min(size, height - top);
      if (x0 >= x1 || y0 >= y1) continue;
      const paint = palette[color === null ? 0 : color[i]];
      const cover = kind * side * side;
      drawn++;
      for (let dy = y0; dy < y1; dy++) {
        const out = (top + dy) * width + left;
        for (let dx = x0; dx < x1; dx++) {
          const c = stamps[cover + dy * size + dx];
          if (alpha === 255) {
            if (c >= 128) pixels[out + dx] = paint;
          } else if (alpha === 0) {
            if (c >= 128) pixels[out + dx]++;
          } else if (c * alpha >= 128) {
            const weight = Math.trunc((c * alpha + 127) / 255);
            pixels[out + dx] = mix(pixels[out + dx], paint, weight);
          }
        }
      }
    }
    return drawn;
  },

  core_tone(pixels, n, palette) {
    let most = 0;
    for (let i = 0; i < n; i++) most = Math.max(most, pixels[i]);
    for (let i = 0; i < n; i++) {
      if (pixels[i] === 0) continue;
      pixels[i] = palette[Math.trunc(255 * Math.sqrt(Math.sqrt(pixels[i] / most)))];
    }
  },

  core_nearest(x, y, n, map, fails, px, py, reach) {
    let found = -1, best = reach * reach;
    for (let i = 0; i < n; i++) {
      const dx = pixel(x[i], map, 0) - px, dy = pixel(y[i], map, 1) - py;
      const distance = dx * dx + dy * dy;
      if (distance <= best && passes(fails, i)) {
        best = distance;
        found = i;
      }
    }
    return found;
  },

  core_inside(x, y, n, map, fails, polygon, corners, out) {
    let count = 0;
    for (let i = 0; i < n; i++) {
      const px = pixel(x[i], map, 0), py = pixel(y[i], map, 1);
      let within = 0;
      for (let a = 0, b = corners - 1; a < corners && passes(fails, i); b = a++) {
        const ax = polygon[2 * a], ay = polygon[2 * a + 1];
        const bx = polygon[2 * b], by = polygon[2 * b + 1];
        if (ay > py !== by > py && px < (bx - ax) * (py - ay) / (by - ay) + ax) within ^= 1;
      }
      out[i] = within;
      count += within;
    }
    return count;
  },
};
