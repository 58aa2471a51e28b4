/* splatsmith/core.h - the types of all parts of the library: errors, the context with its device, log and memory, and
 * cameras.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_CORE_H
#define SPLATSMITH_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPLATSMITH_VERSION_MAJOR 0
#define SPLATSMITH_VERSION_MINOR 1
#define SPLATSMITH_VERSION_PATCH 0
#define SPLATSMITH_VERSION "0.1.0"

/* ---------------------------------------------------------------- errors */

/* The codes are pinned: a code never changes its number. */
typedef enum splat_status {
    SPLAT_OK = 0,
    SPLAT_ERROR_ARGUMENT = 1,    /* an option or argument is out of its range */
    SPLAT_ERROR_IO = 2,          /* the operating system refused to read or write */
    SPLAT_ERROR_FORMAT = 3,      /* a file is truncated, corrupt or contradicts itself */
    SPLAT_ERROR_UNSUPPORTED = 4, /* valid, but this version cannot do it */
    SPLAT_ERROR_MEMORY = 5,      /* host or device memory is exhausted, or a limit would be passed */
    SPLAT_ERROR_DEVICE = 6,      /* the accelerator failed or is absent */
    SPLAT_ERROR_NUMERIC = 7,     /* NaN or infinity where none may be */
    SPLAT_ERROR_STOPPED = 8,     /* a stop was requested; the state is sound */
    SPLAT_ERROR_INTERNAL = 9,    /* a bug here: please report it */
    SPLAT_ERROR_CHECKPOINT = 10, /* checkpoints could not be written; the splat was saved where that was possible */
    SPLAT_ERROR_RANK = 11        /* another rank of a distributed run failed or is gone */
} splat_status;

#define SPLAT_NO_OFFSET UINT64_MAX

/* An error. `message` is one sentence: what is wrong, and what to do. An option in it, or in a line of the log, stands
 * between backquotes by its name on the command line, without dashes: "name the folder with `images`". Functions fill
 * the struct only when they fail. */
typedef struct splat_error {
    splat_status status;
    uint64_t offset;    /* byte offset in `file`, SPLAT_NO_OFFSET when it has none */
    uint64_t line;      /* 1-based line in a text `file`, 0 when it has none */
    char file[512];     /* "" when no file is concerned; the end of the path when it is longer */
    char message[1024];
} splat_error;

/* Writes "message (file, line 3)" or "message (file, byte 128)" into text[size]; always ends with NUL. Returns text. */
const char *splat_error_format(const splat_error *error, char *text, size_t size);
/* A short lower-case name of the code: "format", "memory", ... Never NULL. */
const char *splat_status_name(splat_status status);
/* Memory is counted in binary units: KiB, MiB, GiB. */
#define SPLAT_MIB 1048576.0
#define SPLAT_GIB 1073741824.0
/* "312 KiB", "4.5 MiB", "112 MiB", "1.25 GiB": writes it into text[size]. Returns text. */
const char *splat_bytes_format(uint64_t bytes, char *text, size_t size);

/* "0.1.0": the version of the library that is running. */
const char *splat_version(void);

/* ---------------------------------------------------------------- folders */

/* Locks a folder, so that no other run of this library works in it. The caller owns *lock (splat_folder_unlock); the
 * end of the process also releases it. A file system without locks gives no protection. Errors: IO (another run has
 * it). */
splat_status splat_folder_lock(const char *folder, int *lock, splat_error *error);
void splat_folder_unlock(int lock);

/* ---------------------------------------------------------------- options
 *
 * A struct of options begins with its size. splat_<name>_options_init(&options) sets the size that the struct has in
 * the caller's header, and the defaults, which the comments of the fields give. The program then changes what it needs.
 * A library that is newer than the program's header takes defaults for the fields that the program does not know, so
 * fields are only ever added at the end. ARGUMENT: a struct that was not initialised, or one of a newer header with
 * something set that the library does not know. (..._init_sized are for bindings to other languages.) A struct that the
 * library fills (an info, a sample) has no size: its layout changes with SPLATSMITH_VERSION_MINOR. But splat_step_info
 * and splat_plan begin with their size.
 *
 * splat_<name>_options_set(&options, name, text, &error) sets a field by its name from a text, for programs that read
 * options from a file, a form or a command line; in C, splat_options_set of splatsmith.h is the same for every struct.
 * Numbers are decimal, in every locale; counts take K, M and G for thousands, millions and billions ("1.5M"); a field
 * in GiB takes a size ("512M"); a flag takes true, yes, on, 1 and their opposites; an enum one of its words. A text is
 * borrowed: it must live as long as the struct is used. The range is checked at once. ARGUMENT, with a sentence that
 * names the option and what it takes: the text is no such value, or there is no such option; nothing has changed then.
 * Fields that are arrays, functions or handles are set in the struct alone.
 */

/* ---------------------------------------------------------------- context: backend, threads, log */

typedef struct splat_context splat_context;

typedef enum splat_log_level { SPLAT_LOG_WARNING = 0, SPLAT_LOG_NOTICE = 1, SPLAT_LOG_DEBUG = 2 } splat_log_level;
/* Receives one line without a newline, on the thread that called into the library. */
typedef void (*splat_log_function)(void *user, splat_log_level level, const char *message);

/* The moment at which unused memory goes back to the device. */
typedef enum splat_fragmentation {
    SPLAT_FRAGMENTATION_NORMAL = 0, /* when arrays shrink, and when working memory is a third larger than needed */
    SPLAT_FRAGMENTATION_AGGRESSIVE = 1, /* all unused memory, at every density control */
    SPLAT_FRAGMENTATION_MINIMAL = 2 /* never before the end: nothing is mapped twice */
} splat_fragmentation;

typedef struct splat_context_options {
    size_t size;
    const char *backend;    /* "auto", "cpu" or "cuda"; NULL is "auto" */
    int gpu;                /* index of the device for "cuda"; default 0 */
    int threads;            /* CPU threads; 0 (default): as many as the process may use. Results do not depend on it */
    bool deterministic;     /* GPU: the same bytes on every run, slower; the CPU always gives the same bytes */
    const char *simd;       /* "auto", "avx512", "avx2" or "c"; NULL is "auto" (the widest this CPU has) */
    splat_fragmentation fragmentation; /* NORMAL */
    bool sole_user;         /* GPU: nothing else in this process uses the device. Its context then takes less memory (a
                               quarter of a GiB on an H200): threads get only the stack of these kernels, and a
                               recursive kernel of another library would fail. Default false */
    splat_log_function log; /* NULL: silence */
    void *log_user;
} splat_context_options;

void splat_context_options_init_sized(splat_context_options *options, size_t size);
#define splat_context_options_init(options) splat_context_options_init_sized(options, sizeof *(options))
/* Opens the backend. The caller owns *context (splat_context_destroy). Errors: ARGUMENT, MEMORY; with "cuda" also
 * UNSUPPORTED (the module libsplatsmith-cuda.so is not installed) and DEVICE (it or the GPU cannot be used). */
splat_status splat_context_create(const splat_context_options *options, splat_context **context, splat_error *error);
/* Destroy every scene, model and trainer of the context first. NULL is allowed. */
void splat_context_destroy(splat_context *context);
/* "cpu (avx512, 2 threads)" and the like; lives as long as the context. */
const char *splat_context_get_description(const splat_context *context);
/* "0000:3b:00.0": the GPU of the context, "" on the CPU. */
const char *splat_context_get_pci_bus_id(const splat_context *context);

/* An NVIDIA GPU, as the driver describes it. */
typedef struct splat_device_info {
    int index;                      /* index for splat_context_options.gpu */
    char name[256];
    int compute_major, compute_minor; /* 9, 0 is sm_90 */
    size_t total_bytes, free_bytes; /* device memory; free_bytes is 0 if the device does not report it */
    int driver_version;             /* the newest CUDA of the driver: 1000 major + 10 minor */
    int runtime_version;            /* the CUDA of the CUDA backend, in the same form */
} splat_device_info;

/* *n: how many GPUs there are; the first `capacity` of them are described (devices may be NULL when it is 0). Errors:
 * UNSUPPORTED (no CUDA backend is installed), DEVICE (no driver, one too old, or no GPU; the message says which). */
splat_status splat_device_list(splat_device_info *devices, size_t capacity, size_t *n, splat_error *error);

typedef struct splat_memory_info {
    size_t bytes;          /* held in named blocks now */
    size_t peak_bytes;     /* the most since the context was created */
    size_t n_blocks;
    size_t used_bytes;     /* in use, <= bytes: the end of a block's last page may be unused */
    size_t host_bytes;     /* GPU: pinned host memory of blocks that were placed there */
    size_t overhead_bytes; /* GPU: memory of the process outside the blocks (the driver's context and code) */
    size_t limit_bytes;    /* `bytes` never passes it; 0: no limit */
    size_t n_refused;      /* growths that the limit refused */
} splat_memory_info;

/* Device memory of the context (host memory for the CPU backend). */
void splat_context_get_memory(const splat_context *context, splat_memory_info *info);
/* Calls `visit` for each named block, largest first, and then for the host memory of photos and files (owner
 * "host"). */
typedef void (*splat_memory_block_function)(void *user, const char *owner, const char *name, size_t bytes);
void splat_context_visit_memory_blocks(const splat_context *context, splat_memory_block_function visit, void *user);

/* Keeps the memory of the whole process on the device, as its driver counts it, at most limit_bytes: a block that would
 * grow past the limit fails (MEMORY). On the CPU backend only the named blocks count. 0: no limit. Errors: MEMORY (the
 * process already has more). */
splat_status splat_context_set_memory_limit(splat_context *context, size_t limit_bytes, splat_error *error);

/* How the spherical harmonics of degree 1 and more are stored; all else is float32. */
typedef enum splat_sh_storage {
    SPLAT_SH_FLOAT32 = 0,
    SPLAT_SH_FLOAT16 = 1 /* half the bytes; stores round stochastically */
} splat_sh_storage;

/* How Adam's moments are stored. */
typedef enum splat_optimizer_storage {
    SPLAT_OPTIMIZER_FLOAT32 = 0,
    SPLAT_OPTIMIZER_QUANTIZED = 1 /* 16 bits; 8 bits with a scale a row for the spherical harmonics above degree 0 */
} splat_optimizer_storage;

/* ---------------------------------------------------------------- cameras */

/* A pinhole camera at the resolution of the picture it renders. */
typedef struct splat_camera {
    float rotation[9];    /* world to camera, row-major */
    float translation[3]; /* x_camera = rotation x_world + translation */
    float center[3];      /* the camera centre in the world: -rotation^T translation */
    float fx, fy;         /* focal lengths, pixels */
    float cx, cy;         /* principal point, pixels of the continuous picture: width/2 when centred */
    int32_t width, height;
} splat_camera;

/* ---------------------------------------------------------------- splats and their files */

/* How a footprint is filtered on the screen. */
typedef enum splat_render_mode {
    SPLAT_RENDER_AUTO = 0,   /* mip if the file has filter_3D or SplatRenderMode: mip, else classic */
    SPLAT_RENDER_MIP = 1,    /* 2D Mip filter: variance kernel_size, with opacity compensation */
    SPLAT_RENDER_CLASSIC = 2 /* 3DGS: variance 0.3, no compensation */
} splat_render_mode;

/* A kind of file that the library reads or writes: a row of a table. */
typedef struct splat_file_format {
    const char *name;        /* "PLY" */
    const char *ending;      /* ".ply" */
    const char *description; /* one line */
    bool reads, writes;
} splat_file_format;

/* How a splat is written (splat_save_options_init, splat_model_save). */
typedef struct splat_save_options {
    size_t size;
    bool fused;    /* bake the 3D filter into scales and opacities and omit filter_3D, for other viewers */
    int sh_degree; /* higher bands are left out; at or above the model's: all are written */
    int spz_version; /* version of SPZ files: 3, or 4, which some readers lack */
    const splat_camera *start; /* first camera of an HTML page; borrowed. NULL: outside, with the whole splat in view */
} splat_save_options;

#ifdef __cplusplus
}
#endif
#endif
