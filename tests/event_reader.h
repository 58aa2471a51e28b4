/* An independent reader of TensorBoard event files for tests: written from the formats (TFRecord, protobuf, CRC-32C),
 * sharing no code with the writer. It fails the test on anything that is not as it must be. */
#ifndef SPLAT_TESTS_EVENT_READER_H
#define SPLAT_TESTS_EVENT_READER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    const uint8_t *data;
    size_t n;
} span;

typedef enum event_kind {
    EVENT_VERSION,
    EVENT_START,
    EVENT_SCALAR,
    EVENT_HISTOGRAM,
    EVENT_IMAGE,
    EVENT_TEXT
} event_kind;

/* Spans point into the file's bytes. */
typedef struct event {
    event_kind kind;
    double wall_time;
    int64_t step;
    char tag[256];
    float scalar;
    span bytes;                   /* version, PNG or text */
    int64_t width, height, colorspace;
    double min, max, num, sum, sum_squares;
    span limits, buckets;         /* packed doubles */
} event;

typedef struct event_file {
    uint8_t *data;
    size_t size, whole_bytes;     /* of the file; of its whole records */
    event *events;
    size_t n;
} event_file;

/* By the polynomial's definition, a bit at a time. */
static inline uint32_t reader_crc32c(const uint8_t *data, size_t n)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint32_t top = (crc ^ (uint32_t)data[i] >> bit) & 1u;
            crc = crc >> 1 ^ (top ? 0x82f63b78u : 0u);
        }
    return crc ^ 0xffffffffu;
}

static inline uint32_t reader_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t reader_u64(const uint8_t *p)
{
    return (uint64_t)reader_u32(p) | (uint64_t)reader_u32(p + 4) << 32;
}

static inline double reader_double(const uint8_t *p)
{
    uint64_t bits = reader_u64(p);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The mask undone: rotate left by 15 after taking the constant off. */
static inline uint32_t reader_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;
    return rotated << 15 | rotated >> 17;
}

static inline uint64_t reader_varint(span *s)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (s->n == 0) fail_msg("a varint is cut off");
        uint8_t byte = *s->data++;
        s->n--;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    fail_msg("a varint of more than ten bytes");
    return 0;
}

static inline span reader_take(span *s, uint64_t n)
{
    if (n > s->n) fail_msg("%" PRIu64 " bytes are announced, %zu are left", n, s->n);
    span taken = {s->data, (size_t)n};
    s->data += n;
    s->n -= (size_t)n;
    return taken;
}

typedef struct field {
    unsigned number, wire;
    uint64_t value; /* wire 0 */
    span bytes;     /* the others */
} field;

/* The next field; false at the end of the message. */
static inline bool reader_field(span *s, field *f)
{
    if (s->n == 0) return false;
    uint64_t key = reader_varint(s);
    *f = (field){.number = (unsigned)(key >> 3), .wire = (unsigned)(key & 7)};
    if (f->wire == 0)
        f->value = reader_varint(s);
    else if (f->wire == 1)
        f->bytes = reader_take(s, 8);
    else if (f->wire == 5)
        f->bytes = reader_take(s, 4);
    else if (f->wire == 2)
        f->bytes = reader_take(s, reader_varint(s));
    else
        fail_msg("wire type %u", f->wire);
    return true;
}

/* The only field of a message, which must have this number and wire type. */
static inline field reader_only(span message, unsigned number, unsigned wire)
{
    field f = {0}, more;
    if (!reader_field(&message, &f) || f.number != number || f.wire != wire || reader_field(&message, &more))
        fail_msg("not a message with field %u alone", number);
    return f;
}

static inline void reader_image(span message, event *e)
{
    field f;
    e->kind = EVENT_IMAGE;
    while (reader_field(&message, &f)) {
        if (f.number == 1 && f.wire == 0) e->height = (int64_t)f.value;
        else if (f.number == 2 && f.wire == 0) e->width = (int64_t)f.value;
        else if (f.number == 3 && f.wire == 0) e->colorspace = (int64_t)f.value;
        else if (f.number == 4 && f.wire == 2) e->bytes = f.bytes;
        else fail_msg("field %u of an image", f.number);
    }
}

static inline void reader_histogram(span message, event *e)
{
    field f;
    double *const figures[5] = {&e->min, &e->max, &e->num, &e->sum, &e->sum_squares};
    e->kind = EVENT_HISTOGRAM;
    while (reader_field(&message, &f)) {
        if (f.number >= 1 && f.number <= 5 && f.wire == 1) *figures[f.number - 1] = reader_double(f.bytes.data);
        else if (f.number == 6 && f.wire == 2) e->limits = f.bytes;
        else if (f.number == 7 && f.wire == 2) e->buckets = f.bytes;
        else fail_msg("field %u of a histogram", f.number);
    }
}

/* A DT_STRING tensor of shape [1]. */
static inline void reader_text(span message, event *e)
{
    field f;
    unsigned seen = 0;
    e->kind = EVENT_TEXT;
    while (reader_field(&message, &f)) {
        seen |= 1u << f.number;
        if (f.number == 1 && f.wire == 0) assert_int_equal(f.value, 7);
        else if (f.number == 2) assert_int_equal(reader_only(reader_only(f.bytes, 2, 2).bytes, 1, 0).value, 1);
        else if (f.number == 8 && f.wire == 2) e->bytes = f.bytes;
        else fail_msg("field %u of a tensor", f.number);
    }
    assert_int_equal(seen, 1u << 1 | 1u << 2 | 1u << 8);
}

static inline void reader_value(span message, event *e)
{
    field f;
    bool text_plugin = false;
    while (reader_field(&message, &f)) {
        if (f.number == 1 && f.wire == 2) {
            assert_true(f.bytes.n < sizeof e->tag);
            memcpy(e->tag, f.bytes.data, f.bytes.n);
        } else if (f.number == 2 && f.wire == 5) {
            uint32_t bits = reader_u32(f.bytes.data);
            memcpy(&e->scalar, &bits, sizeof bits);
            e->kind = EVENT_SCALAR;
        } else if (f.number == 4) {
            reader_image(f.bytes, e);
        } else if (f.number == 5) {
            reader_histogram(f.bytes, e);
        } else if (f.number == 8) {
            reader_text(f.bytes, e);
        } else if (f.number == 9) {
            span name = reader_only(reader_only(f.bytes, 1, 2).bytes, 1, 2).bytes;
            assert_int_equal(name.n, 4);
            assert_memory_equal(name.data, "text", 4);
            text_plugin = true;
        } else {
            fail_msg("field %u of a value", f.number);
        }
    }
    assert_int_equal(text_plugin, e->kind == EVENT_TEXT);
}

static inline event reader_event(span message)
{
    event e = {0};
    field f;
    unsigned seen = 0;
    while (reader_field(&message, &f)) {
        if (seen & 1u << f.number) fail_msg("field %u twice", f.number);
        seen |= 1u << f.number;
        if (f.number == 1 && f.wire == 1) {
            e.wall_time = reader_double(f.bytes.data);
        } else if (f.number == 2 && f.wire == 0) {
            e.step = (int64_t)f.value;
        } else if (f.number == 3 && f.wire == 2) {
            e.kind = EVENT_VERSION;
            e.bytes = f.bytes;
        } else if (f.number == 5 && f.wire == 2) {
            reader_value(reader_only(f.bytes, 1, 2).bytes, &e);
        } else if (f.number == 7) {
            assert_int_equal(reader_only(f.bytes, 1, 0).value, 1); /* START */
            e.kind = EVENT_START;
        } else {
            fail_msg("field %u of an event", f.number);
        }
    }
    assert_true(seen & 1u << 1);
    return e;
}

/* Every whole record; a torn one at the end is left out, anything else wrong fails the test. */
static inline event_file event_file_parse(uint8_t *data, size_t size)
{
    event_file file = {.data = data, .size = size};
    size_t at = 0, capacity = 0;
    while (size - at >= 12) {
        uint64_t n = reader_u64(data + at);
        assert_int_equal(reader_unmask(reader_u32(data + at + 8)), reader_crc32c(data + at, 8));
        if (n > size - at - 12 || size - at - 12 - n < 4) break;
        assert_int_equal(reader_unmask(reader_u32(data + at + 12 + n)), reader_crc32c(data + at + 12, (size_t)n));
        if (file.n == capacity) {
            capacity = 2 * capacity + 64;
            file.events = realloc(file.events, capacity * sizeof *file.events);
            assert_non_null(file.events);
        }
        file.events[file.n++] = reader_event((span){data + at + 12, (size_t)n});
        at += (size_t)n + 16;
    }
    file.whole_bytes = at;
    assert_true(file.n > 0 && file.events[0].kind == EVENT_VERSION && file.events[0].bytes.n == 13);
    assert_memory_equal(file.events[0].bytes.data, "brain.Event:2", 13);
    return file;
}

static inline event_file event_file_read(const char *path)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    size_t size = (size_t)ftell(stream);
    rewind(stream);
    uint8_t *data = malloc(size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, size, stream), size);
    fclose(stream);
    return event_file_parse(data, size);
}

static inline void event_file_free(event_file *file)
{
    free(file->data);
    free(file->events);
}

/* The only event of a tag at a step; NULL when there is none. */
static inline const event *event_find(const event_file *file, const char *tag, int64_t step)
{
    const event *found = NULL;
    for (size_t i = 0; i < file->n; i++) {
        if (strcmp(file->events[i].tag, tag) != 0 || file->events[i].step != step) continue;
        if (found) fail_msg("%s is there twice at step %" PRId64, tag, step);
        found = &file->events[i];
    }
    return found;
}

#endif
