/* Benchmarks, compared. */
#ifndef SPLAT_BENCH_COMPARE_H
#define SPLAT_BENCH_COMPARE_H

#include "bench/record.h"

typedef struct splat_bench_comparison {
    double change, change_low, change_high;      /* of the mean time: +0.05 is 5 % slower; 95 % confidence interval, NaN
                                                    when either has too few times */
    double speedup, speedup_low, speedup_high;   /* baseline's time over the candidate's */
    double seconds_saved;                        /* saved time of 30,000 steps */
    bool is_significant;                         /* the interval does not hold "no change" */
    double quality_loss;                         /* the largest relative loss among PSNR, SSIM and, when both have it
                                                    of the same network, LPIPS; negative: all are better; NaN: one has
                                                    no quality */
} splat_bench_comparison;

/* The speed alone, of two rows for example: quality_loss is NaN. */
void splat_bench_compare_times(const splat_bench_times *baseline, const splat_bench_times *candidate,
                               splat_bench_comparison *comparison);
/* Compares two results of training. */
void splat_bench_compare(const splat_bench_record *baseline, const splat_bench_record *candidate,
                         splat_bench_comparison *comparison);

typedef void (*splat_bench_difference_function)(void *user, const char *sentence);

/* Calls back for everything that makes the comparison unfair: another machine, GPU, driver, scene, resolution, count of
 * Gaussians (by more than 5 %), range of iterations, option, or throttled clocks. */
void splat_bench_list_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                                  splat_bench_difference_function visit, void *user);

/* Same machine, backend, scene and size: figures of others say nothing about each other. */
bool splat_bench_is_comparable(const splat_bench_record *a, const splat_bench_record *b);
/* The two parts of splat_bench_list_differences: what was measured, and clocks held down ("of <whose>"). */
void splat_bench_setting_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                                     splat_bench_difference_function visit, void *user);
void splat_bench_throttling(const splat_bench_record *record, const char *whose, splat_bench_difference_function visit,
                            void *user);

#endif
