/* A management library of two cards: one that answers everything, and one that only says what it must. */
#include <stdint.h>
#include <string.h>

typedef struct { unsigned gpu, memory; } Utilisation;
typedef struct { uint64_t total, free, used; } Memory;

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = (void *)(uintptr_t)(index + 1); return 0; }
int nvmlDeviceGetName(void *handle, char *name, unsigned length) {
    strncpy(name, handle == (void *)1 ? "Fake One" : "Fake Two", length);
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *handle, Utilisation *out) {
    out->gpu = 37;
    out->memory = 5;
    return handle == (void *)1 ? 0 : 3;
}
int nvmlDeviceGetMemoryInfo(void *handle, Memory *out) {
    out->total = 1000;
    out->used = handle == (void *)1 ? 250 : 0;
    out->free = out->total - out->used;
    return 0;
}
int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *out) {
    *out = 61;
    return sensor == 0 && handle == (void *)1 ? 0 : 3;
}
int nvmlDeviceGetPowerUsage(void *handle, unsigned *out) { *out = 123500; return handle == (void *)1 ? 0 : 3; }
