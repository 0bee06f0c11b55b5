// clock.h: seconds of a clock that never jumps.
#pragma once

#include <chrono>

namespace puffer {

inline double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

}  // namespace puffer
