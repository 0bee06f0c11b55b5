// pool.h: threads that share numbered tasks. Who runs a task is chance; what it computes must not
// be.
#pragma once

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

    // Run task(index, thread) for every index in [0, count) and wait; a thread that waits sleeps. A
    // thread that wakes late finds nothing to do and keeps nobody waiting. Throws what the first
    // failing task threw, after all others have ended.
    void run(int count, const std::function<void(int, int)> &task) {
        std::unique_lock<std::mutex> lock(mutex);
        job = &task;
        next = 0;
        tasks = unfinished = count;
        failure = nullptr;
        if (count > 1) wake.notify_all();
        take(0, lock);
        done.wait(lock, [this] { return unfinished == 0; });
        if (failure) std::rethrow_exception(failure);
    }

   private:
    // Tasks are taken under the lock: each lasts a thousand times as long as that.
    void take(int thread, std::unique_lock<std::mutex> &lock) {
        const FlushDenormals flush;
        while (next < tasks) {
            const int index = next++;
            const std::function<void(int, int)> &task = *job;
            lock.unlock();
            std::exception_ptr thrown;
            try {
                task(index, thread);
            } catch (...) {
                thrown = std::current_exception();
            }
            lock.lock();
            if (thrown && !failure) failure = thrown;
            if (--unfinished == 0) done.notify_one();
        }
    }

    void work(int thread) {
        std::unique_lock<std::mutex> lock(mutex);
        while (!closing) {
            take(thread, lock);
            wake.wait(lock, [this] { return closing || next < tasks; });
        }
    }

    std::vector<std::thread> workers;
    std::mutex mutex;
    std::condition_variable wake, done;
    const std::function<void(int, int)> *job = nullptr;
    int next = 0, tasks = 0, unfinished = 0;
    bool closing = false;
    std::exception_ptr failure;
};

}  // namespace puffer
