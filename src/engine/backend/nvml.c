/* Declarations are written from the public NVML API reference. Functions are looked up one by one, since drivers differ
 * in what they have; a missing one only means a missing figure. */
#include "backend/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* nvmlReturn_t */
enum { NVML_SUCCESS = 0, NVML_INSUFFICIENT_SIZE = 7 };

/* bits of the clock throttle reasons, which newer drivers call clock event reasons */
enum {
    THROTTLE_POWER_CAP = 0x4, THROTTLE_HW_SLOWDOWN = 0x8, THROTTLE_SW_THERMAL = 0x20, THROTTLE_HW_THERMAL = 0x40,
    THROTTLE_HW_POWER_BRAKE = 0x80
};

typedef struct nvml_memory { unsigned long long total, free, used; } nvml_memory; /* used counts what is reserved */
typedef struct nvml_utilization { unsigned compute, memory; } nvml_utilization;   /* percent of time */

/* nvmlProcessInfo_v1_t; nvmlProcessInfo_v2_t has two ids of MIG instances more. */
typedef struct process_v1 { unsigned pid; unsigned long long bytes; } process_v1;
typedef struct process_v2 {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
} process_v2;

#define BYTES_UNKNOWN (~0ULL) /* NVML_VALUE_NOT_AVAILABLE */
#define MAX_PROCESSES 1024

/* Single numbers, all read by f(device, &value) or f(device, selector, &value). */
typedef struct figure {
    const char *symbol;
    int selector; /* -1: the function has none */
    size_t offset; /* in splat_gpu_sample */
    double scale;
} figure;

#define FIELD(name) offsetof(splat_gpu_sample, name)
static const figure figures[] = {
    {"nvmlDeviceGetPowerUsage", -1, FIELD(power_w), 1e-3},
    {"nvmlDeviceGetEnforcedPowerLimit", -1, FIELD(power_limit_w), 1e-3},
    {"nvmlDeviceGetTemperature", 0, FIELD(temperature_c), 1},
    {"nvmlDeviceGetFanSpeed", -1, FIELD(fan_percent), 1},
    {"nvmlDeviceGetClockInfo", 0, FIELD(clock_graphics_mhz), 1},
    {"nvmlDeviceGetClockInfo", 1, FIELD(clock_sm_mhz), 1},
    {"nvmlDeviceGetClockInfo", 2, FIELD(clock_memory_mhz), 1},
    {"nvmlDeviceGetPerformanceState", -1, FIELD(pstate), 1},
    {"nvmlDeviceGetCurrPcieLinkGeneration", -1, FIELD(pcie_generation), 1},
    {"nvmlDeviceGetCurrPcieLinkWidth", -1, FIELD(pcie_width), 1},
};
#define N_FIGURES (sizeof figures / sizeof figures[0])

typedef int (*plain_function)(void);
typedef const char *(*error_function)(int code);
typedef int (*by_bus_id_function)(const char *bus_id, void **device);
typedef int (*by_index_function)(unsigned index, void **device);
typedef int (*name_function)(void *device, char *name, unsigned size);
typedef int (*number_function)(void *device, unsigned *value);
typedef int (*selected_function)(void *device, int selector, unsigned *value);
typedef int (*memory_function)(void *device, nvml_memory *memory);
typedef int (*utilization_function)(void *device, nvml_utilization *utilization);
typedef int (*throttle_function)(void *device, unsigned long long *reasons);
typedef int (*processes_function)(void *device, unsigned *n, void *processes);

struct splat_nvml {
    void *library, *device;
    bool started; /* nvmlInit succeeded: nvmlShutdown is due */
    char name[96];
    void *figures[N_FIGURES];
    memory_function memory;
    utilization_function utilization;
    throttle_function throttle;
    processes_function processes;
    size_t process_size; /* of what `processes` writes */
};

/* dlsym gives an object pointer; POSIX promises that its bytes are those of the function pointer. */
#define LOOK_UP(nvml, function, symbol)                                                                                \
    do {                                                                                                               \
        void *found_ = dlsym((nvml)->library, symbol);                                                                 \
        memcpy(&(function), &found_, sizeof(function));                                                                \
    } while (0)

static const char *nvml_message(const splat_nvml *nvml, int code)
{
    error_function message;
    LOOK_UP(nvml, message, "nvmlErrorString");
    return message ? message(code) : "unknown error";
}

static splat_status open_library(splat_nvml *nvml, splat_error *error)
{
    const char *path = getenv("SPLATSMITH_NVML");
    if (!path || !path[0]) path = "libnvidia-ml.so.1";
    nvml->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* each load leaves a handle open */
    if (!nvml->library) {
        const char *reason = dlerror();
        return splat_fail(error, SPLAT_ERROR_DEVICE, "the NVIDIA management library is not available: %s",
                          reason ? reason : path);
    }
    plain_function init;
    LOOK_UP(nvml, init, "nvmlInit_v2");
    if (!init) return splat_fail(error, SPLAT_ERROR_DEVICE, "%s has no function nvmlInit_v2: it is not NVML", path);
    int code = init();
    if (code != NVML_SUCCESS)
        return splat_fail(error, SPLAT_ERROR_DEVICE, "the NVIDIA management library cannot start: %s",
                          nvml_message(nvml, code));
    nvml->started = true;
    return SPLAT_OK;
}

static splat_status find_device(splat_nvml *nvml, const char *gpu, splat_error *error)
{
    int code;
    if (strchr(gpu, ':')) {
        by_bus_id_function find;
        LOOK_UP(nvml, find, "nvmlDeviceGetHandleByPciBusId_v2");
        if (!find)
            return splat_fail(error, SPLAT_ERROR_DEVICE, "this NVIDIA driver cannot find a GPU by its PCI bus id");
        code = find(gpu, &nvml->device);
    } else {
        char *end;
        errno = 0;
        unsigned long index = strtoul(gpu, &end, 10);
        if (gpu[0] < '0' || gpu[0] > '9' || *end || errno || index > 1023)
            return splat_fail(error, SPLAT_ERROR_DEVICE,
                              "'%s' is neither a PCI bus id like 0000:3b:00.0 nor the index of a GPU", gpu);
        by_index_function find;
        LOOK_UP(nvml, find, "nvmlDeviceGetHandleByIndex_v2");
        if (!find) return splat_fail(error, SPLAT_ERROR_DEVICE, "this NVIDIA driver cannot find a GPU by its index");
        code = find((unsigned)index, &nvml->device);
    }
    if (code != NVML_SUCCESS)
        return splat_fail(error, SPLAT_ERROR_DEVICE, "the NVIDIA driver does not give access to GPU %s: %s", gpu,
                          nvml_message(nvml, code));
    return SPLAT_OK;
}

static void look_up_functions(splat_nvml *nvml)
{
    name_function name;
    LOOK_UP(nvml, name, "nvmlDeviceGetName");
    if (!name || name(nvml->device, nvml->name, sizeof nvml->name) != NVML_SUCCESS) nvml->name[0] = '\0';
    nvml->name[sizeof nvml->name - 1] = '\0';
    for (size_t i = 0; i < N_FIGURES; i++) nvml->figures[i] = dlsym(nvml->library, figures[i].symbol);
    LOOK_UP(nvml, nvml->memory, "nvmlDeviceGetMemoryInfo");
    LOOK_UP(nvml, nvml->utilization, "nvmlDeviceGetUtilizationRates");
    LOOK_UP(nvml, nvml->throttle, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!nvml->throttle) LOOK_UP(nvml, nvml->throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    /* _v2 before _v3: the first drivers of branch 535 wrote larger structs in _v3, which later ones took back. */
    static const char *const lists[] = {"nvmlDeviceGetComputeRunningProcesses_v2",
                                        "nvmlDeviceGetComputeRunningProcesses_v3",
                                        "nvmlDeviceGetComputeRunningProcesses"};
    for (int i = 0; i < 3 && !nvml->processes; i++) {
        LOOK_UP(nvml, nvml->processes, lists[i]);
        nvml->process_size = i < 2 ? sizeof(process_v2) : sizeof(process_v1);
    }
}

splat_status splat_nvml_open(const char *gpu, splat_nvml **result, splat_error *error)
{
    *result = NULL;
    splat_nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to open the NVIDIA management library");
    splat_status status = open_library(nvml, error);
    if (status == SPLAT_OK) status = find_device(nvml, gpu ? gpu : "0", error);
    if (status != SPLAT_OK) {
        splat_nvml_close(nvml);
        return status;
    }
    look_up_functions(nvml);
    *result = nvml;
    return SPLAT_OK;
}

void splat_nvml_close(splat_nvml *nvml)
{
    if (!nvml) return;
    plain_function shut_down;
    if (nvml->started) {
        LOOK_UP(nvml, shut_down, "nvmlShutdown");
        if (shut_down) shut_down();
    }
    if (nvml->library) dlclose(nvml->library);
    free(nvml);
}

static double read_figure(const splat_nvml *nvml, size_t i)
{
    unsigned value = 0;
    int code;
    if (!nvml->figures[i]) return NAN;
    if (figures[i].selector < 0) {
        number_function read;
        memcpy(&read, &nvml->figures[i], sizeof read);
        code = read(nvml->device, &value);
    } else {
        selected_function read;
        memcpy(&read, &nvml->figures[i], sizeof read);
        code = read(nvml->device, figures[i].selector, &value);
    }
    return code == NVML_SUCCESS ? value * figures[i].scale : NAN;
}

static void read_throttle(const splat_nvml *nvml, splat_gpu_sample *sample)
{
    unsigned long long reasons;
    sample->throttle_power_cap = sample->throttle_hw_slowdown = sample->throttle_thermal = NAN;
    if (!nvml->throttle || nvml->throttle(nvml->device, &reasons) != NVML_SUCCESS) return;
    sample->throttle_power_cap = (reasons & THROTTLE_POWER_CAP) != 0;
    sample->throttle_hw_slowdown =
        (reasons & (THROTTLE_HW_SLOWDOWN | THROTTLE_HW_THERMAL | THROTTLE_HW_POWER_BRAKE)) != 0;
    sample->throttle_thermal = (reasons & (THROTTLE_SW_THERMAL | THROTTLE_HW_THERMAL)) != 0;
}

void splat_nvml_sample(const splat_nvml *nvml, splat_gpu_sample *sample)
{
    nvml_memory memory;
    nvml_utilization utilization;
    memset(sample, 0, sizeof *sample);
    sample->present = true;
    memcpy(sample->name, nvml->name, sizeof sample->name);
    for (size_t i = 0; i < N_FIGURES; i++) {
        double value = read_figure(nvml, i);
        memcpy((char *)sample + figures[i].offset, &value, sizeof value);
    }
    if (sample->pstate > 15) sample->pstate = NAN; /* 32 is the driver's "unknown" */
    sample->power_percent = 100.0 * sample->power_w / sample->power_limit_w;
    bool has_memory = nvml->memory && nvml->memory(nvml->device, &memory) == NVML_SUCCESS;
    sample->memory_used_bytes = has_memory ? (double)memory.used : NAN;
    sample->memory_total_bytes = has_memory ? (double)memory.total : NAN;
    bool has_utilization = nvml->utilization && nvml->utilization(nvml->device, &utilization) == NVML_SUCCESS;
    sample->compute_percent = has_utilization ? utilization.compute : NAN;
    sample->memory_percent = has_utilization ? utilization.memory : NAN;
    sample->process_bytes = NAN;
    read_throttle(nvml, sample);
}

/* The list grows between two calls when processes start, hence a few tries with more room. Free *list. */
static bool list_processes(const splat_nvml *nvml, char **list, unsigned *n)
{
    *list = NULL;
    if (!nvml->processes) return false;
    for (unsigned room = 16; room <= MAX_PROCESSES; room *= 4) {
        free(*list);
        *list = calloc(room, nvml->process_size);
        *n = room;
        int code = *list ? nvml->processes(nvml->device, n, *list) : -1;
        if (code == NVML_SUCCESS && *n <= room) return true;
        if (code != NVML_INSUFFICIENT_SIZE) break;
    }
    free(*list);
    *list = NULL;
    return false;
}

static process_v1 process_at(const splat_nvml *nvml, const char *list, unsigned i)
{
    process_v1 process; /* both versions begin with the same fields */
    memcpy(&process, list + i * nvml->process_size, sizeof process);
    return process;
}

bool splat_nvml_process_bytes(const splat_nvml *nvml, int pid, uint64_t *bytes)
{
    char *list;
    unsigned n, n_found = 0;
    unsigned wanted = (unsigned)(pid ? pid : getpid());
    unsigned long long sum = 0;
    bool known = true;
    if (!list_processes(nvml, &list, &n)) return false;
    process_v1 only = n == 1 ? process_at(nvml, list, 0) : (process_v1){0};
    /* kill with signal 0 only asks whether the process exists */
    if (n == 1 && wanted == (unsigned)getpid() && kill((pid_t)only.pid, 0) != 0 && errno == ESRCH) wanted = only.pid;
    for (unsigned i = 0; i < n; i++) { /* a process is listed once for each of its MIG instances */
        process_v1 process = process_at(nvml, list, i);
        if (process.pid != wanted) continue;
        n_found++;
        if (process.bytes == BYTES_UNKNOWN) known = false;
        sum += process.bytes;
    }
    free(list);
    *bytes = sum;
    return n_found > 0 && known;
}
