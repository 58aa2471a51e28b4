/* NVIDIA's management library (NVML), found at run time: what the driver knows of a GPU and of the processes on it.
 * Needs no header of CUDA and links nothing, so it is part of every build. */
#ifndef SPLAT_BACKEND_NVML_H
#define SPLAT_BACKEND_NVML_H

#include "base/error.h"
#include "base/monitor_sample.h"

typedef struct splat_nvml splat_nvml;

/* Opens libnvidia-ml.so.1 (or what the environment variable SPLATSMITH_NVML names) and one GPU of it: by its PCI bus
 * id, "0000:3b:00.0", as CUDA tells it, or by its index in the order of nvidia-smi, "0", which is not always CUDA's.
 * Owned by the caller. Errors: DEVICE (no library, no driver, no such GPU; the message says which), MEMORY. */
splat_status splat_nvml_open(const char *gpu, splat_nvml **nvml, splat_error *error);
/* NULL is allowed. */
void splat_nvml_close(splat_nvml *nvml);

/* Every figure but process_bytes; NaN where this driver or GPU tells none. May be called from any thread. */
void splat_nvml_sample(const splat_nvml *nvml, splat_gpu_sample *sample);
/* Device memory of a process (0: the calling one) with everything the driver counts: also context and kernels. False
 * when the driver does not tell. Inside a container the driver may list pids of the host: the calling process is then
 * taken to be the only one listed, if there is just one and no process here has its number. */
bool splat_nvml_process_bytes(const splat_nvml *nvml, int pid, uint64_t *bytes);

#endif
