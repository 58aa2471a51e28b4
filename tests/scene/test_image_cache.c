/* The photo cache: what is kept and evicted, prefetch, errors from workers, many threads at once, several processes. */
#include "base/file.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "io/picture/image_write.h"
#include "scene/image_cache.h"
#include "scene/photo.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <stdarg.h>
#include <cmocka.h>

#define N_VIEWS 10
#define FILE_WIDTH 40
#define FILE_HEIGHT 30
#define WIDTH 20
#define HEIGHT 15
#define BYTES ((size_t)WIDTH * HEIGHT * 3)

typedef struct test_scene {
    splat_dataset dataset;
    splat_dataset_view views[N_VIEWS];
    char paths[N_VIEWS][32];
    uint8_t *photos[N_VIEWS]; /* as loaded */
} test_scene;

static void write_noise(const char *path, int width, int height, int channels, uint32_t seed)
{
    size_t n = (size_t)width * (size_t)height * (size_t)channels;
    uint8_t *pixels = malloc(n);
    assert_non_null(pixels);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(seed >> 24);
    }
    assert_int_equal(splat_png_write(path, width, height, channels, 8, pixels, NULL), SPLAT_OK);
    free(pixels);
}

static int set_up(void **state)
{
    test_scene *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->dataset.views = made->views;
    made->dataset.n_views = N_VIEWS;
    for (uint32_t i = 0; i < N_VIEWS; i++) {
        snprintf(made->paths[i], sizeof made->paths[i], "photo_%02u.png", i);
        write_noise(made->paths[i], FILE_WIDTH, FILE_HEIGHT, 3, i);
        made->views[i] = (splat_dataset_view){.path = made->paths[i], .name = made->paths[i], .file_width = FILE_WIDTH,
                                              .file_height = FILE_HEIGHT};
        made->views[i].camera.width = WIDTH;
        made->views[i].camera.height = HEIGHT;
        assert_int_equal(splat_photo_load(&made->dataset, i, &made->photos[i], NULL), SPLAT_OK);
    }
    *state = made;
    return 0;
}

static int tear_down(void **state)
{
    test_scene *made = *state;
    for (int i = 0; i < N_VIEWS; i++) free(made->photos[i]);
    free(made);
    return 0;
}

static splat_host_memory host_memory;

static splat_image_cache *make_cache(test_scene *scene, size_t max_bytes, int workers)
{
    splat_image_cache *cache;
    assert_int_equal(splat_image_cache_create(&scene->dataset, max_bytes, workers, &host_memory, &cache, NULL),
                     SPLAT_OK);
    return cache;
}

static void acquire(test_scene *scene, splat_image_cache *cache, size_t view)
{
    const uint8_t *rgb;
    splat_error error = {0};
    if (splat_image_cache_acquire(cache, view, &rgb, &error) != SPLAT_OK) fail_msg("view %zu: %s", view, error.message);
    assert_memory_equal(rgb, scene->photos[view], BYTES);
}

static void use(test_scene *scene, splat_image_cache *cache, size_t view)
{
    acquire(scene, cache, view);
    splat_image_cache_release(cache, view);
}

static void check_info(splat_image_cache *cache, size_t n_kept, size_t n_hits, size_t n_misses, size_t n_evicted)
{
    splat_image_cache_info info;
    splat_image_cache_get_info(cache, &info);
    assert_int_equal(info.bytes, n_kept * BYTES);
    assert_int_equal(info.n_hits, n_hits);
    assert_int_equal(info.n_misses, n_misses);
    assert_int_equal(info.n_evicted, n_evicted);
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Waits until the cache holds (or decodes) so many bytes. */
static void wait_for_bytes(splat_image_cache *cache, size_t bytes)
{
    splat_image_cache_info info;
    for (int i = 0; i < 10000; i++) {
        splat_image_cache_get_info(cache, &info);
        if (info.bytes == bytes) return;
        wait_ms(1);
    }
    fail_msg("the cache has %zu bytes, not %zu", info.bytes, bytes);
}

static void test_least_recently_used_goes_first(void **state)
{
    splat_image_cache *cache = make_cache(*state, 3 * BYTES + BYTES / 2, 0);
    for (size_t i = 0; i < 3; i++) use(*state, cache, i);
    check_info(cache, 3, 0, 3, 0);
    use(*state, cache, 0); /* now 1 is the oldest */
    use(*state, cache, 3);
    check_info(cache, 3, 1, 4, 1);
    use(*state, cache, 0);
    use(*state, cache, 2);
    use(*state, cache, 3);
    check_info(cache, 3, 4, 4, 1);
    use(*state, cache, 1); /* gone; takes the place of 0 */
    check_info(cache, 3, 4, 5, 2);
    use(*state, cache, 0);
    check_info(cache, 3, 4, 6, 3);
    splat_image_cache_destroy(cache);
}

static void test_the_bound_holds(void **state)
{
    splat_image_cache *cache = make_cache(*state, 4 * BYTES, 0);
    uint32_t seed = 1;
    for (int i = 0; i < 300; i++) {
        seed = seed * 1664525u + 1013904223u;
        use(*state, cache, (seed >> 16) % N_VIEWS);
    }
    splat_image_cache_info info;
    splat_image_cache_get_info(cache, &info);
    assert_int_equal(info.peak_bytes, 4 * BYTES);
    assert_int_equal(info.n_hits + info.n_misses, 300);
    assert_int_equal(info.n_misses - info.n_evicted, 4);
    splat_image_cache_destroy(cache);
}

static void test_pictures_in_use_stay(void **state)
{
    test_scene *scene = *state;
    splat_image_cache *cache = make_cache(scene, 3 * BYTES, 0);
    const uint8_t *rgb[6], *again;
    for (size_t i = 0; i < 6; i++) assert_int_equal(splat_image_cache_acquire(cache, i, &rgb[i], NULL), SPLAT_OK);
    assert_int_equal(splat_image_cache_acquire(cache, 0, &again, NULL), SPLAT_OK);
    assert_ptr_equal(again, rgb[0]);
    check_info(cache, 6, 1, 6, 0);
    for (size_t i = 0; i < 6; i++) assert_memory_equal(rgb[i], scene->photos[i], BYTES);
    splat_image_cache_release(cache, 0); /* used once more */
    check_info(cache, 6, 1, 6, 0);
    for (size_t i = 1; i < 4; i++) splat_image_cache_release(cache, i);
    check_info(cache, 3, 1, 6, 3); /* 0, 4 and 5 are in use; the unused went to keep the bound */
    for (size_t i = 0; i < 6; i += i == 0 ? 4 : 1) splat_image_cache_release(cache, i);
    check_info(cache, 3, 1, 6, 3);
    splat_image_cache_release(cache, 5); /* one too many: ignored */
    splat_image_cache_release(cache, N_VIEWS);
    acquire(scene, cache, 5);
    for (size_t i = 1; i < 4; i++) use(scene, cache, i);
    acquire(scene, cache, 5); /* was not evicted while in use */
    check_info(cache, 3, 3, 9, 6);
    splat_image_cache_release(cache, 5);
    splat_image_cache_release(cache, 5);
    splat_image_cache_destroy(cache);

    cache = make_cache(scene, 0, 0); /* keeps nothing, works */
    use(scene, cache, 1);
    use(scene, cache, 1);
    check_info(cache, 0, 0, 2, 2);
    splat_image_cache_destroy(cache);
}

static void test_prefetch(void **state)
{
    splat_image_cache *cache = make_cache(*state, 4 * BYTES, 2);
    for (size_t i = 0; i < 3; i++) splat_image_cache_prefetch(cache, i);
    splat_image_cache_prefetch(cache, 1);
    splat_image_cache_prefetch(cache, N_VIEWS + 5); /* harmless */
    wait_for_bytes(cache, 3 * BYTES);
    for (size_t i = 0; i < 3; i++) use(*state, cache, i);
    check_info(cache, 3, 3, 0, 0);
    splat_image_cache_prefetch(cache, 3);
    wait_for_bytes(cache, 4 * BYTES);
    use(*state, cache, 3);
    splat_image_cache_prefetch(cache, 4); /* takes the place of 0 */
    for (int i = 0; i < 10000; i++) {
        splat_image_cache_info info;
        splat_image_cache_get_info(cache, &info);
        if (info.n_evicted == 1 && info.bytes == 4 * BYTES) break;
        wait_ms(1);
    }
    use(*state, cache, 1);
    use(*state, cache, 4);
    check_info(cache, 4, 6, 0, 1);
    splat_image_cache_destroy(cache);
}

static void test_prefetch_is_skipped_when_all_is_in_use(void **state)
{
    splat_image_cache *cache = make_cache(*state, 2 * BYTES, 1);
    acquire(*state, cache, 0);
    acquire(*state, cache, 1);
    splat_image_cache_prefetch(cache, 2);
    wait_ms(50); /* a wrong worker has time to decode */
    splat_image_cache_info info;
    splat_image_cache_get_info(cache, &info);
    assert_int_equal(info.bytes, 2 * BYTES);
    assert_int_equal(info.peak_bytes, 2 * BYTES);
    acquire(*state, cache, 2); /* on demand it is decoded, on top of the bound */
    check_info(cache, 3, 0, 3, 0);
    for (size_t i = 0; i < 3; i++) splat_image_cache_release(cache, i);
    check_info(cache, 2, 0, 3, 1);
    splat_image_cache_destroy(cache);
}

static void check_error(splat_image_cache *cache, size_t view, splat_status status, const char *file)
{
    splat_error error = {0};
    const uint8_t *rgb = (const uint8_t *)"";
    assert_int_equal(splat_image_cache_acquire(cache, view, &rgb, &error), status);
    assert_null(rgb);
    assert_int_equal(error.status, status);
    assert_string_equal(error.file, file);
    assert_true(strlen(error.message) > 20);
}

static void test_errors_are_delivered(void **state)
{
    test_scene *scene = *state;
    assert_int_equal(splat_file_write("photo_03.png", "\x89PNG\r\n\x1A\n broken", 15, NULL), SPLAT_OK);
    assert_int_equal(remove("photo_04.png"), 0);
    write_noise("photo_05.png", FILE_WIDTH + 1, FILE_HEIGHT, 3, 5);
    splat_image_cache *cache = make_cache(scene, 8 * BYTES, 0);
    check_error(cache, 3, SPLAT_ERROR_FORMAT, "photo_03.png");
    check_error(cache, 4, SPLAT_ERROR_IO, "photo_04.png");
    splat_error error;
    const uint8_t *rgb;
    assert_int_equal(splat_image_cache_acquire(cache, 5, &rgb, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "41 x 30"));
    assert_non_null(strstr(error.message, "40 x 30"));
    assert_int_equal(splat_image_cache_acquire(cache, N_VIEWS, &rgb, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_image_cache_acquire(cache, 4, &rgb, NULL), SPLAT_ERROR_IO);
    check_info(cache, 0, 0, 4, 0);
    splat_image_cache_destroy(cache);

    /* From a worker: the first acquire that finds its result counts as a hit. */
    cache = make_cache(scene, 8 * BYTES, 1);
    splat_image_cache_info info = {0};
    for (int i = 0; i < 500 && info.n_hits == 0; i++) {
        splat_image_cache_prefetch(cache, 3);
        wait_ms(10);
        check_error(cache, 3, SPLAT_ERROR_FORMAT, "photo_03.png");
        splat_image_cache_get_info(cache, &info);
    }
    assert_true(info.n_hits > 0);
    assert_int_equal(info.bytes, 0);
    splat_image_cache_prefetch(cache, 4); /* left over, with nobody to ask for it */
    wait_ms(20);
    for (uint32_t i = 3; i < 6; i++) write_noise(scene->paths[i], FILE_WIDTH, FILE_HEIGHT, 3, i);
    use(scene, cache, 3); /* repaired: a later acquire tries again */
    splat_image_cache_destroy(cache);
}

/* ---------------------------------------------------------------- threads */

typedef struct thread_job {
    test_scene *scene;
    splat_image_cache *cache;
    pthread_barrier_t *barrier;
    uint32_t seed;
    size_t n_wrong;
} thread_job;

/* cmocka's assertions belong to the main thread: this one counts. */
static void *run_random(void *argument)
{
    thread_job *job = argument;
    uint32_t seed = job->seed;
    for (int i = 0; i < 200; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t view = (seed >> 8) % N_VIEWS, ahead = (seed >> 16) % N_VIEWS;
        const uint8_t *rgb;
        splat_image_cache_prefetch(job->cache, ahead);
        if (splat_image_cache_acquire(job->cache, view, &rgb, NULL) != SPLAT_OK) {
            job->n_wrong++;
            continue;
        }
        job->n_wrong += memcmp(rgb, job->scene->photos[view], BYTES) != 0;
        splat_image_cache_release(job->cache, view);
    }
    return NULL;
}

static void *run_same(void *argument)
{
    thread_job *job = argument;
    const uint8_t *rgb;
    pthread_barrier_wait(job->barrier);
    bool good = splat_image_cache_acquire(job->cache, 0, &rgb, NULL) == SPLAT_OK;
    pthread_barrier_wait(job->barrier); /* all hold it now */
    if (!good) {
        job->n_wrong++;
        return NULL;
    }
    job->n_wrong += memcmp(rgb, job->scene->photos[0], BYTES) != 0;
    splat_image_cache_release(job->cache, 0);
    return NULL;
}

#define N_THREADS 4

static void run_threads(test_scene *scene, splat_image_cache *cache, void *(*run)(void *))
{
    pthread_t threads[N_THREADS];
    thread_job jobs[N_THREADS];
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, N_THREADS), 0);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        jobs[i] = (thread_job){scene, cache, &barrier, 100 + i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < N_THREADS; i++) assert_int_equal(jobs[i].n_wrong, 0);
}

static void test_many_threads(void **state)
{
    for (int workers = 0; workers < 3; workers++) {
        splat_image_cache *cache = make_cache(*state, 3 * BYTES, workers);
        run_threads(*state, cache, run_random);
        splat_image_cache_info info;
        splat_image_cache_get_info(cache, &info);
        assert_int_equal(info.n_hits + info.n_misses, N_THREADS * 200);
        /* On top of the bound come at most the pictures in use. */
        assert_true(info.peak_bytes <= (3 + N_THREADS) * BYTES);
        wait_ms(20); /* the workers may still decode what was asked for last */
        splat_image_cache_get_info(cache, &info);
        assert_true(info.bytes <= 3 * BYTES);
        splat_image_cache_destroy(cache);
    }
}

static void test_one_decode_for_all_who_wait(void **state)
{
    for (int i = 0; i < 20; i++) {
        splat_image_cache *cache = make_cache(*state, 0, 0);
        run_threads(*state, cache, run_same);
        check_info(cache, 0, N_THREADS - 1, 1, 1);
        splat_image_cache_destroy(cache);
    }
}

static void test_a_decode_in_progress_is_waited_for(void **state)
{
    test_scene *scene = *state;
    splat_dataset_view *view = &scene->views[9];
    write_noise(view->path, 1500, 1000, 3, 9); /* some ten milliseconds */
    view->file_width = 1500;
    view->file_height = 1000;
    splat_image_cache *cache = make_cache(scene, 2 * BYTES, 1);
    splat_image_cache_prefetch(cache, 9);
    wait_for_bytes(cache, BYTES); /* the worker has begun */
    const uint8_t *rgb;
    assert_int_equal(splat_image_cache_acquire(cache, 9, &rgb, NULL), SPLAT_OK);
    check_info(cache, 1, 1, 0, 0);
    splat_image_cache_release(cache, 9);
    splat_image_cache_destroy(cache);
    for (size_t i = 0; i < 20; i++) { /* destroyed with a full queue */
        cache = make_cache(scene, 8 * BYTES, 1 + (int)i % 3);
        for (size_t k = 0; k < N_VIEWS; k++) splat_image_cache_prefetch(cache, (k + i) % (N_VIEWS - 1));
        splat_image_cache_destroy(cache);
    }
}

/* ---------------------------------------------------------------- what a miss does */

static void check_photo(test_scene *scene, bool white, bool truncates)
{
    scene->dataset.white_background = white;
    scene->dataset.composite_truncates = truncates;
    uint8_t *rgb;
    splat_image expected, other_order;
    assert_int_equal(splat_photo_load(&scene->dataset, 0, &rgb, NULL), SPLAT_OK);
    assert_int_equal(splat_image_read("photo_00.png", &expected, NULL), SPLAT_OK);
    assert_int_equal(expected.channels, 4);
    assert_int_equal(splat_image_composite(&expected, white ? 255 : 0, truncates, NULL), SPLAT_OK);
    assert_int_equal(splat_image_resize(&expected, WIDTH, HEIGHT, NULL), SPLAT_OK);
    assert_memory_equal(rgb, expected.pixels, BYTES);
    assert_int_equal(splat_image_read("photo_00.png", &other_order, NULL), SPLAT_OK);
    assert_int_equal(splat_image_resize(&other_order, WIDTH, HEIGHT, NULL), SPLAT_OK);
    assert_int_equal(splat_image_composite(&other_order, white ? 255 : 0, truncates, NULL), SPLAT_OK);
    assert_true(memcmp(rgb, other_order.pixels, BYTES) != 0); /* the test can tell the two orders apart */
    free(rgb);
    splat_image_free(&expected);
    splat_image_free(&other_order);
}

static void test_photo_with_alpha(void **state)
{
    write_noise("photo_00.png", FILE_WIDTH, FILE_HEIGHT, 4, 77);
    for (int i = 0; i < 4; i++) check_photo(*state, i & 1, i & 2);
}

/* ---------------------------------------------------------------- processes */

#define SEGMENT "/splatsmith-test-image-cache"

/* A cache of a process of its own, as far as the segment can tell. */
static splat_image_cache *make_sharing(test_scene *scene, int workers)
{
    splat_image_cache *cache = make_cache(scene, N_VIEWS * BYTES, workers);
    splat_shared_photos *photos;
    assert_int_equal(splat_shared_photos_open(SEGMENT, &scene->dataset, &photos, NULL), SPLAT_OK);
    splat_image_cache_share(cache, photos);
    return cache;
}

static void make_segment(const test_scene *scene)
{
    bool is_maker = false, is_again = true;
    splat_shared_photos_unlink(SEGMENT);
    assert_int_equal(splat_shared_photos_make(SEGMENT, &scene->dataset, &is_maker, NULL), SPLAT_OK);
    assert_int_equal(splat_shared_photos_make(SEGMENT, &scene->dataset, &is_again, NULL), SPLAT_OK);
    assert_true(is_maker && !is_again);
}

/* A photo decoded by one process is read by the other without its file, and counts where it was decoded. */
static void processes_decode_a_photo_once(void **state)
{
    test_scene *scene = *state;
    make_segment(scene);
    splat_image_cache *one = make_sharing(scene, 0), *other = make_sharing(scene, 2);
    splat_shared_photos_unlink(SEGMENT);
    for (size_t i = 0; i < N_VIEWS; i++) use(scene, i % 2 ? one : other, i);
    char hidden[64];
    for (size_t i = 0; i < N_VIEWS; i++) {
        snprintf(hidden, sizeof hidden, "%s.hidden", scene->paths[i]);
        assert_int_equal(rename(scene->paths[i], hidden), 0);
    }
    for (size_t i = 0; i < N_VIEWS; i++) {
        use(scene, one, i);
        use(scene, other, i);
    }
    for (size_t i = 0; i < N_VIEWS; i++) {
        snprintf(hidden, sizeof hidden, "%s.hidden", scene->paths[i]);
        assert_int_equal(rename(hidden, scene->paths[i]), 0);
    }
    check_info(one, N_VIEWS / 2, N_VIEWS / 2, N_VIEWS, 0);
    check_info(other, N_VIEWS / 2, N_VIEWS / 2, N_VIEWS, 0);
    splat_image_cache_destroy(one);
    for (size_t i = 0; i < N_VIEWS; i++) use(scene, other, i); /* it outlives who decoded it */
    splat_image_cache_destroy(other);
}

/* A photo that cannot be read fails for all, and may be mended. */
static void a_bad_photo_is_tried_again_by_another_process(void **state)
{
    test_scene *scene = *state;
    make_segment(scene);
    splat_image_cache *one = make_sharing(scene, 0), *other = make_sharing(scene, 0);
    splat_shared_photos_unlink(SEGMENT);
    const uint8_t *rgb;
    assert_int_equal(rename(scene->paths[3], "elsewhere.png"), 0);
    assert_int_not_equal(splat_image_cache_acquire(one, 3, &rgb, NULL), SPLAT_OK);
    assert_int_not_equal(splat_image_cache_acquire(other, 3, &rgb, NULL), SPLAT_OK);
    assert_int_equal(rename("elsewhere.png", scene->paths[3]), 0);
    use(scene, other, 3);
    use(scene, one, 3);
    check_info(one, 0, 0, 2, 0);
    splat_image_cache_destroy(one);
    splat_image_cache_destroy(other);
}

/* A process that dies over a photo keeps nobody waiting; one that lives is waited for. */
static void who_dies_over_a_photo_is_succeeded(void **state)
{
    test_scene *scene = *state;
    make_segment(scene);
    splat_image_cache *cache = make_sharing(scene, 0);
    splat_shared_photos *photos;
    assert_int_equal(splat_shared_photos_open(SEGMENT, &scene->dataset, &photos, NULL), SPLAT_OK);
    splat_shared_photos_unlink(SEGMENT);
    assert_int_equal(splat_shared_photos_users(photos), 2);
    int begun[2];
    assert_int_equal(pipe(begun), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool is_mine = splat_shared_photos_begin(photos, 5, true);
        ssize_t written = write(begun[1], &is_mine, 1);
        wait_ms(written == 1 ? 30000 : 0);
        _exit(0);
    }
    bool was_its = false;
    assert_int_equal(read(begun[0], &was_its, 1), 1);
    assert_true(was_its && !splat_shared_photos_has(photos, 5));
    assert_false(splat_shared_photos_begin(photos, 5, false));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    use(scene, cache, 5);
    assert_true(splat_shared_photos_has(photos, 5));
    splat_shared_photos_close(photos);
    splat_image_cache_destroy(cache);
    for (int i = 0; i < 2; i++) close(begun[i]);
}

/* Without room, or with another scene behind the name, there is none, and nothing stays. */
static void memory_that_is_too_small_is_not_shared(void **state)
{
    test_scene *scene = *state;
    splat_dataset_view views[N_VIEWS];
    splat_dataset large = scene->dataset;
    splat_shared_photos *photos = (splat_shared_photos *)&large;
    bool is_maker = true;
    memcpy(views, scene->views, sizeof views);
    for (int i = 0; i < N_VIEWS; i++) views[i].camera.width = views[i].camera.height = 1 << 20;
    large.views = views;
    splat_shared_photos_unlink(SEGMENT);
    assert_int_equal(splat_shared_photos_make(SEGMENT, &large, &is_maker, NULL), SPLAT_ERROR_MEMORY);
    assert_false(is_maker);
    assert_int_equal(splat_shared_photos_open(SEGMENT, &scene->dataset, &photos, NULL), SPLAT_ERROR_IO);
    assert_null(photos);
    make_segment(scene);
    assert_int_equal(splat_shared_photos_open(SEGMENT, &large, &photos, NULL), SPLAT_ERROR_IO);
    splat_shared_photos_unlink(SEGMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_least_recently_used_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_bound_holds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pictures_in_use_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prefetch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prefetch_is_skipped_when_all_is_in_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_are_delivered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_decode_for_all_who_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_decode_in_progress_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_photo_with_alpha, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_decode_a_photo_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_photo_is_tried_again_by_another_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_dies_over_a_photo_is_succeeded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_is_too_small_is_not_shared, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
