// Enough of CUDA to run generated kernels on the host, one block at a time.
//
// Threads of a block are fibers; a shuffle or a barrier lets the others run until all have arrived. Slow and exact:
// compiled with -ffp-contract=off it performs the same IEEE operations as the device.
#include <cstdint>
#include <cstring>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>
#include <ucontext.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct emulated_dim { unsigned x; };
static emulated_dim blockIdx, blockDim, gridDim;
static unsigned emulated_thread;
struct emulated_index { operator unsigned() const { return emulated_thread; } };
static struct { emulated_index x; } threadIdx;

template <typename R, typename T> static R emulated_bits(T v) { R r; memcpy(&r, &v, sizeof r); return r; }
static inline int __float_as_int(float x) { return emulated_bits<int>(x); }
static inline float __int_as_float(int x) { return emulated_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emulated_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emulated_bits<double>(x); }
static inline int __float2int_rz(float x) {
    return x != x ? 0 : x >= 2147483648.0f ? 0x7fffffff : x < -2147483648.0f ? (int)0x80000000u : (int)x;
}
static inline long long __double2ll_rz(double x) {
    const double top = 9223372036854775808.0;
    return x != x ? 0 : x >= top ? 0x7fffffffffffffffll : x < -top ? (long long)0x8000000000000000ull : (long long)x;
}
static inline float __int2float_rn(int x) { return (float)x; }
static inline double __ll2double_rn(long long x) { return (double)x; }
static inline float __double2float_rn(double x) { return (float)x; }

struct emulated_barrier { unsigned count = 0, generation = 0; };
static emulated_barrier emulated_block, emulated_warp[32];
static unsigned emulated_slot[1024];
static ucontext_t emulated_scheduler, emulated_fiber[1024];
static bool emulated_done[1024];
static std::vector<char> emulated_stack[1024];
static void (*emulated_body)(void*);
static void* emulated_data;

static void emulated_yield() { swapcontext(&emulated_fiber[emulated_thread], &emulated_scheduler); }

static void emulated_wait(emulated_barrier& barrier, unsigned count) {
    const unsigned generation = barrier.generation;
    if (++barrier.count == count) {
        barrier.count = 0;
        ++barrier.generation;
    } else {
        while (barrier.generation == generation) emulated_yield();
    }
}

static inline void __syncthreads() { emulated_wait(emulated_block, blockDim.x); }

static unsigned emulated_exchange(unsigned value, unsigned from) {
    const unsigned thread = emulated_thread, warp = thread / 32;
    emulated_slot[thread] = value;
    emulated_wait(emulated_warp[warp], 32);
    const unsigned result = emulated_slot[from];
    emulated_wait(emulated_warp[warp], 32);
    return result;
}
static inline unsigned __shfl_down_sync(unsigned, unsigned value, int distance) {
    const unsigned lane = emulated_thread % 32 + distance;
    return emulated_exchange(value, lane < 32 ? emulated_thread + distance : emulated_thread);
}
static inline unsigned __shfl_up_sync(unsigned, unsigned value, unsigned distance) {
    const unsigned lane = emulated_thread % 32;
    return emulated_exchange(value, lane >= distance ? emulated_thread - distance : emulated_thread);
}
static inline unsigned __shfl_sync(unsigned, unsigned value, int lane) {
    return emulated_exchange(value, emulated_thread / 32 * 32 + lane);
}
static inline void __syncwarp() { emulated_wait(emulated_warp[emulated_thread / 32], 32); }
static inline unsigned __match_any_sync(unsigned, unsigned value) {
    const unsigned first = emulated_thread / 32 * 32;
    emulated_slot[emulated_thread] = value;
    __syncwarp();
    unsigned equal = 0;
    for (unsigned lane = 0; lane < 32; ++lane) equal |= (unsigned)(emulated_slot[first + lane] == value) << lane;
    __syncwarp();
    return equal;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
template <typename T> static inline T atomicAdd(T* to, T value) { const T old = *to; *to += value; return old; }

static void emulated_start() {
    emulated_body(emulated_data);
    emulated_done[emulated_thread] = true;
    while (true) emulated_yield();
}

static void emulated_run_block(bool fibers) {
    if (!fibers) {
        for (emulated_thread = 0; emulated_thread < blockDim.x; ++emulated_thread) emulated_body(emulated_data);
        return;
    }
    for (unsigned t = 0; t < blockDim.x; ++t) {
        emulated_stack[t].resize(64 * 1024);
        getcontext(&emulated_fiber[t]);
        emulated_fiber[t].uc_stack.ss_sp = emulated_stack[t].data();
        emulated_fiber[t].uc_stack.ss_size = emulated_stack[t].size();
        emulated_fiber[t].uc_link = nullptr;
        makecontext(&emulated_fiber[t], emulated_start, 0);
        emulated_done[t] = false;
    }
    for (bool alive = true; alive;) {
        alive = false;
        for (unsigned t = 0; t < blockDim.x; ++t) {
            if (emulated_done[t]) continue;
            alive = true;
            emulated_thread = t;
            swapcontext(&emulated_scheduler, &emulated_fiber[t]);
        }
    }
}

template <typename... A, size_t... I>
static void emulated_call(void (*entry)(A...), void** args, std::index_sequence<I...>) {
    entry(*static_cast<A*>(args[I])...);
}

template <typename... A>
static void emulated_launch(void (*entry)(A...), unsigned grid, unsigned block, void** args, bool fibers) {
    struct Data { void (*entry)(A...); void** args; } data{entry, args};
    emulated_data = &data;
    emulated_body = [](void* p) {
        Data* d = static_cast<Data*>(p);
        emulated_call(d->entry, d->args, std::index_sequence_for<A...>{});
    };
    gridDim.x = grid;
    blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) emulated_run_block(fibers);
}
