// Float arithmetic in vectors of 256 bits: the roof under which products stand on processors without AVX-512.
//
// Build and run: gcc -O2 -pthread bench/fma.c -o /tmp/fma && /tmp/fma THREADS. Prints one JSON object: GFLOP/s of all threads together, each the best of many
// short stretches, so that a machine that does something else now and then shows its peak all the same. Twelve sums, as
// the tiles of attention have them, without any memory: a product can only be slower.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SUMS = 12, STRETCHES = 400, STEPS = 100000, MOST_THREADS = 256 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// In assembler: a compiler would find that the sums are equal, and make one of them.
#define ADD(sum) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #sum "\n"

static void *measure(void *best) {
    for (int stretch = 0; stretch < STRETCHES; ++stretch) {
        long steps = STEPS;
        const double start = seconds();
        __asm__ volatile("vzeroall\n1:\n" ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7) ADD(8) ADD(9) ADD(10) ADD(11) "dec %0\njnz 1b\n"
                         : "+r"(steps)
                         :
                         : "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11",
                           "ymm12", "ymm13", "ymm14", "ymm15", "cc");
        // Eight lanes, a product and a sum in each.
        const double rate = (double)STEPS * SUMS * 16 / (seconds() - start) / 1e9;
        if (rate > *(double *)best) *(double *)best = rate;
    }
    return NULL;
}

int main(int count, char **arguments) {
    const int threads = count > 1 ? atoi(arguments[1]) : 1;
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "threads are %d; there can be 1 to %d\n", threads, MOST_THREADS);
        return 1;
    }
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fprintf(stderr, "this processor has no AVX2 with FMA\n");
        return 1;
    }
    pthread_t started[MOST_THREADS];
    double best[MOST_THREADS] = {0};
    double sum = 0;
    for (int i = 0; i < threads; ++i) {
        if (pthread_create(&started[i], NULL, measure, &best[i])) return 1;
    }
    for (int i = 0; i < threads; ++i) {
        pthread_join(started[i], NULL);
        sum += best[i];
    }
    printf("{\"threads\": %d, \"GFLOP_s\": %.1f}\n", threads, sum);
    return 0;
}
