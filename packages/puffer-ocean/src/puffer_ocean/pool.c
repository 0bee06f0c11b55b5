/* pool.c: threads that share one loop. The caller takes a range itself; the others wait for a
 * generation to pass, first looking for a bounded time, then asleep. Nobody holds a lock while
 * anybody works. */
#define _POSIX_C_SOURCE 200809L
#include "puffer_pool.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CACHE_LINE = 64, LOOKS = 64 /* between two looks at the clock */ };

/* What one side counts up and the other waits for. */
typedef struct {
    _Alignas(CACHE_LINE) atomic_uint value;
    atomic_int sleepers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} Counter;

struct puffer_pool {
    int32_t num_threads;
    int64_t spin_ns;
    pid_t owner; /* process whose threads these are; 0: none started */
    atomic_bool closing;
    void (*task)(void *, int32_t, int32_t);
    void *context;
    int32_t count;
    Counter started;  /* number of runs */
    Counter finished; /* ranges done by threads other than the caller, of all runs */
    pthread_t *threads;
};

typedef struct {
    puffer_pool *pool;
    int32_t index;
    unsigned seen; /* value of `started` before its first run */
} Member;

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void counter_init(Counter *counter) {
    atomic_init(&counter->value, 0);
    atomic_init(&counter->sleepers, 0);
    pthread_mutex_init(&counter->lock, NULL);
    pthread_cond_init(&counter->changed, NULL);
}

static void counter_free(Counter *counter) {
    pthread_cond_destroy(&counter->changed);
    pthread_mutex_destroy(&counter->lock);
}

/* Sequentially consistent on both sides: either the waker sees the sleeper, or the sleeper, which
 * counts itself before it looks for the last time, sees the new value. */
static void counter_wake(Counter *counter) {
    if (atomic_load(&counter->sleepers) == 0) return;
    pthread_mutex_lock(&counter->lock); /* a sleeper is waiting when we get the lock */
    pthread_cond_broadcast(&counter->changed);
    pthread_mutex_unlock(&counter->lock);
}

/* Wait until the value is `reached`, or, with `differs`, anything else. */
static void counter_wait(Counter *counter, unsigned value, bool differs, int64_t spin_ns) {
    const int64_t end = spin_ns ? now_ns() + spin_ns : 0;
    do {
        for (int look = 0; look < LOOKS; look++) {
            if ((atomic_load(&counter->value) == value) != differs) return;
            pause_core();
        }
        sched_yield();
    } while (spin_ns && now_ns() < end);
    pthread_mutex_lock(&counter->lock);
    atomic_fetch_add(&counter->sleepers, 1);
    while ((atomic_load(&counter->value) == value) == differs)
        pthread_cond_wait(&counter->changed, &counter->lock);
    atomic_fetch_sub(&counter->sleepers, 1);
    pthread_mutex_unlock(&counter->lock);
}

static void run_range(const puffer_pool *pool, int32_t index) {
    const int64_t count = pool->count, n = pool->num_threads;
    const int32_t first = (int32_t)(count * index / n), last = (int32_t)(count * (index + 1) / n);
    if (first < last) pool->task(pool->context, first, last);
}

static void *serve(void *argument) {
    const Member member = *(Member *)argument;
    puffer_pool *pool = member.pool;
    free(argument);
    for (unsigned seen = member.seen;; seen++) {
        counter_wait(&pool->started, seen, true, pool->spin_ns);
        if (atomic_load(&pool->closing)) return NULL;
        run_range(pool, member.index);
        atomic_fetch_add(&pool->finished.value, 1);
        counter_wake(&pool->finished);
    }
}

static void stop(puffer_pool *pool, int32_t started) {
    atomic_store(&pool->closing, true);
    atomic_fetch_add(&pool->started.value, 1);
    counter_wake(&pool->started);
    for (int32_t i = 0; i < started; i++) pthread_join(pool->threads[i], NULL);
    counter_free(&pool->started);
    counter_free(&pool->finished);
    pool->owner = 0;
}

/* Threads block all signals, which are the program's to handle. */
static bool start(puffer_pool *pool) {
    sigset_t all, before;
    int32_t running = 0;
    counter_init(&pool->started);
    counter_init(&pool->finished);
    atomic_init(&pool->closing, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (running < pool->num_threads - 1) {
        Member *member = malloc(sizeof *member);
        if (!member) break;
        *member = (Member){pool, running + 1, 0};
        if (pthread_create(&pool->threads[running], NULL, serve, member) != 0) {
            free(member);
            break;
        }
        running++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool->owner = getpid();
    if (running < pool->num_threads - 1) stop(pool, running);
    return pool->owner != 0;
}

puffer_pool *puffer_pool_create(int32_t num_threads, int64_t spin_ns) {
    puffer_pool *pool = NULL;
    if (posix_memalign((void **)&pool, CACHE_LINE, sizeof *pool) != 0) return NULL;
    pool->num_threads = num_threads;
    pool->spin_ns = spin_ns;
    pool->owner = 0;
    pool->threads = malloc((size_t)num_threads * sizeof *pool->threads);
    if (pool->threads) return pool;
    free(pool);
    return NULL;
}

const char *puffer_pool_run(puffer_pool *pool, void (*task)(void *, int32_t, int32_t),
                            void *context, int32_t count) {
    const unsigned others = (unsigned)pool->num_threads - 1;
    /* After fork the child has no threads, and locks in any state: everything anew. */
    if (pool->owner != getpid() && !start(pool)) return "cannot start the threads of the pool";
    pool->task = task;
    pool->context = context;
    pool->count = count;
    const unsigned target = atomic_load(&pool->finished.value) + others;
    atomic_fetch_add(&pool->started.value, 1);
    counter_wake(&pool->started);
    run_range(pool, 0);
    counter_wait(&pool->finished, target, false, pool->spin_ns);
    return NULL;
}

typedef struct {
    void (*step)(puffer_vec *, int32_t, int32_t);
    puffer_vec *vec;
} Call;

static void step_range(void *context, int32_t first, int32_t last) {
    const Call *call = context;
    call->step(call->vec, first, last);
}

const char *puffer_pool_step(puffer_pool *pool, void (*step)(puffer_vec *, int32_t, int32_t),
                             puffer_vec *vec, int32_t count) {
    Call call = {step, vec};
    return puffer_pool_run(pool, step_range, &call, count);
}

void puffer_pool_close(puffer_pool *pool) {
    if (!pool) return;
    if (pool->owner == getpid()) stop(pool, pool->num_threads - 1);
    free(pool->threads);
    free(pool);
}
