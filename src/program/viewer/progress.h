/* The state of a training for the viewer's clients: current figures, and curves. Plain data, and its JSON. */
#ifndef SPLAT_VIEWER_PROGRESS_H
#define SPLAT_VIEWER_PROGRESS_H

#include "base/error.h"

#define SPLAT_VIEWER_POINTS_MAX 512
#define SPLAT_VIEWER_MEASURED_MAX 256
#define SPLAT_VIEWER_BLOCKS_MAX 10

/* A block of the device's memory; of the last one, "all others", the sum. */
typedef struct splat_viewer_block {
    char owner[24], name[40];
    size_t bytes;
} splat_viewer_block;

/* A splat in a file that pages may fetch, and how it is drawn. */
typedef struct splat_viewer_saved {
    uint32_t number;           /* 1, 2 and so on as splats are saved; 0: none was */
    int iteration;             /* iteration of the training; 0: none */
    size_t n_gaussians;
    int sh_degree;             /* degree up to which the file's bands are drawn */
    bool is_mip;               /* the Mip filter, else the classic one, */
    float kernel_size;         /* whose variance is this, pixel^2 */
    float background[3];
} splat_viewer_saved;

typedef struct splat_viewer_status {
    uint32_t n_changes;        /* clients receive it when it has grown */
    uint32_t n_stages;         /* scene and curves are new with each */
    char stage[32];            /* "train"; "": pictures of a splat, no training */
    char result[256];          /* how the training ended; "": it has not */
    char note[256];            /* what happened last: saved where, no memory for a picture; "": nothing */
    bool trains, is_paused, is_over;
    int iteration, iterations;
    double loss;               /* smoothed as the progress line's */
    double rate;               /* steps a second, of the last seconds; 0: not known yet */
    size_t n_gaussians;
    double psnr;               /* of the last evaluation of the test views, */
    int psnr_iteration;        /* after this step; 0: there was none */
    splat_viewer_saved saved;  /* the last one; stays when a stage ends */
    size_t device_bytes;       /* bytes of all blocks */
    size_t n_blocks;
    splat_viewer_block blocks[SPLAT_VIEWER_BLOCKS_MAX];
} splat_viewer_status;

typedef struct splat_viewer_point {
    int iteration;
    double loss;
    size_t n_gaussians;
} splat_viewer_point;

typedef struct splat_viewer_measured {
    int iteration;
    bool is_test;
    double psnr, ssim;
} splat_viewer_measured;

/* Points with the same number of steps between them, which doubles whenever there is no more room. */
typedef struct splat_viewer_curves {
    int interval;              /* 0: 1 */
    size_t n_points, n_measured;
    splat_viewer_point points[SPLAT_VIEWER_POINTS_MAX];
    splat_viewer_measured measured[SPLAT_VIEWER_MEASURED_MAX]; /* the first is left out when there is no more room */
} splat_viewer_curves;

/* A point after each step; those between two intervals are left out. */
void splat_viewer_curves_add(splat_viewer_curves *curves, const splat_viewer_point *point);
void splat_viewer_curves_measure(splat_viewer_curves *curves, const splat_viewer_measured *measured);
/* {"status": {"stage", "stages", "result", "note", "trains", "paused", "over", "iteration", "iterations", "loss",
 * "rate", "left" (seconds; absent: not known), "gaussians", "psnr", "psnr_iteration", "saved" (absent: none), "bytes",
 * "memory": [[owner, name, bytes], ...], "clients"}}. The caller frees; NULL without memory. */
char *splat_viewer_status_json(const splat_viewer_status *status, int n_clients);
/* {"number", "iteration", "gaussians", "filter": "mip" or "classic", "kernel", "background": [r, g, b], "explore":
 * whether the page can draw it}; as above. */
char *splat_viewer_saved_json(const splat_viewer_saved *saved);
/* {"stages": n, "points": [[iteration, loss, Gaussians], ...], "measured": [[iteration, test, PSNR, SSIM], ...]}; as
 * above. */
char *splat_viewer_curves_json(const splat_viewer_curves *curves, uint32_t n_stages);

#endif
