// reduce.h: sums whose order follows from the sizes alone, not from the machine.
#pragma once

#include "gpu.h"

namespace puffer {

constexpr int64_t LANES = 256;  // partial sums of a block

// A block adds f(i) for i in [first, last) into LANES interleaved lanes, and the
// lanes as a tree; lanes[0] gets the result. The lanes are the block's own.
template <class F>
PUFFER_BLOCK_FN void block_sum(Block block, int64_t first, int64_t last, double *lanes, F f) {
    block.each(LANES, [&](int64_t lane) { lanes[lane] = 0; });
    for (int64_t from = first; from < last; from += LANES)
        block.each(last - from < LANES ? last - from : LANES,
                   [&](int64_t lane) { lanes[lane] += f(from + lane); });
    for (int64_t half = LANES / 2; half > 0; half /= 2) {
        block.sync();
        block.each(half, [&](int64_t lane) { lanes[lane] += lanes[lane + half]; });
    }
    block.sync();
}

// lanes[chunk * LANES] = the sum of f(i) over each chunk of [0, n).
template <class F>
void chunk_sums(Stream stream, int64_t n, int64_t chunks, double *lanes, F f) {
    for_blocks(stream, chunks, LANES, [=] PUFFER_KERNEL(Block block, int64_t chunk) {
        block_sum(block, n * chunk / chunks, n * (chunk + 1) / chunks, lanes + chunk * LANES, f);
    });
}

// The sum of what chunk_sums left, in order.
PUFFER_FN double total_of(int64_t chunks, const double *lanes) {
    double total = 0;
    for (int64_t chunk = 0; chunk < chunks; chunk++) total += lanes[chunk * LANES];
    return total;
}

}  // namespace puffer
