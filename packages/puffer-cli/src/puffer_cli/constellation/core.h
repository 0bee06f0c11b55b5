/* Constellation's core: what is computed from columns of rows, many times a second.
 *
 * One source, compiled natively (tests, indexing, PNG) and to WebAssembly (the page); page/core.js
 * says the same in JavaScript, and the three agree bit for bit. So there is no function of libm
 * here, arithmetic is in double unless it is a comparison, and sums run in the order of the rows.
 *
 * A table is a matrix by columns: value (column, row) at values[column * stride + row]. NaN is a
 * missing value. `bins` is such a matrix of bytes: 0..63, and 64 for missing.
 * `fails` holds for each row how many filters it fails. A null pointer stands for rows that all
 * pass. This text is also what cffi reads. */

/* Count the filters that each row fails. Filter j passes ranges[2j] <= value <= ranges[2j + 1]; if
 * inverted[j], values outside of that; never a missing value. `which` gets the last failed filter,
 * 255 if none. Returns how many rows pass. */
uint32_t core_filter(const float *values, uint32_t stride, uint32_t n, const uint32_t *columns,
                     const float *ranges, const uint8_t *inverted, uint32_t filters, uint8_t *fails,
                     uint8_t *which);

/* Histograms of `m` columns, 65 counts each, of the rows that pass all filters but the column's
 * own: own[j] is the filter on column j, or 255. */
void core_histograms(const uint8_t *bins, uint32_t stride, uint32_t n, const uint32_t *columns,
                     uint32_t m, const uint8_t *own, const uint8_t *fails, const uint8_t *which,
                     uint32_t *counts);

/* Bins of 64 equal widths from low to high, floor((value - low) * (64 / (high - low))) in double;
 * what lies outside counts to the nearest. */
void core_bins(const float *values, uint32_t n, double low, double high, uint8_t *bins);

/* Counts of pairs of 32 levels (two bins each) of the rows that pass and miss neither. */
void core_pairs(const uint8_t *a, const uint8_t *b, uint32_t n, const uint8_t *fails,
                uint32_t *counts);

/* Least and greatest finite value; returns the number of finite values. */
uint32_t core_extent(const float *values, uint32_t n, const uint8_t *fails, double *extent);

/* Rows with finite values by ascending value, equal ones by row; returns their number. */
uint32_t core_sort(const float *values, uint32_t n, uint32_t *order, uint32_t *scratch);

/* Quantiles by linear interpolation, as numpy.quantile computes them. */
void core_quantiles(const float *values, const uint32_t *order, uint32_t count, const double *q,
                    uint32_t m, double *out);

/* The place of each value among all, 0 to 1; equal values share the mean of theirs. */
void core_ranks(const float *values, const uint32_t *order, uint32_t count, uint32_t n, float *out);

/* Rows with a finite cost and a finite score by cost, equal ones by falling score, then by row;
 * returns their number. `scores` gets their scores in that order. All arrays hold n. */
uint32_t core_order(const float *cost, const float *score, uint32_t n, uint32_t *order,
                    uint32_t *scratch, float *scores);

/* Rows on the Pareto front (low cost, high score) of those that pass, by cost: those that no other
 * row beats in one and equals or beats in the other. `order` and `scores` are those of core_order,
 * so that a filter that moves sorts nothing. */
uint32_t core_front(const float *cost, const uint32_t *order, const float *scores, uint32_t count,
                    const uint8_t *fails, uint32_t *front);

/* Envelope of curves: points start[r] to start[r + 1] of each run r of `runs`, in buckets of x from
 * low to high. Gives number and stats (sum, least, greatest) of each bucket. */
void core_envelope(const float *x, const float *y, const uint32_t *start, const uint32_t *runs,
                   uint32_t m, double low, double high, uint32_t buckets, uint32_t *counts,
                   double *stats);

/* Coverage (0..255, size x size bytes) of a point: 0 circle, 1 square, 2 diamond, 3 triangle,
 * 4 triangle upside down, 5 bar. */
void core_stamp(uint32_t shape, uint32_t size, uint8_t *coverage);

/* Draw rows 0, step, 2 step, ... that pass as points. map: pixel = x * map[0] + map[1],
 * y * map[2] + map[3]; map[4], map[5] are the pixels of a missing x, a missing y. Row i has colour
 * palette[color[i]] and stamp stamp[i], of sizes[...] pixels (at most 32) at
 * stamps[... * side * side]. alpha 255 is opaque; below, edges are smooth and colours mix; 0 counts
 * points in `pixels` for core_tone. Returns how many points were drawn. */
uint32_t core_points(const float *x, const float *y, uint32_t n, uint32_t step, const double *map,
                     const uint8_t *fails, const uint8_t *color, const uint32_t *palette,
                     const uint8_t *stamp, const uint8_t *stamps, const uint8_t *sizes,
                     uint32_t side, uint32_t alpha, uint32_t *pixels, int32_t width,
                     int32_t height);

/* Counts to colours: palette[0..255] by the fourth root of count / greatest; 0 stays 0. */
void core_tone(uint32_t *pixels, uint32_t n, const uint32_t *palette);

/* The row that passes whose point is nearest to (px, py), at most `reach` pixels away; or -1. The
 * later of equally near rows: it is drawn on top. */
int32_t core_nearest(const float *x, const float *y, uint32_t n, const double *map,
                     const uint8_t *fails, double px, double py, double reach);

/* Mark rows whose point lies in a polygon of `corners` pixels (x, y pairs), by the even-odd rule;
 * returns how many. */
uint32_t core_inside(const float *x, const float *y, uint32_t n, const double *map,
                     const uint8_t *fails, const double *polygon, uint32_t corners, uint8_t *out);
