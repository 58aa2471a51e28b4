/* Views of an evaluation on their way to pictures: several are kept, so that all their pictures are compressed at the
 * same time. */
#ifndef SPLAT_OBSERVE_VIEW_BATCH_H
#define SPLAT_OBSERVE_VIEW_BATCH_H

#include "report/tensorboard/tensorboard_report.h"

#define SPLAT_VIEW_BATCH_BYTES ((size_t)64 << 20)

typedef void (*splat_view_batch_function)(void *user, const splat_report_view *views, size_t n);

typedef struct splat_view_batch {
    splat_report_view views[SPLAT_TENSORBOARD_VIEWS]; /* names are borrowed; pictures are copies in data */
    uint8_t *data[SPLAT_TENSORBOARD_VIEWS];
    size_t n, bytes;
    splat_view_batch_function take; /* gets the views when there are enough */
    void *user;
} splat_view_batch;

/* Keeps a copy of the view. It goes on at once when it is too large to be kept with others, or there is no memory. */
void splat_view_batch_add(splat_view_batch *batch, const splat_report_view *view);
/* Hands on what is kept: at the end of a set. */
void splat_view_batch_flush(splat_view_batch *batch);

#endif
