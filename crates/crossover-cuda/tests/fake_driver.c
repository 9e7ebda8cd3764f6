// A driver without a device: memory is the host's, streams are done at once. Kernels cannot be launched, unless
// FAKE_KERNELS is set: then every kernel adds 1 to its input of floats, as (count, input, output), or as (input, output,
// count) if it is called whole, and the library is a compiler too.
//
// Built into libcuda.so.1 by driver.rs. The environment says what is wrong with it: FAKE_VERSION, FAKE_INIT (an error of
// cuInit), FAKE_DOWN (an error of copies from the device), FAKE_FULL (allocations fail), FAKE_GRAPH (an error of
// cuGraphLaunch), FAKE_COUNT (devices), FAKE_PEER (they reach each other's memory), FAKE_TRACE (tells of events and
// copies between them). LACKS leaves a function out.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;
typedef int status;

static status set(const char* name) {
    const char* value = getenv(name);
    return value ? atoi(value) : 0;
}

#define NOTHING(name) status name(void) { return 0; }

status cuInit(unsigned flags) { return set("FAKE_INIT"); }
status cuDriverGetVersion(int* version) {
    *version = getenv("FAKE_VERSION") ? set("FAKE_VERSION") : 13000;
    return 0;
}
status cuGetErrorName(status code, const char** text) { *text = "FAKE"; return 0; }
status cuGetErrorString(status code, const char** text) { *text = "fake"; return 0; }
status cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
status cuDeviceGetCount(int* count) { *count = set("FAKE_COUNT") ? set("FAKE_COUNT") : 1; return 0; }
status cuDeviceGetName(char* name, int length, int device) { strncpy(name, "Fake GPU", length); return 0; }
status cuDeviceGetAttribute(int* value, int attribute, int device) {
    *value = attribute == 75 ? 9 : attribute == 16 ? 4 : 0;
    return 0;
}
status cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = 1 << 30; return 0; }
status cuDeviceGetDefaultMemPool(void** pool, int device) { *pool = (void*)8; return 0; }
status cuDevicePrimaryCtxRetain(void** context, int device) { *context = (void*)(8l + device); return 0; }
NOTHING(cuDevicePrimaryCtxRelease_v2)
NOTHING(cuCtxSetCurrent)
static long streams = 8;
status cuStreamCreate(void** stream, unsigned flags) { *stream = (void*)streams++; return 0; }
NOTHING(cuStreamSynchronize)
NOTHING(cuCtxSynchronize)
status cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
    if (set("FAKE_TRACE")) { printf("fake: stream %ld waits for event %ld\n", (long)stream, (long)event); fflush(stdout); }
    return 0;
}
NOTHING(cuStreamDestroy_v2)
static status allocate(address* at, size_t bytes) {
    if (set("FAKE_FULL")) return 2;
    return posix_memalign((void**)at, 256, bytes) ? 2 : 0;
}
status cuMemAlloc_v2(address* at, size_t bytes) { return allocate(at, bytes); }
status cuMemFree_v2(address at) { free((void*)at); return 0; }
#ifndef LACKS
status cuMemAllocAsync(address* at, size_t bytes, void* stream) { return allocate(at, bytes); }
#endif
status cuMemFreeAsync(address at, void* stream) { free((void*)at); return 0; }
status cuMemGetInfo_v2(size_t* free, size_t* total) {
    *total = 1 << 30;
    *free = set("FAKE_FULL") ? 1000 : *total - 4096;
    return 0;
}
status cuMemPoolCreate(void** pool, const void* wanted) { *pool = (void*)24; return 0; }
NOTHING(cuMemPoolDestroy)
status cuMemAllocFromPoolAsync(address* at, size_t bytes, void* pool, void* stream) { return allocate(at, bytes); }
status cuMemPoolGetAttribute(void* pool, int attribute, unsigned long long* value) { *value = 4096; return 0; }
NOTHING(cuMemPoolSetAttribute)
NOTHING(cuMemPoolTrimTo)
status cuMemHostAlloc(void** at, size_t bytes, unsigned flags) { *at = malloc(bytes); return *at ? 0 : 2; }
status cuMemFreeHost(void* at) { free(at); return 0; }
status cuMemcpyHtoDAsync_v2(address to, const void* from, size_t bytes, void* stream) {
    memcpy((void*)to, from, bytes);
    return 0;
}
status cuMemcpyDtoHAsync_v2(void* to, address from, size_t bytes, void* stream) {
    if (set("FAKE_DOWN")) return set("FAKE_DOWN");
    memcpy(to, (void*)from, bytes);
    return 0;
}
status cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void* stream) {
    memcpy((void*)to, (void*)from, bytes);
    return 0;
}
status cuDeviceCanAccessPeer(int* can, int device, int other) { *can = device != other && set("FAKE_PEER"); return 0; }
NOTHING(cuMemPoolSetAccess)
status cuMemcpyPeerAsync(address to, void* there, address from, void* here, size_t bytes, void* stream) {
    if (there == here) return 1;
    if (set("FAKE_TRACE")) { printf("fake: stream %ld copies %ld bytes between devices\n", (long)stream, (long)bytes); fflush(stdout); }
    memcpy((void*)to, (void*)from, bytes);
    return 0;
}
status cuMemsetD8Async(address to, unsigned char byte, size_t bytes, void* stream) {
    memset((void*)to, byte, bytes);
    return 0;
}
status cuModuleLoadData(void** module, const void* image) {
    *module = (void*)8;
    return set("FAKE_KERNELS") ? 0 : 200;
}
status cuModuleGetFunction(void** function, void* module, const char* name) {
    *function = strcmp(name, "whole") ? (void*)8 : (void*)16;
    return set("FAKE_KERNELS") ? 0 : 500;
}
NOTHING(cuModuleUnload)
status cuFuncGetAttribute(int* value, int attribute, void* function) { *value = attribute ? 0 : 1024; return 0; }
NOTHING(cuFuncSetAttribute)
static long events = 100;
status cuEventCreate(void** event, unsigned flags) { *event = (void*)events++; return 0; }
status cuEventRecord(void* event, void* stream) {
    if (set("FAKE_TRACE")) { printf("fake: event %ld is set on stream %ld\n", (long)event, (long)stream); fflush(stdout); }
    return 0;
}

// How often the host asked for kernels to be started, and for parameters to be changed.
static int starts, changes;
int fake_starts(void) { return starts; }
int fake_changes(void) { return changes; }

static void add_one(int count, const float* from, float* to) {
    for (int i = 0; i < count; ++i) to[i] = from[i] + 1;
}
typedef struct { int count; const float* from; float* to; } node;
typedef struct { node* nodes[64]; int length; } graph;

static void keep(node* node, void* function, void** parameters) {
    int first = function == (void*)16 ? 0 : 1;
    node->count = *(int*)parameters[first ? 0 : 2];
    node->from = *(const float**)parameters[first];
    node->to = *(float**)parameters[first + 1];
}
static void play(const node* node) { add_one(node->count, node->from, node->to); }

// The stream whose launches are noted, and what it has noted.
static void* noting;
static graph* noted;
static int notes;
int fake_notes(void) { return notes; }
status cuStreamBeginCapture_v2(void* stream, int mode) {
    if (noting) return 1;
    noting = stream;
    noted = calloc(1, sizeof(graph));
    notes += 1;
    return 0;
}
status cuStreamEndCapture(void* stream, graph** made) {
    if (noting != stream) return 1;
    *made = noted;
    noting = 0;
    return 0;
}

static status launch(void* function, void* stream, void** parameters) {
    if (!set("FAKE_KERNELS")) return 719;
    if (noting && stream == noting) {
        keep(noted->nodes[noted->length++] = malloc(sizeof(node)), function, parameters);
        return 0;
    }
    starts += 1;
    node once;
    keep(&once, function, parameters);
    play(&once);
    return 0;
}
status cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                      unsigned shared, void* stream, void** parameters, void** extra) {
    return launch(function, stream, parameters);
}
typedef struct { unsigned grid[3], block[3], shared; void* stream; } configuration;
status cuLaunchKernelEx(const configuration* config, void* function, void** parameters, void** extra) {
    return launch(function, config->stream, parameters);
}

// Graphs: nodes in a row, each with its parameters. What is made ready shares the nodes, which stay for good.
typedef struct {
    void* function;
    unsigned grid[3], block[3], shared;
    void** parameters;
    void** extra;
    void* kernel;
    void* context;
} node_parameters;

status cuGraphCreate(graph** made, unsigned flags) { *made = calloc(1, sizeof(graph)); return 0; }
status cuGraphAddKernelNode_v2(node** made, graph* graph, node** before, size_t count, const node_parameters* given) {
    if (count != (graph->length > 0) || (count && *before != graph->nodes[graph->length - 1])) return 1;
    *made = graph->nodes[graph->length++] = malloc(sizeof(node));
    keep(*made, given->function, given->parameters);
    return 0;
}
status cuGraphInstantiateWithFlags(graph** made, graph* from, unsigned long long flags) {
    *made = malloc(sizeof(graph));
    **made = *from;
    return 0;
}
status cuGraphExecKernelNodeSetParams_v2(graph* graph, node* node, const node_parameters* given) {
    changes += 1;
    keep(node, given->function, given->parameters);
    return 0;
}
status cuGraphExecUpdate_v2(graph* to, graph* from, void* result) {
    if (to->length != from->length) return 910;
    changes += 1;
    *to = *from;
    return 0;
}
status cuGraphLaunch(graph* graph, void* stream) {
    if (set("FAKE_GRAPH")) return set("FAKE_GRAPH");
    starts += 1;
    for (int i = 0; i < graph->length; ++i) play(graph->nodes[i]);
    return 0;
}
status cuGraphExecDestroy(graph* graph) { free(graph); return 0; }
status cuGraphDestroy(graph* graph) { free(graph); return 0; }
NOTHING(cuTensorMapEncodeTiled)

// The compiler: every text gives the same code.
status nvrtcCreateProgram(void** made, const char* text, const char* name, int n, void* h, void* i) {
    *made = (void*)8;
    return 0;
}
NOTHING(nvrtcDestroyProgram)
NOTHING(nvrtcCompileProgram)
status nvrtcGetProgramLogSize(void* program, size_t* size) { *size = 0; return 0; }
NOTHING(nvrtcGetProgramLog)
status nvrtcGetCUBINSize(void* program, size_t* size) { *size = 8; return 0; }
status nvrtcGetCUBIN(void* program, char* code) { memset(code, 0, 8); return 0; }
status nvrtcVersion(int* major, int* minor) { *major = 13; *minor = 0; return 0; }
const char* nvrtcGetErrorString(status code) { return "fake"; }
NOTHING(cuEventSynchronize)
NOTHING(cuEventQuery)
NOTHING(cuEventElapsedTime)
NOTHING(cuEventDestroy_v2)
