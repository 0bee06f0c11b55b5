// collective.h: sums over the processes that train one policy together, each with environments of
// its own: by NCCL on GPUs, in streams and graphs like a kernel; else by a function of the caller.
#pragma once

#include <cstring>
#include <string>

#include "api.h"
#include "arena.h"

#if defined(__CUDACC__) && __has_include(<nccl.h>)
#include <nccl.h>
#define PUFFER_NCCL
#endif

namespace puffer {

#ifdef __CUDACC__

class Collective {
   public:
    Collective() = default;  // alone
    explicit Collective(const puffer_native_config &c) {
        if (c.processes <= 1) return;
#ifdef PUFFER_NCCL
        ncclUniqueId id;
        static_assert(sizeof id == PUFFER_NATIVE_ID_BYTES, "another NCCL");
        std::memcpy(&id, c.unique_id, sizeof id);
        check(ncclCommInitRank(&communicator, c.processes, id, c.rank));
#else
        throw Error("this library was compiled without NCCL, which several processes need");
#endif
    }
    Collective(const Collective &) = delete;
    Collective &operator=(const Collective &) = delete;

#ifdef PUFFER_NCCL
    ~Collective() {
        if (communicator) ncclCommDestroy(communicator);
    }

    // x[i] becomes the sum of all processes' x[i].
    void sum(Stream stream, float *x, int64_t n) const {
        sum(stream, x, n, ncclFloat32);
    }
    void sum(Stream stream, double *x, int64_t n) const {
        sum(stream, x, n, ncclFloat64);
    }

    // What every process needs to find the others; one makes it.
    static void make_id(char *id) {
        check(ncclGetUniqueId((ncclUniqueId *)(void *)id));
    }

   private:
    static void check(ncclResult_t status) {
        if (status != ncclSuccess) throw Error(std::string("NCCL: ") + ncclGetErrorString(status));
    }
    void sum(Stream stream, void *x, int64_t n, ncclDataType_t type) const {
        if (communicator)
            check(ncclAllReduce(x, x, (size_t)n, type, ncclSum, communicator, stream.cuda));
    }

    ncclComm_t communicator = nullptr;
#else
    template <class T>
    void sum(Stream, T *, int64_t) const {}
    static void make_id(char *) {
        throw Error("this library was compiled without NCCL");
    }
#endif
};

#else

class Collective {
   public:
    Collective() = default;  // alone
    explicit Collective(const puffer_native_config &c) : call(c.processes > 1 ? c.sum : nullptr) {}

    // x[i] becomes the sum of all processes' x[i].
    template <class T>
    void sum(Stream stream, T *x, int64_t n) const {
        if (!call) return;
        const auto together = call;
        submit(stream, [=] {
            if (!together(x, n, DtypeOf<T>::value))
                throw Error("the sum over all processes failed");
        });
    }

    static void make_id(char *) {
        throw Error("processes without GPUs need no NCCL");
    }

   private:
    int32_t (*call)(void *x, int64_t n, int32_t dtype) = nullptr;
};

#endif

}  // namespace puffer
