/* Constellation's core; core.h says what each function does. Freestanding: no libc. */
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include "core.h"
#pragma GCC visibility pop

enum { BINS = 64, MISSING = BINS, LEVELS = 32, NONE = 255, BLOCK = 2048, CHUNK = 512 };
enum { SIDE = 32 }; /* pixels of the widest stamp */

static int finite(double value) {
    return value - value == 0;
}

static int passes(const uint8_t *fails, uint32_t row) {
    return fails == NULL || fails[row] == 0;
}

uint32_t core_filter(const float *values, uint32_t stride, uint32_t n, const uint32_t *columns,
                     const float *ranges, const uint8_t *inverted, uint32_t filters, uint8_t *fails,
                     uint8_t *which) {
    int32_t bad[BLOCK];
    uint32_t count = 0;
    for (uint32_t start = 0; start < n; start += BLOCK) { /* a block stays in the cache */
        const uint32_t m = n - start < BLOCK ? n - start : BLOCK;
        uint8_t *const failed = fails + start, *const last = which + start;
        for (uint32_t i = 0; i < m; i++) {
            failed[i] = 0;
            last[i] = NONE;
        }
        for (uint32_t j = 0; j < filters; j++) {
            const float *const column = values + (size_t)columns[j] * stride + start;
            const float low = ranges[2 * j], high = ranges[2 * j + 1];
            const int32_t outside = inverted[j] != 0;
            for (uint32_t i = 0; i < m; i++) { /* as wide as the floats: this is vectorised */
                const float v = column[i];
                const int32_t in = (v >= low) & (v <= high), known = v == v;
                bad[i] = 1 ^ (known & (in ^ outside));
            }
            for (uint32_t i = 0; i < m; i++) {
                const uint8_t no = (uint8_t)bad[i];
                failed[i] = (uint8_t)(failed[i] + no);
                last[i] = no ? (uint8_t)j : last[i];
            }
        }
        for (uint32_t i = 0; i < m; i++) count += failed[i] == 0;
    }
    return count;
}

void core_histograms(const uint8_t *bins, uint32_t stride, uint32_t n, const uint32_t *columns,
                     uint32_t m, const uint8_t *own, const uint8_t *fails, const uint8_t *which,
                     uint32_t *counts) {
    uint16_t rows[BLOCK];
    for (uint32_t k = 0; k < m * (BINS + 1); k++) counts[k] = 0;
    for (uint32_t start = 0; start < n; start += BLOCK) {
        const uint32_t end = n - start < BLOCK ? n - start : BLOCK;
        const uint8_t *const failed = fails + start, *const last = which + start;
        uint32_t pass = 0;
        for (uint32_t i = 0; i < end; i++) {
            rows[pass] = (uint16_t)i;
            pass += failed[i] == 0;
        }
        for (uint32_t j = 0; j < m; j++) {
            const uint8_t *const bin = bins + (size_t)columns[j] * stride + start;
            uint32_t *const count = counts + j * (BINS + 1);
            for (uint32_t k = 0; k < pass; k++) count[bin[rows[k]]]++;
            for (uint32_t i = 0; i < end && own[j] != NONE; i++) {
                count[bin[i]] += (failed[i] == 1) & (last[i] == own[j]);
            }
        }
    }
}

void core_bins(const float *values, uint32_t n, double low, double high, uint8_t *bins) {
    const double scale = high > low ? BINS / (high - low) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const double at = (values[i] - low) * scale;
        if (!finite(values[i])) {
            bins[i] = MISSING;
        } else if (!(at > 0)) {
            bins[i] = 0;
        } else {
            bins[i] = at >= BINS ? BINS - 1 : (uint8_t)at;
        }
    }
}

void core_pairs(const uint8_t *a, const uint8_t *b, uint32_t n, const uint8_t *fails,
                uint32_t *counts) {
    for (uint32_t k = 0; k < LEVELS * LEVELS; k++) counts[k] = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (passes(fails, i) && a[i] != MISSING && b[i] != MISSING) {
            counts[(a[i] >> 1) * LEVELS + (b[i] >> 1)]++;
        }
    }
}

uint32_t core_extent(const float *values, uint32_t n, const uint8_t *fails, double *extent) {
    uint32_t count = 0;
    double low = 0, high = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double v = values[i];
        if (!finite(v) || !passes(fails, i)) continue;
        if (count == 0 || v < low) low = v;
        if (count == 0 || v > high) high = v;
        count++;
    }
    extent[0] = low;
    extent[1] = high;
    return count;
}

/* Bits that order as the floats do; -0 is 0. `flip` all ones turns the order round. */
static uint32_t key(float value, uint32_t flip) {
    union {
        float f;
        uint32_t u;
    } bits = {value + 0.0f};
    return (bits.u >> 31 ? ~bits.u : bits.u | 0x80000000u) ^ flip;
}

/* Stable radix sort of rows in `order`, 11 bits a pass; `scratch` holds as many. */
static void radix_sort(const float *values, uint32_t count, uint32_t flip, uint32_t *order,
                       uint32_t *scratch) {
    uint32_t *from = order, *to = scratch;
    for (uint32_t shift = 0; shift < 33; shift += 11) {
        uint32_t places[2048];
        for (uint32_t k = 0; k < 2048; k++) places[k] = 0;
        for (uint32_t i = 0; i < count; i++) places[key(values[from[i]], flip) >> shift & 2047]++;
        for (uint32_t k = 0, sum = 0; k < 2048; k++) {
            const uint32_t here = places[k];
            places[k] = sum;
            sum += here;
        }
        for (uint32_t i = 0; i < count; i++) {
            to[places[key(values[from[i]], flip) >> shift & 2047]++] = from[i];
        }
        uint32_t *const swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; i < count; i++) order[i] = scratch[i]; /* three passes end there */
}

uint32_t core_sort(const float *values, uint32_t n, uint32_t *order, uint32_t *scratch) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (finite(values[i])) order[count++] = i;
    }
    radix_sort(values, count, 0, order, scratch);
    return count;
}

void core_quantiles(const float *values, const uint32_t *order, uint32_t count, const double *q,
                    uint32_t m, double *out) {
    for (uint32_t j = 0; j < m; j++) {
        if (count == 0) {
            out[j] = 0;
            continue;
        }
        const double at = q[j] * (count - 1);
        uint32_t low = (uint32_t)at;
        if (low > count - 1) low = count - 1;
        const uint32_t high = low + 1 < count ? low + 1 : low;
        const double t = at - low, a = values[order[low]], b = values[order[high]];
        out[j] = t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
    }
}

void core_ranks(const float *values, const uint32_t *order, uint32_t count, uint32_t n,
                float *out) {
    for (uint32_t i = 0; i < n; i++) out[i] = __builtin_nanf("");
    for (uint32_t start = 0, end; start < count; start = end) {
        for (end = start + 1; end < count && values[order[end]] == values[order[start]];) end++;
        const double rank = (start + (end - 1.0)) / 2;
        for (uint32_t k = start; k < end; k++) {
            out[order[k]] = (float)(count > 1 ? rank / (count - 1) : 0.5);
        }
    }
}

uint32_t core_order(const float *cost, const float *score, uint32_t n, uint32_t *order,
                    uint32_t *scratch, float *scores) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (finite(cost[i]) && finite(score[i])) order[count++] = i;
    }
    radix_sort(score, count, 0xffffffffu, order, scratch);
    radix_sort(cost, count, 0, order, scratch);
    for (uint32_t k = 0; k < count; k++) scores[k] = score[order[k]];
    return count;
}

uint32_t core_front(const float *cost, const uint32_t *order, const float *scores, uint32_t count,
                    const uint8_t *fails, uint32_t *front) {
    uint32_t kept = 0;
    float best = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (kept && !(scores[k] >= best)) continue;
        const uint32_t row = order[k];
        if (!passes(fails, row)) continue;
        if (kept && scores[k] == best && cost[row] != cost[front[kept - 1]]) continue;
        best = scores[k];
        front[kept++] = row;
    }
    return kept;
}

/* Count a value into number and stats: sum, least, greatest. */
static void gather(double value, uint32_t *count, double *stats) {
    stats[0] += value;
    if (*count == 0 || value < stats[1]) stats[1] = value;
    if (*count == 0 || value > stats[2]) stats[2] = value;
    (*count)++;
}

void core_envelope(const float *x, const float *y, const uint32_t *start, const uint32_t *runs,
                   uint32_t m, double low, double high, uint32_t buckets, uint32_t *counts,
                   double *stats) {
    const double scale = high > low ? buckets / (high - low) : 0;
    for (uint32_t k = 0; k < buckets; k++) {
        counts[k] = 0;
        stats[3 * k] = stats[3 * k + 1] = stats[3 * k + 2] = 0;
    }
    for (uint32_t k = 0; k < m; k++) {
        for (uint32_t i = start[runs[k]]; i < start[runs[k] + 1]; i++) {
            const double at = (x[i] - low) * scale;
            if (!finite(y[i]) || !(x[i] >= low) || !(x[i] <= high)) continue;
            const uint32_t bucket = at >= buckets ? buckets - 1 : (uint32_t)at;
            gather(y[i], &counts[bucket], &stats[3 * bucket]);
        }
    }
}

/* Whether a sample at (dx, dy) from the centre, in -side..side, lies in the shape. */
static int in_shape(uint32_t shape, int32_t dx, int32_t dy, int32_t side) {
    const int32_t ax = dx < 0 ? -dx : dx, ay = dy < 0 ? -dy : dy;
    if (shape == 0) return dx * dx + dy * dy <= side * side;
    if (shape == 1) return 8 * ax <= 7 * side && 8 * ay <= 7 * side;
    if (shape == 2) return ax + ay <= side;
    if (shape == 3) return 2 * ax <= side + dy;
    if (shape == 4) return 2 * ax <= side - dy;
    return 3 * ay <= side;
}

void core_stamp(uint32_t shape, uint32_t size, uint8_t *coverage) {
    const int32_t side = 8 * (int32_t)size; /* a pixel is 16 units wide, with 4 x 4 samples */
    for (uint32_t p = 0; p < size * size; p++) {
        uint32_t inside = 0;
        for (uint32_t s = 0; s < 16; s++) {
            const int32_t dx = (int32_t)(p % size * 16 + s % 4 * 4 + 2) - side;
            const int32_t dy = (int32_t)(p / size * 16 + s / 4 * 4 + 2) - side;
            inside += (uint32_t)in_shape(shape, dx, dy, side);
        }
        coverage[p] = (uint8_t)(inside * 255 / 16);
    }
}

/* The pixel of a coordinate; far away for what no picture shows. */
static double pixel(double value, const double *map, uint32_t axis) {
    return finite(value) ? value * map[2 * axis] + map[2 * axis + 1] : map[4 + axis];
}

/* Channel by channel (below * (255 - weight) + above * weight) / 255, rounded; weight 0..255. Two
 * channels share a product: each has 16 bits, and (t + (t >> 8)) >> 8 is t / 255 with t + 128. */
static uint32_t mix(uint32_t below, uint32_t above, uint32_t weight) {
    const uint32_t mask = 0x00ff00ff, rest = 255 - weight;
    uint32_t even = (below & mask) * rest + (above & mask) * weight + 0x00800080;
    uint32_t odd = (below >> 8 & mask) * rest + (above >> 8 & mask) * weight + 0x00800080;
    even = (even + (even >> 8 & mask)) >> 8 & mask;
    odd = (odd + (odd >> 8 & mask)) & ~mask;
    return even | odd;
}

/* The pixels of m values, `step` apart. */
static void pixels_of(const float *values, uint32_t m, uint32_t step, const double *map,
                      uint32_t axis, double *out) {
    const double scale = map[2 * axis], offset = map[2 * axis + 1], missing = map[4 + axis];
    for (uint32_t k = 0; k < m; k++) {
        const double value = values[k * step], at = value * scale + offset;
        out[k] = finite(value) ? at : missing;
    }
}

/* Offsets of the pixels of a stamp that are half covered or more; returns their number. */
static uint32_t find_dots(const uint8_t *coverage, int32_t size, int32_t width, int32_t *dots) {
    uint32_t count = 0;
    for (int32_t p = 0; p < size * size; p++) {
        if (coverage[p] & 128) dots[count++] = p / size * width + p % size;
    }
    return count;
}

/* A pixel of a point. */
static uint32_t cover(uint32_t below, uint32_t paint, uint32_t coverage, uint32_t alpha) {
    if (alpha == 255) return coverage & 128 ? paint : below;
    return alpha == 0 ? below + (coverage >> 7) : mix(below, paint, (coverage * alpha + 127) / 255);
}

uint32_t core_points(const float *x, const float *y, uint32_t n, uint32_t step, const double *map,
                     const uint8_t *fails, const uint8_t *color, const uint32_t *palette,
                     const uint8_t *stamp, const uint8_t *stamps, const uint8_t *sizes,
                     uint32_t side, uint32_t alpha, uint32_t *pixels, int32_t width,
                     int32_t height) {
    double px[CHUNK], py[CHUNK];
    uint16_t rows[CHUNK];
    int32_t dots[SIDE * SIDE];
    const int plain = stamp == NULL && alpha == 255; /* one stamp, its pixels known beforehand */
    const uint32_t dotted = plain ? find_dots(stamps, sizes[0], width, dots) : 0;
    uint32_t drawn = 0;
    for (uint32_t start = 0, m; start < n; start += m * step) {
        m = (n - start - 1) / step + 1;
        if (m > CHUNK) m = CHUNK;
        pixels_of(x + start, m, step, map, 0, px);
        pixels_of(y + start, m, step, map, 1, py);
        uint32_t pass = 0;
        for (uint32_t k = 0; k < m; k++) { /* no branch: it would be guessed wrong too often */
            rows[pass] = (uint16_t)k;
            pass += passes(fails, start + k * step) & (px[k] > -64) & (py[k] > -64) &
                    (px[k] < width + 64) & (py[k] < height + 64);
        }
        for (uint32_t r = 0; r < pass; r++) {
            const uint32_t k = rows[r], i = start + k * step;
            const uint32_t kind = stamp == NULL ? 0 : stamp[i];
            const int32_t size = sizes[kind];
            /* a pixel + 64 is positive: the cast rounds down */
            const int32_t left = (int32_t)(px[k] + 64 - 0.5 * (size - 1)) - 64;
            const int32_t top = (int32_t)(py[k] + 64 - 0.5 * (size - 1)) - 64;
            const uint32_t paint = palette[color == NULL ? 0 : color[i]];
            uint32_t *out = pixels + (ptrdiff_t)top * width + left;
            if (plain && left >= 0 && top >= 0 && left + size <= width && top + size <= height) {
                for (uint32_t d = 0; d < dotted; d++) out[dots[d]] = paint;
                drawn++;
                continue;
            }
            const int32_t x0 = left < 0 ? -left : 0, y0 = top < 0 ? -top : 0;
            const int32_t x1 = left + size > width ? width - left : size;
            const int32_t y1 = top + size > height ? height - top : size;
            if (x0 >= x1 || y0 >= y1) continue;
            const uint8_t *row = stamps + kind * side * side + y0 * size;
            out += (ptrdiff_t)y0 * width;
            for (int32_t dy = y0; dy < y1; dy++, row += size, out += width) {
                for (int32_t dx = x0; dx < x1; dx++) {
                    out[dx] = cover(out[dx], paint, row[dx], alpha);
                }
            }
            drawn++;
        }
    }
    return drawn;
}

void core_tone(uint32_t *pixels, uint32_t n, const uint32_t *palette) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) most = pixels[i] > most ? pixels[i] : most;
    for (uint32_t i = 0; i < n; i++) {
        if (pixels[i] == 0) continue;
        const double root = __builtin_sqrt(__builtin_sqrt(pixels[i] / (double)most));
        pixels[i] = palette[(uint32_t)(255 * root)];
    }
}

int32_t core_nearest(const float *x, const float *y, uint32_t n, const double *map,
                     const uint8_t *fails, double px, double py, double reach) {
    int32_t found = -1;
    double best = reach * reach;
    for (uint32_t i = 0; i < n; i++) {
        const double dx = pixel(x[i], map, 0) - px, dy = pixel(y[i], map, 1) - py;
        const double distance = dx * dx + dy * dy;
        if (distance <= best && passes(fails, i)) {
            best = distance;
            found = (int32_t)i;
        }
    }
    return found;
}

uint32_t core_inside(const float *x, const float *y, uint32_t n, const double *map,
                     const uint8_t *fails, const double *polygon, uint32_t corners, uint8_t *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double px = pixel(x[i], map, 0), py = pixel(y[i], map, 1);
        uint8_t in = 0;
        for (uint32_t a = 0, b = corners - 1; a < corners && passes(fails, i); b = a++) {
            const double ax = polygon[2 * a], ay = polygon[2 * a + 1];
            const double bx = polygon[2 * b], by = polygon[2 * b + 1];
            if ((ay > py) != (by > py) && px < (bx - ax) * (py - ay) / (by - ay) + ax) in ^= 1;
        }
        out[i] = in;
        count += in;
    }
    return count;
}
