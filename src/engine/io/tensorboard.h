/* TensorBoard event files: scalars, histograms, pictures and text, as TensorBoard's own reader takes them.
 *
 * The file is append-only and holds whole records: TFRecord framing (length, masked CRC-32C, data, masked CRC-32C)
 * around Event messages of tensorflow/core/util/event.proto. A reader of the file of a run that was killed sees every
 * record up to the last flush, and at worst a torn one after it, which readers ignore.
 *
 * Adding never fails and never waits for more than a write: a run must not end because of its curves. What cannot be
 * written (a full disk) is left out, the file is cut back to its last whole record, and writing goes on when there is
 * room again. The first such fault is reported once, by the next splat_tensorboard_flush or splat_tensorboard_close.
 *
 * NULL as the writer is allowed everywhere and does nothing. One thread at a time.
 */
#ifndef SPLAT_IO_TENSORBOARD_H
#define SPLAT_IO_TENSORBOARD_H

#include "base/error.h"

typedef struct splat_tensorboard splat_tensorboard;

/* Bytes that wait at most; a record that is larger is written at once. */
#define SPLAT_TENSORBOARD_BUFFER ((size_t)1 << 20)
#define SPLAT_TENSORBOARD_FLUSH_SECONDS 10.0
#define SPLAT_TENSORBOARD_BESIDE (-1)

/* Creates <folder>/events.out.tfevents.<seconds>.<hostname>.<pid>.<n>; the folder must exist. n is 0, or the first
 * number without a file. flush_seconds: values that wait longer are written at the next add or poll. first_step:
 * TensorBoard drops the values of older files in the folder from that step on: 0 for a new run, more for one that
 * goes on there, SPLAT_TENSORBOARD_BESIDE for values in addition to those of a run, which stay. */
splat_status splat_tensorboard_open(const char *folder, double flush_seconds, int64_t first_step,
                                    splat_tensorboard **writer, splat_error *error);
/* The path of the file; lives as long as the writer. */
const char *splat_tensorboard_path(const splat_tensorboard *writer);

/* Tags and text are UTF-8; bytes that are not become '?', as a reader would refuse the whole file. */
void splat_tensorboard_add_scalar(splat_tensorboard *writer, const char *tag, int64_t step, double value);

/* The buckets of TensorBoard's writers: -1e20 ... -1e-12, 0, 1e-12 ... 1e20, each limit 1.1 times the one before.
 * The last SPLAT_TENSORBOARD_UNSIGNED_EDGES of them, from 0 on, are for values that are never negative. */
#define SPLAT_TENSORBOARD_UNSIGNED_EDGES 775
#define SPLAT_TENSORBOARD_EDGES (2 * SPLAT_TENSORBOARD_UNSIGNED_EDGES - 1)
void splat_tensorboard_edges(double edges[SPLAT_TENSORBOARD_EDGES]);

/* Bucket i holds edges[i] <= value < edges[i + 1]. The other figures are of the values in the buckets. */
typedef struct splat_tensorboard_histogram {
    double min, max, sum, sum_squares;
    const double *edges;    /* [n_buckets + 1], ascending */
    const uint32_t *counts; /* [n_buckets] */
    size_t n_buckets;
} splat_tensorboard_histogram;

/* Counts made elsewhere, on a device for instance. A histogram without any value is left out. */
void splat_tensorboard_add_buckets(splat_tensorboard *writer, const char *tag, int64_t step,
                                   const splat_tensorboard_histogram *histogram);
/* Counted here. Values beyond the edges, infinities and NaN are left out. n < 2^32. */
void splat_tensorboard_add_histogram(splat_tensorboard *writer, const char *tag, int64_t step, const float *values,
                                     size_t n);

/* A picture, stored as a PNG. It is given, or painted when its turn has come, so that few are in memory. */
typedef struct splat_tensorboard_image {
    const char *tag;
    int width, height;
    const uint8_t *rgb; /* [height][width][3]; NULL: paint makes it */
    void (*paint)(const void *user, uint8_t *rgb); /* called by any thread */
    const void *user;
} splat_tensorboard_image;
/* The pictures of a step, painted and compressed by as many threads and written in their order. */
void splat_tensorboard_add_images(splat_tensorboard *writer, int64_t step, const splat_tensorboard_image *images,
                                  size_t n, int threads);
/* Markdown, under the tag <tag>/text_summary of the text plugin. */
void splat_tensorboard_add_text(splat_tensorboard *writer, const char *tag, int64_t step, const char *text);

/* Writes what waits once it has waited for flush_seconds: to be called now and then while nothing is added. */
void splat_tensorboard_poll(splat_tensorboard *writer);
/* Hands what waits to the operating system. Fails (IO or MEMORY, naming the file) for the first fault since the file
 * was opened that was not reported yet, be it of this call or of an earlier add; the writer stays usable. */
splat_status splat_tensorboard_flush(splat_tensorboard *writer, splat_error *error);
/* The same, then gives the writer back, also on failure. */
splat_status splat_tensorboard_close(splat_tensorboard *writer, splat_error *error);

#endif
