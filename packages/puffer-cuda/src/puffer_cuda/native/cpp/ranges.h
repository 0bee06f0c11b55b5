// ranges.h: named stretches of time on the time line of NVIDIA's profilers. Without a profiler a
// range costs a few nanoseconds, on the CPU nothing.
#pragma once

#ifdef __CUDACC__
#include <nvtx3/nvToolsExt.h>
#endif

namespace puffer {

struct Range {
#ifdef __CUDACC__
    explicit Range(const char *name) {
        nvtxRangePushA(name);
    }
    ~Range() {
        nvtxRangePop();
    }
#else
    explicit Range(const char *) {}
    ~Range() {}
#endif
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;
};

}  // namespace puffer
