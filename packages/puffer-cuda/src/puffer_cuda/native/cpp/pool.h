// pool.h: threads that share numbered tasks. Who runs a task is chance; what it computes must not
// be.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace puffer {

// Within its scope, denormal numbers count as 0: a CPU takes a hundred times as long over them.
class FlushDenormals {
   public:
#if defined(__x86_64__)
    FlushDenormals() : saved(_mm_getcsr()) {
        _mm_setcsr(saved | 0x8040u);  // flush to zero, denormals are zero
    }
    ~FlushDenormals() {
        _mm_setcsr(saved);
    }

   private:
    unsigned saved;
#elif defined(__aarch64__)
    FlushDenormals() {
        asm volatile("mrs %0, fpcr" : "=r"(saved));
        asm volatile("msr fpcr, %0" : : "r"(saved | (1ull << 24)));
    }
    ~FlushDenormals() {
        asm volatile("msr fpcr, %0" : : "r"(saved));
    }

   private:
    unsigned long long saved;
#else
    FlushDenormals() {}
#endif
};

class Pool {
   public:
    // The caller of `run` is one of the `threads`.
    explicit Pool(int threads) {
        for (int i = 1; i < threads; i++) workers.emplace_back([this, i] { work(i); });
    }

    ~Pool() {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            closing = true;
        }
        wake.notify_all();
        for (std::thread &worker : workers) worker.join();
    }

    int threads() const {
        return 1 + (int)workers.size();
    }

    // Run task(index, thread) for every index in [0, count) and wait; a thread that waits sleeps.
    // Throws what the first failing task threw, after all others have ended.
    void run(int count, const std::function<void(int, int)> &task) {
        {
            const std::lock_guard<std::mutex> lock(mutex);
            job = &task;
            tasks = count;
            next = 0;
            busy = (int)workers.size();
            failure = nullptr;
            round++;
        }
        wake.notify_all();
        take(0);
        std::unique_lock<std::mutex> lock(mutex);
        done.wait(lock, [this] { return busy == 0; });
        job = nullptr;
        if (failure) std::rethrow_exception(failure);
    }

   private:
    void take(int thread) {
        const FlushDenormals flush;
        for (int index = next++; index < tasks; index = next++) {
            try {
                (*job)(index, thread);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(mutex);
                if (!failure) failure = std::current_exception();
            }
        }
    }

    void work(int thread) {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return closing || round != seen; });
            if (closing) return;
            seen = round;
            lock.unlock();
            take(thread);
            lock.lock();
            if (--busy == 0) done.notify_one();
        }
    }

    std::vector<std::thread> workers;
    std::mutex mutex;
    std::condition_variable wake, done;
    const std::function<void(int, int)> *job = nullptr;
    std::atomic<int> next{0};
    int tasks = 0, busy = 0;
    uint64_t round = 0;
    bool closing = false;
    std::exception_ptr failure;
};

}  // namespace puffer
