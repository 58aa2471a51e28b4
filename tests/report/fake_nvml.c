/* A library with the entry points of NVML and known answers, so that the monitor is tested where there is no GPU.
 * The file that FAKE_NVML_STATE names, read at every call, changes some: lines "used BYTES", "process PID BYTES" and
 * "fail 1" (everything about the device is refused). With FAKE_NVML_OLD it is an old driver: the first version of the
 * process list, the old name of the throttle reasons, and several functions missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define N_DEVICES 2

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, UNKNOWN = 999 };

typedef struct memory { unsigned long long total, free, used; } memory;
typedef struct utilization { unsigned gpu, memory; } utilization;

static int devices[N_DEVICES];
static int n_started;

typedef struct state {
    unsigned long long used;
    int fail, n_processes;
    unsigned pids[64];
    unsigned long long bytes[64];
} state;

static state read_state(void)
{
    state s = {.used = 6000000000ULL};
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "used %llu", &s.used) == 1 || sscanf(line, "fail %d", &s.fail) == 1) continue;
        if (s.n_processes < 64 &&
            sscanf(line, "process %u %llu", &s.pids[s.n_processes], &s.bytes[s.n_processes]) == 2)
            s.n_processes++;
    }
    if (file) fclose(file);
    return s;
}

static int answer(void *device, unsigned *value, unsigned figure)
{
    if (!n_started || device != (void *)&devices[1]) return UNKNOWN; /* the tests open the second GPU */
    if (read_state().fail) return UNKNOWN;
    *value = figure;
    return SUCCESS;
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
    n_started++;
    return getenv("FAKE_NVML_NO_DRIVER") ? 9 : SUCCESS;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
    n_started--;
    return SUCCESS;
}

EXPORT const char *nvmlErrorString(int code);
EXPORT const char *nvmlErrorString(int code)
{
    return code == 9 ? "Driver Not Loaded" : code == NOT_FOUND ? "Not Found" : "Unknown Error";
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= N_DEVICES) return NOT_FOUND;
    *device = &devices[index];
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    if (strcmp(id, "0000:3b:00.0") != 0) return NOT_FOUND;
    *device = &devices[1];
    return SUCCESS;
}

EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size);
EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    snprintf(name, size, "Fake GPU %d", device == (void *)&devices[1]);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, memory *m);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, memory *m)
{
    unsigned ignored;
    int code = answer(device, &ignored, 0);
    if (code != SUCCESS) return code;
    m->total = 16000000000ULL;
    m->used = read_state().used;
    m->free = m->total - m->used;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *value);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *value)
{
    return answer(device, value, 312500);
}

static int write_processes(unsigned *n, char *list, size_t size)
{
    state s = read_state();
    unsigned room = *n;
    *n = (unsigned)s.n_processes;
    if (s.fail) return UNKNOWN;
    if (room < *n) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *n; i++) { /* unsigned pid, 4 bytes of padding, unsigned long long bytes, ids */
        memset(list + i * size, 0x5a, size);
        memcpy(list + i * size, &s.pids[i], 4);
        memcpy(list + i * size + 8, &s.bytes[i], 8);
    }
    return SUCCESS;
}

#ifdef FAKE_NVML_OLD

EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, char *list);
EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, char *list)
{
    (void)device;
    return write_processes(n, list, 16);
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 0x40; /* hardware, by heat */
    return SUCCESS;
}

EXPORT int nvmlDeviceGetFanSpeed(void *device, unsigned *value);
EXPORT int nvmlDeviceGetFanSpeed(void *device, unsigned *value)
{
    (void)device;
    (void)value;
    return NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetPerformanceState(void *device, unsigned *value);
EXPORT int nvmlDeviceGetPerformanceState(void *device, unsigned *value)
{
    return answer(device, value, 32); /* NVML_PSTATE_UNKNOWN */
}

#else

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *n, char *list);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *n, char *list)
{
    (void)device;
    return write_processes(n, list, 24);
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, utilization *u);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, utilization *u)
{
    u->memory = 41;
    return answer(device, &u->gpu, 87);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    unsigned value;
    *reasons = 0x4 | 0x1; /* the power limit, and a reason of no interest */
    return answer(device, &value, 0);
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *value);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *value)
{
    return sensor == 0 ? answer(device, value, 62) : UNKNOWN;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *value);
EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *value)
{
    static const unsigned clocks[] = {1980, 1965, 3201};
    return type >= 0 && type < 3 ? answer(device, value, clocks[type]) : UNKNOWN;
}

#define NUMBER(name, figure)                                                                                           \
    EXPORT int name(void *device, unsigned *value);                                                                    \
    EXPORT int name(void *device, unsigned *value)                                                                     \
    {                                                                                                                  \
        return answer(device, value, figure);                                                                          \
    }
NUMBER(nvmlDeviceGetEnforcedPowerLimit, 625000)
NUMBER(nvmlDeviceGetFanSpeed, 35)
NUMBER(nvmlDeviceGetPerformanceState, 2)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 16)

#endif
