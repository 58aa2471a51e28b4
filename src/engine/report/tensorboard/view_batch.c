/* Copies of views, handed on when there are enough. */
#include "report/tensorboard/view_batch.h"

#include <stdlib.h>
#include <string.h>

/* Copies an array to `at` and returns where the next one begins. */
static uint8_t *keep(uint8_t *at, const void *data, size_t bytes)
{
    memcpy(at, data, bytes);
    return at + bytes;
}

void splat_view_batch_flush(splat_view_batch *b)
{
    if (b->n) b->take(b->user, b->views, b->n);
    for (size_t i = 0; i < b->n; i++) free(b->data[i]);
    b->n = b->bytes = 0;
}

void splat_view_batch_add(splat_view_batch *b, const splat_report_view *view)
{
    size_t n = (size_t)view->width * (size_t)view->height, render = 3 * n * sizeof *view->render, photo = 3 * n;
    size_t blended = view->blended ? n * sizeof *view->blended : 0, bytes = render + blended + photo;
    if (b->n == SPLAT_TENSORBOARD_VIEWS || b->bytes + bytes > SPLAT_VIEW_BATCH_BYTES) splat_view_batch_flush(b);
    uint8_t *data = bytes <= SPLAT_VIEW_BATCH_BYTES ? malloc(bytes) : NULL;
    if (!data) {
        splat_view_batch_flush(b); /* they come before it */
        b->take(b->user, view, 1);
        return;
    }
    splat_report_view *kept = &b->views[b->n];
    *kept = *view;
    kept->render = (const float *)(void *)data;
    uint8_t *next = keep(data, view->render, render);
    kept->blended = blended ? (const uint32_t *)(void *)next : NULL;
    if (blended) next = keep(next, view->blended, blended);
    kept->photo = next;
    keep(next, view->photo, photo);
    b->data[b->n++] = data;
    b->bytes += bytes;
}
