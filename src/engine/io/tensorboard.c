/* Records, protocol buffer fields and the summaries of TensorBoard, written by hand. */
#include "io/tensorboard.h"

#include "io/picture/image_write.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "io/crc32c.h"
#include "math/buckets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_HEAD 12 /* length, its checksum */
#define RECORD_TAIL 4  /* the data's checksum */

/* A record in the making: head, event, tail. Once memory is refused it has failed and takes nothing more. */
typedef struct record {
    uint8_t *data;
    size_t n, capacity;
    bool failed;
} record;

struct splat_tensorboard {
    char *path;
    int file;
    uint64_t file_bytes; /* whole records on the file */
    bool broken;         /* the file could not be cut back to them: it is left alone */
    uint8_t *waiting;    /* [SPLAT_TENSORBOARD_BUFFER] whole records */
    size_t n_waiting;
    double flush_seconds, last_flush;
    record record;
    splat_error fault;   /* the first one */
    bool reported;
    double edges[SPLAT_TENSORBOARD_EDGES];
};

/* ---------------------------------------------------------------- protobuf: varints and fields */

static void put(record *r, const void *data, size_t n)
{
    if (n > r->capacity - r->n && !r->failed) {
        size_t capacity = r->n + n + r->n / 2 + 256;
        uint8_t *grown = realloc(r->data, capacity);
        r->failed = !grown;
        if (grown) r->data = grown, r->capacity = capacity;
    }
    if (r->failed || n == 0) return;
    memcpy(r->data + r->n, data, n);
    r->n += n;
}

static size_t varint(uint8_t bytes[10], uint64_t value)
{
    size_t n = 0;
    for (; value >= 128; value >>= 7) bytes[n++] = (uint8_t)(value | 128);
    bytes[n++] = (uint8_t)value;
    return n;
}

static void put_varint(record *r, uint64_t value)
{
    uint8_t bytes[10];
    put(r, bytes, varint(bytes, value));
}

/* The wire types that are used. */
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void put_key(record *r, unsigned field, unsigned wire)
{
    put_varint(r, field << 3 | wire);
}

static void put_integer(record *r, unsigned field, int64_t value)
{
    put_key(r, field, WIRE_VARINT);
    put_varint(r, (uint64_t)value);
}

static void put_double(record *r, unsigned field, double value)
{
    put_key(r, field, WIRE_64);
    put(r, &value, sizeof value);
}

static void put_bytes(record *r, unsigned field, const void *data, size_t n)
{
    put_key(r, field, WIRE_BYTES);
    put_varint(r, n);
    put(r, data, n);
}

/* A message inside a message: its fields are written in place, and its key and length are inserted before them at the
 * end. Moving the bytes costs little compared with making them. */
static size_t message_begin(const record *r)
{
    return r->n;
}

static void message_end(record *r, unsigned field, size_t begin)
{
    uint8_t key[20];
    size_t n_bytes = r->n - begin, n_key = varint(key, field << 3 | WIRE_BYTES);
    n_key += varint(key + n_key, n_bytes);
    put(r, key, n_key); /* makes room */
    if (r->failed) return;
    memmove(r->data + begin + n_key, r->data + begin, n_bytes);
    memcpy(r->data + begin, key, n_key);
}

static void put_text(record *r, unsigned field, const char *text, const char *suffix)
{
    size_t length = strlen(text);
    put_key(r, field, WIRE_BYTES);
    put_varint(r, length + strlen(suffix)); /* a bad byte becomes one byte */
    for (size_t i = 0, n; i < length; i += n) {
        n = splat_utf8_length((const uint8_t *)text + i);
        put(r, n ? text + i : "?", n ? n : 1);
        n = n ? n : 1;
    }
    put(r, suffix, strlen(suffix));
}

/* ---------------------------------------------------------------- the file */

static uint32_t masked_crc(const void *data, size_t n)
{
    uint32_t crc = splat_crc32c(0, data, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void note_fault(splat_tensorboard *w, splat_status status, const char *reason)
{
    if (w->fault.status != SPLAT_OK) return;
    splat_fail_at(&w->fault, status, w->path, SPLAT_NO_OFFSET,
                  "TensorBoard events could not be written (%s); what is recorded while that lasts will be missing",
                  reason);
}

/* Whole records; those that do not fit are lost, and nothing of them stays on the file. */
static void write_records(splat_tensorboard *w, const uint8_t *data, size_t n)
{
    size_t done = 0;
    while (done < n && !w->broken) {
        ssize_t written = write(w->file, data + done, n - done);
        if (written > 0) {
            done += (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            note_fault(w, SPLAT_ERROR_IO, written == 0 ? "nothing was taken" : strerror(errno));
            w->broken = ftruncate(w->file, (off_t)w->file_bytes) != 0;
            return;
        }
    }
    w->file_bytes += done;
}

static void write_waiting(splat_tensorboard *w)
{
    write_records(w, w->waiting, w->n_waiting);
    w->n_waiting = 0;
    w->last_flush = splat_clock_seconds();
}

void splat_tensorboard_poll(splat_tensorboard *w)
{
    if (w && w->n_waiting && splat_clock_seconds() - w->last_flush >= w->flush_seconds) write_waiting(w);
}

/* ---------------------------------------------------------------- events */

/* Field numbers: tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto, tensor.proto. */
enum {
    EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION_LOG = 7,
    SESSION_LOG_STATUS = 1, SESSION_LOG_START = 1,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_IMAGE = 4, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9,
    IMAGE_HEIGHT = 1, IMAGE_WIDTH = 2, IMAGE_COLORSPACE = 3, IMAGE_ENCODED = 4,
    HISTOGRAM_MIN = 1, HISTOGRAM_MAX = 2, HISTOGRAM_NUM = 3, HISTOGRAM_SUM = 4, HISTOGRAM_SUM_SQUARES = 5,
    HISTOGRAM_LIMIT = 6, HISTOGRAM_BUCKET = 7,
    METADATA_PLUGIN = 1, PLUGIN_NAME = 1,
    TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRING = 8, TYPE_STRING = 7, SHAPE_DIM = 2, DIM_SIZE = 1
};

static double wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static record *event_begin(splat_tensorboard *w, int64_t step)
{
    static const uint8_t head[RECORD_HEAD];
    record *r = &w->record;
    r->n = 0;
    r->failed = false;
    put(r, head, sizeof head);
    put_double(r, EVENT_WALL_TIME, wall_time());
    if (step) put_integer(r, EVENT_STEP, step);
    return r;
}

static void event_end(splat_tensorboard *w)
{
    record *r = &w->record;
    uint64_t n = r->n - RECORD_HEAD;
    uint32_t crc = r->failed ? 0 : masked_crc(r->data + RECORD_HEAD, n);
    put(r, &crc, sizeof crc);
    if (r->failed) {
        note_fault(w, SPLAT_ERROR_MEMORY, "no memory for an event");
    } else {
        memcpy(r->data, &n, sizeof n); /* base/reader.h holds us to little-endian hosts */
        crc = masked_crc(&n, sizeof n);
        memcpy(r->data + sizeof n, &crc, sizeof crc);
        if (r->n > SPLAT_TENSORBOARD_BUFFER - w->n_waiting) write_waiting(w);
        if (r->n > SPLAT_TENSORBOARD_BUFFER) {
            write_records(w, r->data, r->n);
        } else {
            memcpy(w->waiting + w->n_waiting, r->data, r->n);
            w->n_waiting += r->n;
        }
        splat_tensorboard_poll(w);
    }
    if (r->capacity > 65536 || r->failed) { /* a picture's room is not kept */
        free(r->data);
        *r = (record){0};
    }
}

/* An event with one value: event, summary, value; the caller adds the value's content. */
typedef struct value_position {
    size_t summary, value;
} value_position;

static value_position value_begin(splat_tensorboard *w, int64_t step, const char *tag, const char *suffix)
{
    record *r = event_begin(w, step);
    value_position position = {.summary = message_begin(r), .value = message_begin(r)};
    put_text(r, VALUE_TAG, tag, suffix);
    return position;
}

static void value_end(splat_tensorboard *w, value_position position)
{
    message_end(&w->record, SUMMARY_VALUE, position.value);
    message_end(&w->record, EVENT_SUMMARY, position.summary);
    event_end(w);
}

void splat_tensorboard_add_scalar(splat_tensorboard *w, const char *tag, int64_t step, double value)
{
    if (!w) return;
    value_position position = value_begin(w, step, tag, "");
    float simple = (float)value;
    put_key(&w->record, VALUE_SIMPLE, WIRE_32);
    put(&w->record, &simple, sizeof simple);
    value_end(w, position);
}

void splat_tensorboard_edges(double edges[SPLAT_TENSORBOARD_EDGES])
{
    const size_t zero = SPLAT_TENSORBOARD_UNSIGNED_EDGES - 1;
    double edge = 1e-12;
    edges[zero] = 0;
    for (size_t i = 1; i <= zero; i++, edge *= 1.1) {
        edges[zero + i] = edge;
        edges[zero - i] = -edge;
    }
}

void splat_tensorboard_add_buckets(splat_tensorboard *w, const char *tag, int64_t step,
                                   const splat_tensorboard_histogram *h)
{
    size_t first = 0, end = h->n_buckets;
    while (first < end && h->counts[first] == 0) first++;
    while (end > first && h->counts[end - 1] == 0) end--;
    if (!w || first == end) return;
    double num = 0;
    for (size_t i = first; i < end; i++) num += h->counts[i];

    value_position position = value_begin(w, step, tag, "");
    record *r = &w->record;
    size_t histogram = message_begin(r);
    put_double(r, HISTOGRAM_MIN, h->min);
    put_double(r, HISTOGRAM_MAX, h->max);
    put_double(r, HISTOGRAM_NUM, num);
    put_double(r, HISTOGRAM_SUM, h->sum);
    put_double(r, HISTOGRAM_SUM_SQUARES, h->sum_squares);
    /* A bucket is known by its upper limit alone: an empty one in front gives the first its lower limit. */
    put_bytes(r, HISTOGRAM_LIMIT, h->edges + first, (end - first + 1) * sizeof(double));
    size_t buckets = message_begin(r);
    for (size_t i = first; i <= end; i++) {
        double count = i == first ? 0 : h->counts[i - 1];
        put(r, &count, sizeof count);
    }
    message_end(r, HISTOGRAM_BUCKET, buckets);
    message_end(r, VALUE_HISTOGRAM, histogram);
    value_end(w, position);
}

void splat_tensorboard_add_histogram(splat_tensorboard *w, const char *tag, int64_t step, const float *values, size_t n)
{
    if (!w) return;
    uint32_t counts[SPLAT_TENSORBOARD_EDGES - 1] = {0};
    splat_tensorboard_histogram h = {.edges = w->edges, .counts = counts, .n_buckets = SPLAT_TENSORBOARD_EDGES - 1};
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        double value = (double)values[i];
        uint32_t bucket = splat_bucket_of(w->edges, SPLAT_TENSORBOARD_EDGES, value);
        if (bucket >= h.n_buckets) continue;
        counts[bucket]++;
        h.min = any && h.min < value ? h.min : value;
        h.max = any && h.max > value ? h.max : value;
        h.sum += value;
        h.sum_squares += value * value;
        any = true;
    }
    splat_tensorboard_add_buckets(w, tag, step, &h);
}

/* A picture as bytes. */
typedef struct compressed {
    uint8_t *png;
    size_t n;
    splat_error error;
} compressed;

static void compress_image(const char *path, const splat_tensorboard_image *image, compressed *out)
{
    uint8_t *painted = NULL;
    if (!image->rgb) {
        painted = malloc(3 * (size_t)image->width * (size_t)image->height);
        if (!painted) splat_fail_at(&out->error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory for a picture");
        if (!painted) return;
        image->paint(image->user, painted);
    }
    splat_png_encode(path, image->width, image->height, 3, painted ? painted : image->rgb, &out->png, &out->n,
                     &out->error);
    free(painted);
}

static void add_png(splat_tensorboard *w, int64_t step, const splat_tensorboard_image *picture, const compressed *made)
{
    value_position position = value_begin(w, step, picture->tag, "");
    record *r = &w->record;
    size_t image = message_begin(r);
    put_integer(r, IMAGE_HEIGHT, picture->height);
    put_integer(r, IMAGE_WIDTH, picture->width);
    put_integer(r, IMAGE_COLORSPACE, 3);
    put_bytes(r, IMAGE_ENCODED, made->png, made->n);
    message_end(r, VALUE_IMAGE, image);
    value_end(w, position);
}

void splat_tensorboard_add_images(splat_tensorboard *w, int64_t step, const splat_tensorboard_image *images, size_t n,
                                  int threads)
{
    if (!w || n == 0) return;
    compressed *made = calloc(n, sizeof *made);
    if (!made) {
        note_fault(w, SPLAT_ERROR_MEMORY, "no memory for pictures");
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t i = 0; i < n; i++) compress_image(w->path, &images[i], &made[i]);
    for (size_t i = 0; i < n; i++) {
        if (made[i].error.status == SPLAT_OK)
            add_png(w, step, &images[i], &made[i]);
        else
            note_fault(w, made[i].error.status, made[i].error.message);
        free(made[i].png);
    }
    free(made);
}

void splat_tensorboard_add_text(splat_tensorboard *w, const char *tag, int64_t step, const char *text)
{
    if (!w) return;
    value_position position = value_begin(w, step, tag, "/text_summary");
    record *r = &w->record;
    size_t metadata = message_begin(r), plugin = message_begin(r);
    put_bytes(r, PLUGIN_NAME, "text", 4);
    message_end(r, METADATA_PLUGIN, plugin);
    message_end(r, VALUE_METADATA, metadata);
    size_t tensor = message_begin(r);
    put_integer(r, TENSOR_TYPE, TYPE_STRING);
    size_t shape = message_begin(r), dim = message_begin(r);
    put_integer(r, DIM_SIZE, 1);
    message_end(r, SHAPE_DIM, dim);
    message_end(r, TENSOR_SHAPE, shape);
    put_text(r, TENSOR_STRING, text, "");
    message_end(r, VALUE_TENSOR, tensor);
    value_end(w, position);
}

/* ---------------------------------------------------------------- open, flush, close */

/* Runs of one process in the same second get their own numbers. */
static splat_status create_file(splat_tensorboard *w, const char *folder, splat_error *error)
{
    char host[256] = "localhost";
    if (gethostname(host, sizeof host) != 0 || !host[0]) snprintf(host, sizeof host, "localhost");
    host[sizeof host - 1] = 0;
    for (char *c = host; *c; c++)
        if (*c == '/') *c = '_';
    long long seconds = (long long)time(NULL);
    for (int n = 0; n < 1000; n++) {
        free(w->path);
        w->path = splat_format("%s/events.out.tfevents.%010lld.%s.%ld.%d", folder, seconds, host, (long)getpid(), n);
        if (!w->path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        w->file = open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (w->file >= 0) return SPLAT_OK;
        if (errno != EEXIST) break;
    }
    return splat_fail_errno(error, w->path, "create");
}

static void put_first_events(splat_tensorboard *w, int64_t first_step)
{
    static const char version[] = "brain.Event:2";
    record *r = event_begin(w, 0);
    put_bytes(r, EVENT_FILE_VERSION, version, sizeof version - 1);
    event_end(w);
    /* Twice: TensorBoard takes the first start that it sees for the beginning of all, and forgets only at a later one;
     * files of other writers in the folder have none. */
    for (int i = 0; i < 2 && first_step >= 0; i++) {
        r = event_begin(w, first_step);
        size_t session = message_begin(r);
        put_integer(r, SESSION_LOG_STATUS, SESSION_LOG_START);
        message_end(r, EVENT_SESSION_LOG, session);
        event_end(w);
    }
}

static void destroy(splat_tensorboard *w)
{
    if (w->file >= 0) close(w->file);
    free(w->path);
    free(w->waiting);
    free(w->record.data);
    free(w);
}

splat_status splat_tensorboard_open(const char *folder, double flush_seconds, int64_t first_step,
                                    splat_tensorboard **writer, splat_error *error)
{
    *writer = NULL;
    splat_tensorboard *w = calloc(1, sizeof *w);
    if (!w) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a TensorBoard file");
    w->file = -1;
    w->waiting = malloc(SPLAT_TENSORBOARD_BUFFER);
    w->flush_seconds = flush_seconds;
    w->last_flush = splat_clock_seconds();
    splat_tensorboard_edges(w->edges);
    splat_status status = w->waiting ? create_file(w, folder, error)
                                     : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a TensorBoard file");
    if (status == SPLAT_OK) {
        put_first_events(w, first_step);
        status = splat_tensorboard_flush(w, error);
    }
    if (status != SPLAT_OK) {
        if (w->file >= 0) unlink(w->path);
        destroy(w);
        return status;
    }
    *writer = w;
    return SPLAT_OK;
}

const char *splat_tensorboard_path(const splat_tensorboard *writer)
{
    return writer ? writer->path : NULL;
}

static splat_status tell_fault(splat_tensorboard *w, splat_error *error)
{
    if (w->fault.status == SPLAT_OK || w->reported) return SPLAT_OK;
    w->reported = true;
    if (error) *error = w->fault;
    return w->fault.status;
}

splat_status splat_tensorboard_flush(splat_tensorboard *w, splat_error *error)
{
    if (!w) return SPLAT_OK;
    write_waiting(w);
    return tell_fault(w, error);
}

splat_status splat_tensorboard_close(splat_tensorboard *w, splat_error *error)
{
    if (!w) return SPLAT_OK;
    write_waiting(w);
    if (close(w->file) != 0) note_fault(w, SPLAT_ERROR_IO, strerror(errno)); /* a network folder tells late */
    w->file = -1;
    splat_status status = tell_fault(w, error);
    destroy(w);
    return status;
}
