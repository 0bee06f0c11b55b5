/* puffer_pool.h: a small pool of threads that share one loop, for environments or anything else. */
#ifndef PUFFER_POOL_H
#define PUFFER_POOL_H
#include "puffer_env.h"

#pragma GCC visibility push(default)
/* cffi: begin, plain declarations only */
typedef struct puffer_pool puffer_pool;

/* A pool of num_threads >= 1 threads, the caller of run included; NULL without memory. A thread
 * that finds no work looks again for spin_ns nanoseconds, then sleeps. Threads start with the first
 * run, also in a child after fork, which inherits none. */
puffer_pool *puffer_pool_create(int32_t num_threads, int64_t spin_ns);

/* Call task(context, first, last) with [0, count) cut into num_threads ranges, one a thread, and
 * return when all are done. The cuts depend on count and num_threads alone. One run at a time.
 * Returns an error message if no thread can be started (nothing ran then), else NULL. */
const char *puffer_pool_run(puffer_pool *pool, void (*task)(void *, int32_t, int32_t),
                            void *context, int32_t count);

/* The same for the `step` of a puffer_library. */
const char *puffer_pool_step(puffer_pool *pool, void (*step)(puffer_vec *, int32_t, int32_t),
                             puffer_vec *vec, int32_t count);

/* End the threads and free the pool; not during a run. NULL is allowed. */
void puffer_pool_close(puffer_pool *pool);
/* cffi: end */
#pragma GCC visibility pop

#endif
