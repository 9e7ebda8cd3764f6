// Memory bandwidth: the roof under which every memory-bound workload stands.
//
// Usage: stream THREADS. Prints one JSON object, GB/s (10^9 bytes), best of several passes over arrays far larger
// than the caches. "copy" and "triad" use ordinary stores, whose lines are first read from memory (that read is not
// counted, as in the STREAM benchmark); the "_nt" forms use non-temporal stores, which avoid it.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

enum { PASSES = 12, MOST_THREADS = 256 };
static const size_t LENGTH = (size_t)32 << 20; // doubles per array: 256 MiB

typedef void kernel(double *a, const double *b, const double *c, size_t n);

static double *a, *b, *c;
static int threads;
static kernel *current;
static pthread_barrier_t gate;
static volatile double sink;

static void copy(double *restrict x, const double *restrict y, const double *restrict z, size_t n) {
  (void)z;
  for (size_t i = 0; i < n; i++) x[i] = y[i];
  __asm__ volatile("" ::: "memory");
}

static void triad(double *restrict x, const double *restrict y, const double *restrict z, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = y[i] + 3.0 * z[i];
  __asm__ volatile("" ::: "memory");
}

static void read_only(double *restrict x, const double *restrict y, const double *restrict z, size_t n) {
  (void)x, (void)z;
  double lanes[32] = {0};
  for (size_t i = 0; i + 32 <= n; i += 32)
    for (int j = 0; j < 32; j++) lanes[j] += y[i + j];
  double total = 0;
  for (int j = 0; j < 32; j++) total += lanes[j];
  sink = total;
}

#if defined(__AVX__)
static void copy_nt(double *restrict x, const double *restrict y, const double *restrict z, size_t n) {
  (void)z;
  for (size_t i = 0; i < n; i += 4) _mm256_stream_pd(x + i, _mm256_load_pd(y + i));
  _mm_sfence();
}

static void triad_nt(double *restrict x, const double *restrict y, const double *restrict z, size_t n) {
  const __m256d s = _mm256_set1_pd(3.0);
  for (size_t i = 0; i < n; i += 4)
    _mm256_stream_pd(x + i, _mm256_add_pd(_mm256_load_pd(y + i), _mm256_mul_pd(s, _mm256_load_pd(z + i))));
  _mm_sfence();
}
#endif

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void work_share(size_t number) {
  // Shares are multiples of a page so that no line and no vector is split between threads.
  size_t share = LENGTH / threads / 512 * 512, start = share * number;
  size_t n = (int)number == threads - 1 ? LENGTH - start : share;
  current(a + start, b + start, c + start, n);
}

static void *follow(void *number) {
  for (;;) {
    pthread_barrier_wait(&gate);
    if (!current) return NULL;
    work_share((size_t)number);
    pthread_barrier_wait(&gate);
  }
}

static double measure(kernel *work, int arrays) {
  double best = 1e30;
  current = work;
  for (int pass = 0; pass < PASSES; pass++) {
    // The clock starts before the gate opens, and the thread that reads it works too: one that only looks on may get its core
    // when the others are done.
    double start = now();
    pthread_barrier_wait(&gate);
    work_share(0);
    pthread_barrier_wait(&gate);
    double seconds = now() - start;
    if (pass > 0 && seconds < best) best = seconds;
  }
  return 1e-9 * arrays * sizeof(double) * LENGTH / best;
}

static double *make(double seed) {
  double *p = aligned_alloc(4096, LENGTH * sizeof(double));
  if (!p) exit(1);
  for (size_t i = 0; i < LENGTH; i++) p[i] = seed + (double)(i % 1021);
  return p;
}

int main(int count, char **words) {
  threads = count > 1 ? atoi(words[1]) : 1;
  if (threads < 1 || threads > MOST_THREADS) return 1;
  a = make(1), b = make(2), c = make(3);
  pthread_barrier_init(&gate, NULL, threads);
  pthread_t team[MOST_THREADS];
  for (size_t i = 1; i < (size_t)threads; i++) pthread_create(&team[i], NULL, follow, (void *)i);
  printf("{\"copy\": %.2f, \"triad\": %.2f, \"read\": %.2f", measure(copy, 2), measure(triad, 3), measure(read_only, 1));
#if defined(__AVX__)
  printf(", \"copy_nt\": %.2f, \"triad_nt\": %.2f", measure(copy_nt, 2), measure(triad_nt, 3));
#endif
  printf("}\n");
  current = NULL;
  pthread_barrier_wait(&gate);
  for (int i = 1; i < threads; i++) pthread_join(team[i], NULL);
  return 0;
}
