/* Training, measured. */
#ifndef SPLAT_BENCH_BENCH_H
#define SPLAT_BENCH_BENCH_H

#include "bench/times.h"
#include "splatsmith/train.h"

#define SPLAT_BENCH_STAGE_STEPS 300

typedef struct splat_bench_options {
    size_t size;
    int warmup, iterations;  /* steps before, and steps measured */
    bool stages;             /* then as many again, at most these, with every stage timed */
    splat_lpips *lpips;      /* LPIPS of the test views; NULL: not measured; borrowed */
    const int *test_iterations; size_t n_test_iterations; /* the test views are measured after these steps, too */
} splat_bench_options;

void splat_bench_options_init_sized(splat_bench_options *options, size_t size);
#define splat_bench_options_init(options) splat_bench_options_init_sized(options, sizeof *(options))

/* Device memory in one phase. */
typedef struct splat_bench_memory {
    size_t allocated_bytes;  /* bytes in use in named blocks at the end of the phase */
    size_t named_bytes;      /* reserved for them, then */
    size_t peak_bytes;       /* the most that was reserved */
    size_t overhead_bytes;   /* the driver's memory for the process, outside the blocks; 0 on the CPU */
    double process_bytes;    /* the most that the driver counted for the process, sampled 4 times a second; NaN: it
                                does not tell */
} splat_bench_memory;

/* The GPU while training was measured. Numbers are NaN where the driver does not tell. */
typedef struct splat_bench_gpu {
    bool present;            /* false: none, or no driver to ask */
    char name[96];
    size_t n_samples;
    double clock_sm_min_mhz, clock_sm_mean_mhz, clock_sm_max_mhz, clock_memory_mean_mhz;
    double temperature_max_c, power_mean_w, compute_mean_percent;
    double throttled_hw, throttled_power, throttled_thermal; /* part of the samples, 0 to 1, with clocks held down */
} splat_bench_gpu;

typedef struct splat_bench_stage {
    const char *name;
    double ms;
    double limit_ms;         /* bytes that must move once over copy_gb_per_s; 0: none is known */
} splat_bench_stage;

#define SPLAT_BENCH_STAGES 9

/* The test views on the way. */
typedef struct splat_bench_evaluation {
    int iteration;
    splat_metrics quality;   /* renders rounded to 8 bits */
} splat_bench_evaluation;

typedef struct splat_bench_result {
    int first_iteration;     /* the first measured step */
    int warmup;
    splat_bench_times step;  /* ms; from the end of one step to the end of the next, so their sum is the wall clock */
    double *step_ms;         /* [step.n], owned by the result (splat_bench_result_free) */
    double seconds, iterations_per_second;
    double views_a_step;     /* 1, or those of a batch */
    double seconds_to_30k;   /* 30,000 views at this mean */
    size_t n_gaussians_first, n_gaussians_last;
    double n_visible, n_instances; /* means of a view */
    splat_rank_info *ranks;  /* [n_ranks] where several trained, owned by the result; warm-up included */
    size_t n_ranks;
    double loss;             /* mean training loss of the measured steps; NaN: none arrived */
    double mean_opacity;     /* mean opacity of the Gaussians at the end */
    splat_bench_evaluation *evaluations; /* owned by the result, by iteration */
    size_t n_evaluations;
    splat_bench_memory training, evaluation; /* warm-up included; evaluation is all 0 without test views */
    double host_bytes, host_peak_bytes; /* resident memory of the process: the most seen while training, and ever */
    splat_bench_gpu gpu;
    splat_metrics quality;   /* of the test views after the measured steps, renders rounded to 8 bits; n_views may be
                                0 */
    double evaluation_seconds;
    double copy_gb_per_s;    /* bytes read plus bytes written by a large copy on the device; 0: no room for one */
    size_t n_stages;         /* 0 when they were not asked for */
    splat_bench_stage stages[SPLAT_BENCH_STAGES];
} splat_bench_result;

/* Trains warmup + iterations steps, measures the test views, then trains some steps more for the stages. Free the
 * result in any case. Errors: those of a step and of an evaluation; ARGUMENT. */
splat_status splat_trainer_bench(splat_trainer *trainer, const splat_bench_options *options, splat_bench_result *result,
                                 splat_error *error);
void splat_bench_result_free(splat_bench_result *result);

#endif
