// What it costs to know when a GPU ran a kernel: nothing, events, CUPTI; one kernel at a time, many, and ten as a graph.
//
//   nvcc -O2 -std=c++17 -arch=native bench/timing.cu -o timing -lcuda -lcupti && ./timing
//
// A line each: what, and nanoseconds of one launch (or graph) with everything around it, the median of several rounds. The kernel reads and writes a million
// floats. CUPTI comes last: what it leaves behind after a session is among the figures.
#include <cuda.h>
#include <cupti.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MUST(call)                                                                   \
    do {                                                                             \
        int code_ = static_cast<int>(call);                                          \
        if (code_ != 0) {                                                            \
            std::printf("%s failed with %d at line %d\n", #call, code_, __LINE__);   \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 1.0001f + 0.5f;
}

static float* values;
static int count = 1 << 20;
static CUstream stream;
static CUfunction kernel;
static std::vector<CUevent> events(4096);
static size_t records = 0;

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void launch() {
    void* arguments[] = {&values, &count};
    MUST(cuLaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
}

static void stamp(int at) { MUST(cuEventRecord(events[at % events.size()], stream)); }

// The median of several rounds of 2000, each waited for or all at the end.
template <class Work>
static void report(const char* name, bool waits, Work work) {
    const int each = 2000, rounds = 11;
    for (int i = 0; i < 200; i++) work(i);
    MUST(cuStreamSynchronize(stream));
    std::vector<double> taken;
    for (int round = 0; round < rounds; round++) {
        double start = now();
        for (int i = 0; i < each; i++) {
            work(i);
            if (waits) MUST(cuStreamSynchronize(stream));
        }
        MUST(cuStreamSynchronize(stream));
        taken.push_back((now() - start) / each);
    }
    std::sort(taken.begin(), taken.end());
    std::printf("%-44s %-8s %9.1f ns\n", name, waits ? "waited" : "queued", taken[rounds / 2]);
    std::fflush(stdout);
}

template <class Work>
static void both(const char* name, Work work) {
    report(name, true, work);
    report(name, false, work);
}

static void CUPTIAPI requested(uint8_t** buffer, size_t* size, size_t* most) {
    *size = 1 << 20;
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
    *most = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records++;
    std::free(buffer);
}

int main() {
    MUST(cudaFree(nullptr));
    MUST(cudaMalloc(&values, count * sizeof(float)));
    MUST(cudaMemset(values, 0x3c, count * sizeof(float)));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    cudaFunction_t function;
    MUST(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(scale)));
    kernel = reinterpret_cast<CUfunction>(function);
    for (CUevent& event : events) MUST(cuEventCreate(&event, CU_EVENT_DEFAULT));

    CUgraph plain, stamped;
    CUgraphExec ten, ten_stamped;
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 10; i++) launch();
    MUST(cuStreamEndCapture(stream, &plain));
    MUST(cuGraphInstantiate(&ten, plain, 0));
    MUST(cuGraphCreate(&stamped, 0));
    CUgraphNode last, node;
    MUST(cuGraphAddEventRecordNode(&last, stamped, nullptr, 0, events[0]));
    for (int i = 0; i < 10; i++) {
        void* arguments[] = {&values, &count};
        CUDA_KERNEL_NODE_PARAMS parameters = {};
        parameters.func = kernel;
        parameters.gridDimX = (count + 255) / 256;
        parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
        parameters.blockDimX = 256;
        parameters.kernelParams = arguments;
        MUST(cuGraphAddKernelNode(&node, stamped, &last, 1, &parameters));
        MUST(cuGraphAddEventRecordNode(&last, stamped, &node, 1, events[i + 1]));
    }
    MUST(cuGraphInstantiate(&ten_stamped, stamped, 0));

    auto graph = [&](int) { MUST(cuGraphLaunch(ten, stream)); };
    both("a kernel", [](int) { launch(); });
    both("a kernel between two events", [](int i) { stamp(2 * i), launch(), stamp(2 * i + 1); });
    both("a kernel before an event", [](int i) { launch(), stamp(i); });
    both("a graph of ten", graph);
    both("a graph of ten with an event after each", [&](int) { MUST(cuGraphLaunch(ten_stamped, stream)); });
    both("ten kernels", [](int) { for (int k = 0; k < 10; k++) launch(); });
    report("cuMemGetInfo", false, [](int) { size_t free, total; MUST(cuMemGetInfo(&free, &total)); });

    MUST(cuptiActivityRegisterCallbacks(requested, completed));
    MUST(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    both("a kernel, traced by CUPTI", [](int) { launch(); });
    both("a graph of ten, traced by CUPTI", graph);
    MUST(cuptiActivityFlushAll(0));
    MUST(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    both("a kernel, after CUPTI was disabled", [](int) { launch(); });
    both("a graph of ten, after CUPTI was disabled", graph);
    std::printf("%zu records of CUPTI\n", records);
    return 0;
}
