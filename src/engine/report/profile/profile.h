/* The memory profile of a run, read and judged. */
#ifndef SPLAT_REPORT_PROFILE_H
#define SPLAT_REPORT_PROFILE_H

#include "report/profile/memory_profile.h"

/* One sample of a run that was profiled. */
typedef struct splat_profile_sample {
    int iteration;
    size_t n_gaussians, n_blocks;
    double seconds;          /* since the profile began */
    size_t allocated_bytes;  /* bytes in use in the named blocks of the device */
    size_t reserved_bytes;   /* mapped for them: exactly the sum of the blocks */
    size_t peak_bytes;       /* the most that was reserved so far */
    size_t driver_bytes;     /* the process on the GPU, by the driver's count; 0 on the CPU */
    size_t host_bytes;       /* pinned blocks, photos, staging, files */
    size_t process_bytes;    /* resident memory of the process */
    size_t category_bytes[SPLAT_N_MEMORY_CATEGORIES]; /* reserved, on the device */
} splat_profile_sample;

typedef enum splat_profile_verdict {
    SPLAT_PROFILE_FLAT = 0,
    SPLAT_PROFILE_GROWS = 1,
    SPLAT_PROFILE_UNKNOWN = 2 /* too few samples to tell */
} splat_profile_verdict;

/* The growth of one figure while the number of Gaussians is constant. */
typedef struct splat_profile_trend {
    const char *what;               /* "allocated on the device" ... */
    splat_profile_verdict verdict;
    double bytes_per_1000_steps;    /* slope of the least-squares line; 0 when unknown */
    char reason[320];               /* one sentence */
} splat_profile_trend;

typedef struct splat_profile_saving {
    const char *option, *cost;
    size_t bytes;                   /* bytes of the device that it would free at the peak */
} splat_profile_saving;

/* A block on the device; texts are cut to their room. */
typedef struct splat_profile_large_block {
    char name[64], category[16], type[16];
    size_t bytes;                   /* reserved */
} splat_profile_large_block;

#define SPLAT_PROFILE_TRENDS 4
#define SPLAT_PROFILE_SAVINGS 6
#define SPLAT_PROFILE_LARGEST 5

typedef struct splat_profile {
    char *path;                     /* path of the file */
    char backend[160];              /* "cuda (NVIDIA ...)" */
    splat_profile_sample *samples;  /* n_samples >= 1, by iteration */
    size_t n_samples;
    size_t peak;                    /* index of the sample with the most reserved */
    size_t category_peaks[SPLAT_N_MEMORY_CATEGORIES]; /* the same for each category */
    int settled_iteration;          /* first iteration of trends, after densification */
    size_t overhead_bytes;          /* the driver's count outside the blocks at the first sample */
    splat_profile_trend trends[SPLAT_PROFILE_TRENDS];
    size_t n_trends;
    splat_profile_saving savings[SPLAT_PROFILE_SAVINGS]; /* largest first */
    size_t n_savings;
    splat_profile_large_block largest[SPLAT_PROFILE_LARGEST]; /* largest blocks at the peak, largest first */
    size_t n_largest;
    bool is_cut;                    /* the last line is cut off, as of a run that was killed or goes on: left out */
} splat_profile;

#endif
