/* Event files, read back by a reader of its own (event_reader.h). */
#include "base/file.h"
#include "check.h"
#include "io/crc32c.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/tensorboard.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "event_reader.h"

static splat_tensorboard *open_run(const char *folder, double flush_seconds)
{
    splat_error error;
    splat_tensorboard *writer;
    ASSERT_OK(splat_folder_delete(folder, &error));
    ASSERT_OK(splat_folder_create(folder, &error));
    ASSERT_OK(splat_tensorboard_open(folder, flush_seconds, SPLAT_TENSORBOARD_BESIDE, &writer, &error));
    return writer;
}

static size_t bytes_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (size_t)status.st_size;
}

/* Closes the writer and reads its file. */
static event_file close_and_read(splat_tensorboard *writer)
{
    splat_error error;
    char *path = strdup(splat_tensorboard_path(writer));
    ASSERT_OK(splat_tensorboard_close(writer, &error));
    event_file file = event_file_read(path);
    assert_int_equal(file.whole_bytes, file.size);
    free(path);
    return file;
}

/* RFC 3720, B.4. */
static void checksums_of_rfc_3720(void **state)
{
    (void)state;
    uint8_t bytes[32];
    memset(bytes, 0, 32);
    assert_int_equal(splat_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(splat_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)i;
    assert_int_equal(splat_crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(splat_crc32c(splat_crc32c(0, bytes, 11), bytes + 11, 21), 0x46dd794e);
    for (int i = 0; i < 32; i++) bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(splat_crc32c(0, bytes, 32), 0x113fdb5c);
    const uint8_t read_command[48] = {0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28,
                                      [40] = 0x02};
    assert_int_equal(splat_crc32c(0, read_command, 48), 0xd9963a56);
    assert_int_equal(splat_crc32c(0, "123456789", 9), 0xe3069283); /* the check value of CRC catalogues */
    assert_int_equal(reader_crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
}

static void scalars_come_back(void **state)
{
    (void)state;
    double before = (double)time(NULL) - 1;
    splat_tensorboard *writer = open_run("scalars", 10);
    char host[256], expected[700];
    assert_int_equal(gethostname(host, sizeof host), 0);
    const char *name = splat_basename(splat_tensorboard_path(writer));
    long long seconds = 0;
    assert_int_equal(sscanf(name, "events.out.tfevents.%lld.", &seconds), 1);
    snprintf(expected, sizeof expected, "events.out.tfevents.%010lld.%s.%ld.0", seconds, host, (long)getpid());
    assert_string_equal(name, expected);

    splat_tensorboard_add_scalar(writer, "1_train/l1_loss", 50, 0.125);
    splat_tensorboard_add_scalar(writer, "test/loss_viewpoint - psnr", 30000, 31.5);
    splat_tensorboard_add_scalar(writer, "large step", INT64_C(1) << 40, -1e30);
    splat_tensorboard_add_scalar(writer, "nan", 0, NAN);
    /* Not UTF-8: a lone continuation, an overlong slash, a surrogate, a cut character; then two that are. */
    splat_tensorboard_add_scalar(writer, "\x80 \xc0\xaf \xed\xa0\x80 \xc3\xa9 \xf0\x9f\x98\x80 \xe2\x82", 1, 1);
    event_file file = close_and_read(writer);
    assert_int_equal(file.n, 6);
    assert_true(event_find(&file, "1_train/l1_loss", 50)->scalar == 0.125f);
    assert_true(event_find(&file, "test/loss_viewpoint - psnr", 30000)->scalar == 31.5f);
    assert_true(event_find(&file, "large step", INT64_C(1) << 40)->scalar == -1e30f);
    assert_true(isnan(event_find(&file, "nan", 0)->scalar));
    assert_non_null(event_find(&file, "? ?? ??? \xc3\xa9 \xf0\x9f\x98\x80 ??", 1));
    for (size_t i = 0; i < file.n; i++) {
        assert_true(file.events[i].wall_time > before && file.events[i].wall_time < before + 600);
        if (i > 1) assert_int_equal(file.events[i].kind, EVENT_SCALAR);
    }
    event_file_free(&file);
}

static void text_comes_back(void **state)
{
    (void)state;
    splat_tensorboard *writer = open_run("text", 10);
    static char large[100001];
    memset(large, 'x', 100000);
    splat_tensorboard_add_text(writer, "Config/01_Dataset", 0, "**photos**: 12\n\n| a | b |");
    splat_tensorboard_add_text(writer, "large", 7, large);
    splat_tensorboard_add_text(writer, "empty", 0, "");
    event_file file = close_and_read(writer);
    const event *e = event_find(&file, "Config/01_Dataset/text_summary", 0);
    assert_int_equal(e->kind, EVENT_TEXT);
    assert_int_equal(e->bytes.n, strlen("**photos**: 12\n\n| a | b |"));
    assert_memory_equal(e->bytes.data, "**photos**: 12\n\n| a | b |", e->bytes.n);
    e = event_find(&file, "large/text_summary", 7);
    assert_int_equal(e->bytes.n, 100000);
    assert_memory_equal(e->bytes.data, large, 100000);
    assert_int_equal(event_find(&file, "empty/text_summary", 0)->bytes.n, 0);
    event_file_free(&file);
}

enum { WIDTH = 37, HEIGHT = 21 };

static void paint(const void *user, uint8_t *rgb)
{
    memcpy(rgb, user, 3 * WIDTH * HEIGHT);
}

static void pictures_come_back(void **state)
{
    (void)state;
    uint8_t rgb[3 * WIDTH * HEIGHT];
    splat_error error;
    splat_image image;
    for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = (uint8_t)(i * i / 7);
    splat_tensorboard *writer = open_run("pictures", 10);
    const splat_tensorboard_image pictures[3] = {
        {.tag = "test_view_0001/render", .width = WIDTH, .height = HEIGHT, .paint = paint, .user = rgb},
        {.tag = "second", .width = 1, .height = 2, .rgb = rgb},
        {.tag = "third", .width = 0, .height = 2, .rgb = rgb}};
    splat_tensorboard_add_images(writer, 7000, pictures, 3, 2);
    assert_int_equal(splat_tensorboard_flush(writer, &error), SPLAT_ERROR_ARGUMENT); /* the third is reported */
    assert_non_null(strstr(error.message, "0 x 2 pixels"));
    event_file file = close_and_read(writer);
    assert_int_equal(file.n, 3);
    assert_true(event_find(&file, "second", 7000)->width == 1 && event_find(&file, "second", 7000)->height == 2);
    const event *e = event_find(&file, "test_view_0001/render", 7000);
    assert_int_equal(e->kind, EVENT_IMAGE);
    assert_int_equal(e->width, WIDTH);
    assert_int_equal(e->height, HEIGHT);
    assert_int_equal(e->colorspace, 3);
    ASSERT_OK(splat_image_decode("event", e->bytes.data, e->bytes.n, &image, &error));
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.channels, 3);
    assert_memory_equal(image.pixels, rgb, sizeof rgb);
    splat_image_free(&image);
    event_file_free(&file);
}

static double at(span doubles, size_t i)
{
    return reader_double(doubles.data + 8 * i);
}

static void histograms_come_back(void **state)
{
    (void)state;
    /* The last four do not count. */
    const float values[] = {-0.25f, 0, 1, 1, 1, 7, NAN, INFINITY, -INFINITY, 3e20f};
    splat_tensorboard *writer = open_run("histograms", 10);
    splat_tensorboard_add_histogram(writer, "h", 3, values, 10);
    splat_tensorboard_add_histogram(writer, "one", 3, values + 5, 1);
    splat_tensorboard_add_histogram(writer, "none", 3, values + 6, 4);
    splat_tensorboard_add_histogram(writer, "none", 4, NULL, 0);
    const double edges[] = {0, 1, 2, 3, 4};
    const uint32_t counts[] = {0, 5, 0, 2};
    splat_tensorboard_histogram given = {1.5, 3.5, 14, 36, edges, counts, 4};
    splat_tensorboard_add_buckets(writer, "given", 9, &given);
    event_file file = close_and_read(writer);
    assert_int_equal(file.n, 4);

    const event *e = event_find(&file, "h", 3);
    assert_int_equal(e->kind, EVENT_HISTOGRAM);
    assert_true(e->min == -0.25 && e->max == 7 && e->num == 6 && e->sum == 9.75 && e->sum_squares == 52.0625);
    assert_int_equal(e->limits.n, e->buckets.n);
    size_t n = e->limits.n / 8, n_counted = 0;
    /* Each value lies between the limit before its bucket and its own; the first and the last bucket are the ends. */
    assert_true(at(e->buckets, 0) == 0 && at(e->limits, 0) <= -0.25 && at(e->limits, 1) > -0.25);
    assert_true(at(e->buckets, n - 1) == 1 && at(e->limits, n - 2) <= 7 && at(e->limits, n - 1) > 7);
    for (size_t i = 1; i < n; i++) {
        double low = at(e->limits, i - 1), high = at(e->limits, i), expected = 0;
        assert_true(low < high);
        /* a tenth apart, but around zero */
        if (fabs(low) > 1e-12 && fabs(high) > 1e-12)
            assert_true(fabs(fmax(fabs(low), fabs(high)) / fmin(fabs(low), fabs(high)) - 1.1) < 1e-9);
        for (int k = 0; k < 6; k++) expected += (double)values[k] >= low && (double)values[k] < high;
        assert_true(at(e->buckets, i) == expected);
        n_counted += (size_t)expected;
    }
    assert_int_equal(n_counted, 6);

    e = event_find(&file, "one", 3);
    assert_int_equal(e->limits.n, 16);
    assert_true(at(e->limits, 0) <= 7 && at(e->limits, 1) > 7 && at(e->buckets, 0) == 0 && at(e->buckets, 1) == 1);

    e = event_find(&file, "given", 9);
    assert_int_equal(e->limits.n, 32);
    for (size_t i = 0; i < 4; i++) {
        const double limits[] = {1, 2, 3, 4}, buckets[] = {0, 5, 0, 2};
        assert_true(at(e->limits, i) == limits[i] && at(e->buckets, i) == buckets[i]);
    }
    assert_true(e->min == 1.5 && e->max == 3.5 && e->num == 7 && e->sum == 14 && e->sum_squares == 36);
    event_file_free(&file);

    double all[SPLAT_TENSORBOARD_EDGES];
    splat_tensorboard_edges(all);
    const double *from_zero = all + SPLAT_TENSORBOARD_EDGES - SPLAT_TENSORBOARD_UNSIGNED_EDGES;
    assert_true(from_zero[0] == 0 && from_zero[1] == 1e-12 && all[0] < -9e19 && all[0] > -1e20);
    for (size_t i = 1; i < SPLAT_TENSORBOARD_EDGES; i++) assert_true(all[i] > all[i - 1]);
}

/* Every prefix of the file, as a kill or a copy of a file in work leaves it. */
static void whole_records_survive_a_cut(void **state)
{
    (void)state;
    splat_tensorboard *writer = open_run("cut", 10);
    for (int i = 1; i <= 5; i++) splat_tensorboard_add_scalar(writer, "value", i, i);
    splat_tensorboard_add_text(writer, "text", 6, "text");
    event_file file = close_and_read(writer);
    size_t first = 12 + (size_t)reader_u64(file.data) + 4, n_before = 1;
    for (size_t size = first; size <= file.size; size++) {
        uint8_t *copy = malloc(size);
        memcpy(copy, file.data, size);
        event_file part = event_file_parse(copy, size);
        assert_true(part.n == n_before || part.n == n_before + 1);
        assert_true(part.whole_bytes <= size);
        for (size_t i = 1; i < part.n && i <= 5; i++) assert_true(part.events[i].scalar == (float)i);
        n_before = part.n;
        event_file_free(&part);
    }
    assert_int_equal(n_before, 7);
    event_file_free(&file);
}

/* A process that ends without closing: what was flushed exists, what waited does not, nothing is torn. */
static void flushed_records_survive_a_kill(void **state)
{
    (void)state;
    splat_error error;
    char **names;
    size_t n;
    ASSERT_OK(splat_folder_delete("kill", &error));
    ASSERT_OK(splat_folder_create("kill", &error));
    pid_t child = fork();
    if (child == 0) {
        splat_tensorboard *writer;
        if (splat_tensorboard_open("kill", 10, SPLAT_TENSORBOARD_BESIDE, &writer, NULL) != SPLAT_OK) _exit(1);
        for (int i = 1; i <= 1000; i++) splat_tensorboard_add_scalar(writer, "value", i, i);
        if (splat_tensorboard_flush(writer, NULL) != SPLAT_OK) _exit(1);
        for (int i = 1001; i <= 1010; i++) splat_tensorboard_add_scalar(writer, "value", i, i);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    ASSERT_OK(splat_folder_list("kill", &names, &n, &error));
    assert_int_equal(n, 1);
    char *path = splat_format("kill/%s", names[0]);
    event_file file = event_file_read(path);
    assert_int_equal(file.n, 1001);
    assert_int_equal(file.whole_bytes, file.size);
    event_file_free(&file);
    free(path);
    splat_names_free(names, n);
}

/* Pending bytes wait in memory: never more than the bound, also with records larger than it. */
static void the_buffer_is_bounded(void **state)
{
    (void)state;
    assert_true(SPLAT_TENSORBOARD_BUFFER <= 4 << 20);
    splat_tensorboard *writer = open_run("bound", 1e9);
    size_t before = bytes_of(splat_tensorboard_path(writer)), record, most = 0, least = SIZE_MAX;
    splat_error error;
    splat_tensorboard_add_scalar(writer, "value", 1, 1);
    ASSERT_OK(splat_tensorboard_flush(writer, &error));
    record = bytes_of(splat_tensorboard_path(writer)) - before;
    for (size_t i = 2; i < 100000; i++) {
        splat_tensorboard_add_scalar(writer, "value", 1, (double)i); /* all of one size */
        size_t waiting = before + i * record - bytes_of(splat_tensorboard_path(writer));
        most = waiting > most ? waiting : most;
        least = i > 1000 && waiting < least ? waiting : least;
    }
    assert_true(most <= SPLAT_TENSORBOARD_BUFFER && most > SPLAT_TENSORBOARD_BUFFER / 2); /* few writes, too */
    assert_true(least < 1000);

    size_t n_large = SPLAT_TENSORBOARD_BUFFER + 1000;
    char *large = malloc(n_large + 1);
    memset(large, 'x', n_large);
    large[n_large] = 0;
    splat_tensorboard_add_text(writer, "large", 2, large);
    size_t written = bytes_of(splat_tensorboard_path(writer));
    free(large);
    assert_true(written > before + 99999 * record + n_large); /* nothing waits */
    splat_tensorboard_add_scalar(writer, "value", 3, 3);
    event_file file = close_and_read(writer);
    assert_int_equal(file.n, 1 + 99999 + 2);
    assert_true(file.events[file.n - 1].step == 3 && file.events[99999].scalar == 99999.0f);
    event_file_free(&file);
}

static void the_timer_flushes(void **state)
{
    (void)state;
    splat_tensorboard *writer = open_run("timer", 0.3);
    const char *path = splat_tensorboard_path(writer);
    size_t before = bytes_of(path);
    assert_true(before > 0); /* the version is written at once: a reader knows the file */
    splat_tensorboard_add_scalar(writer, "value", 1, 1);
    assert_int_equal(bytes_of(path), before);
    nanosleep(&(struct timespec){.tv_nsec = 350000000}, NULL);
    splat_tensorboard_add_scalar(writer, "value", 2, 2);
    size_t flushed = bytes_of(path);
    assert_true(flushed > before);
    splat_tensorboard_add_scalar(writer, "value", 3, 3);
    assert_int_equal(bytes_of(path), flushed);
    splat_tensorboard_poll(writer); /* too early */
    assert_int_equal(bytes_of(path), flushed);
    nanosleep(&(struct timespec){.tv_nsec = 350000000}, NULL);
    splat_tensorboard_poll(writer); /* slow steps: nothing is added for long */
    assert_true(bytes_of(path) > flushed);
    event_file file = close_and_read(writer);
    assert_int_equal(file.n, 4);
    event_file_free(&file);
}

/* A new run drops older values, a resumed run drops later ones, and values next to a run drop none. */
static void a_run_says_where_it_begins(void **state)
{
    (void)state;
    splat_error error;
    splat_tensorboard *first = open_run("resumed", 10), *second, *fresh;
    ASSERT_OK(splat_tensorboard_open("resumed", 10, 7001, &second, &error));
    assert_string_not_equal(splat_tensorboard_path(first), splat_tensorboard_path(second));
    splat_tensorboard_add_scalar(second, "value", 7001, 1);
    event_file file = close_and_read(second);
    assert_int_equal(file.n, 4);
    for (int i = 1; i < 3; i++) /* the first one that TensorBoard sees in a folder changes nothing */
        assert_true(file.events[i].kind == EVENT_START && file.events[i].step == 7001);
    event_file_free(&file);
    file = close_and_read(first);
    assert_int_equal(file.n, 1);
    event_file_free(&file);
    ASSERT_OK(splat_tensorboard_open("resumed", 10, 0, &fresh, &error));
    file = close_and_read(fresh);
    assert_int_equal(file.n, 3);
    assert_true(file.events[2].kind == EVENT_START && file.events[2].step == 0);
    event_file_free(&file);
}

/* A file that may not grow stands for a full disk: reported once, nothing torn, and it goes on when there is room. */
static void a_full_disk_is_told_once(void **state)
{
    (void)state;
    splat_error error = {0};
    splat_tensorboard *writer = open_run("full", 1e9);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    splat_tensorboard_add_scalar(writer, "value", 1, 1);
    ASSERT_OK(splat_tensorboard_flush(writer, &error));
    small = (struct rlimit){bytes_of(splat_tensorboard_path(writer)) + 100, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 2; i < 30; i++) splat_tensorboard_add_scalar(writer, "value", i, i);
    splat_status reported = splat_tensorboard_flush(writer, &error);
    for (int i = 30; i < 60; i++) splat_tensorboard_add_scalar(writer, "value", i, i);
    splat_status again = splat_tensorboard_flush(writer, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(reported, SPLAT_ERROR_IO);
    assert_int_equal(again, SPLAT_OK);
    assert_string_equal(error.file, splat_tensorboard_path(writer));
    assert_non_null(strstr(error.message, "File too large"));
    splat_tensorboard_add_scalar(writer, "value", 60, 60);
    event_file file = close_and_read(writer); /* closing says nothing more */
    assert_int_equal(file.n, 3);
    assert_int_equal(file.events[2].step, 60);
    event_file_free(&file);
}

/* Records of all kinds, flushed each. Returns whether a loss was reported. */
static bool add_until_full(splat_tensorboard *writer)
{
    static const uint8_t picture[3 * 4 * 4] = {0};
    const splat_tensorboard_image image = {.tag = "image", .width = 4, .height = 4, .rgb = picture};
    bool reported = false;
    for (int i = 1; i <= 4; i++) {
        splat_error error = {0};
        splat_tensorboard_add_scalar(writer, "value", i, i);
        if (i == 2) splat_tensorboard_add_text(writer, "text", i, "words");
        if (i == 3) splat_tensorboard_add_images(writer, i, &image, 1, 1);
        if (splat_tensorboard_flush(writer, &error) == SPLAT_OK) continue;
        assert_false(reported); /* once */
        reported = true;
        assert_int_equal(error.status, SPLAT_ERROR_IO);
        assert_string_equal(error.file, splat_tensorboard_path(writer));
    }
    return reported;
}

/* At every byte: opening fails and leaves no file, or what is read are whole records in their order, all of them unless
 * a loss was reported. */
static void a_disk_may_be_full_at_any_byte(void **state)
{
    (void)state;
    splat_error error = {0};
    struct rlimit old, small;
    size_t n_refused = 0, n_lost = 0;
    const size_t n_whole = 1 + 4 + 2;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (bool whole = false; !whole;) {
        splat_tensorboard *writer = NULL;
        char **names;
        size_t n;
        ASSERT_OK(splat_folder_delete("bytes", &error));
        ASSERT_OK(splat_folder_create("bytes", &error));
        small = (struct rlimit){n_refused + n_lost, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        splat_status opened = splat_tensorboard_open("bytes", 1e9, SPLAT_TENSORBOARD_BESIDE, &writer, &error);
        bool reported = opened == SPLAT_OK && add_until_full(writer);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        if (opened != SPLAT_OK) {
            assert_int_equal(opened, SPLAT_ERROR_IO);
            assert_null(writer);
            ASSERT_OK(splat_folder_list("bytes", &names, &n, &error));
            assert_int_equal(n, 0);
            splat_names_free(names, n);
            n_refused++;
            continue;
        }
        event_file file = close_and_read(writer); /* whole records */
        int step = 0;
        for (size_t i = 1; i < file.n; i++) {
            assert_true(file.events[i].step >= step); /* a shorter record may still fit after one that did not */
            step = (int)file.events[i].step;
        }
        whole = file.n == n_whole;
        assert_true(whole == !reported);
        event_file_free(&file);
        n_lost += reported;
    }
    print_message("%zu sizes too small to open, %zu for all records\n", n_refused, n_lost);
    assert_true(n_refused > 20 && n_lost > 200);
}

static void nothing_to_open_is_an_error(void **state)
{
    (void)state;
    splat_error error = {0};
    splat_tensorboard *writer;
    assert_int_equal(splat_tensorboard_open("absent/folder", 10, 0, &writer, &error), SPLAT_ERROR_IO);
    assert_null(writer);
    assert_non_null(strstr(error.file, "absent/folder/events.out.tfevents."));
    /* Without a writer all of it does nothing. */
    const double edges[2] = {0, 1};
    const uint32_t counts[1] = {1};
    splat_tensorboard_histogram h = {.edges = edges, .counts = counts, .n_buckets = 1};
    splat_tensorboard_add_scalar(NULL, "a", 0, 1);
    splat_tensorboard_add_buckets(NULL, "a", 0, &h);
    splat_tensorboard_add_histogram(NULL, "a", 0, NULL, 0);
    splat_tensorboard_add_images(NULL, 0, NULL, 1, 1);
    splat_tensorboard_add_text(NULL, "a", 0, "");
    splat_tensorboard_poll(NULL);
    assert_int_equal(splat_tensorboard_flush(NULL, &error), SPLAT_OK);
    assert_int_equal(splat_tensorboard_close(NULL, &error), SPLAT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_of_rfc_3720),
        cmocka_unit_test(scalars_come_back),
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(pictures_come_back),
        cmocka_unit_test(histograms_come_back),
        cmocka_unit_test(whole_records_survive_a_cut),
        cmocka_unit_test(flushed_records_survive_a_kill),
        cmocka_unit_test(the_buffer_is_bounded),
        cmocka_unit_test(the_timer_flushes),
        cmocka_unit_test(a_run_says_where_it_begins),
        cmocka_unit_test(a_full_disk_is_told_once),
        cmocka_unit_test(a_disk_may_be_full_at_any_byte),
        cmocka_unit_test(nothing_to_open_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
