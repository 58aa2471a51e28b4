/* How fast photos arrive and views leave: the parts of training and rendering that are not the step. */
#include "bench/throughput.h"
#include "io/picture/image_read.h"

#include "base/clock.h"
#include "io/picture/image.h"
#include "math/camera.h"
#include "measure/random_views.h"
#include "model/render.h"
#include "scene/photo.h"
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

#define HITS_TOGETHER 1000 /* a hit takes less than a few readings of the clock */

/* Times of one row. */
typedef struct meter {
    double *ms;
    size_t n, capacity;
    double bytes, last;
} meter;

static splat_status meter_open(meter *m, size_t capacity, splat_error *error)
{
    memset(m, 0, sizeof *m);
    m->capacity = capacity;
    m->ms = malloc(capacity * sizeof *m->ms);
    return m->ms ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu times", capacity);
}

static void meter_start(meter *m)
{
    m->n = 0;
    m->bytes = 0;
    m->last = splat_clock_seconds();
}

static void meter_take(meter *m, double bytes)
{
    double now = splat_clock_seconds();
    if (m->n < m->capacity) m->ms[m->n++] = 1e3 * (now - m->last);
    m->bytes += bytes;
    m->last = now;
}

static splat_status meter_row(const meter *m, const char *name, size_t together, splat_bench_rows *rows,
                              splat_error *error)
{
    splat_bench_row *row = &rows->rows[rows->n_rows++];
    SPLAT_TRY(splat_bench_times_compute(m->ms, m->n, &row->ms, error));
    double seconds = 1e-3 * row->ms.mean * (double)m->n;
    row->name = name;
    row->n_together = together;
    row->per_second = (double)(m->n * together) / seconds;
    row->mb_per_s = 1e-6 * m->bytes / seconds;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- photos */

typedef struct photos {
    splat_scene *scene;
    splat_backend *backend;
    int threads;
    meter meter;
} photos;

static uint32_t view_at(const photos *p, size_t i)
{
    return p->scene->dataset.train[i % p->scene->dataset.n_train];
}

static double photo_bytes(const photos *p, uint32_t view)
{
    const splat_camera *camera = &p->scene->dataset.views[view].camera;
    return 3.0 * camera->width * camera->height;
}

static splat_status decode_files(photos *p, splat_error *error)
{
    meter_start(&p->meter);
    for (size_t i = 0; i < p->meter.capacity; i++) {
        splat_image image;
        SPLAT_TRY(splat_image_read(p->scene->dataset.views[view_at(p, i)].path, &image, error));
        double bytes = (double)image.width * image.height * image.channels;
        splat_image_free(&image);
        meter_take(&p->meter, bytes);
    }
    return SPLAT_OK;
}

static splat_status load_photos(photos *p, splat_error *error)
{
    meter_start(&p->meter);
    for (size_t i = 0; i < p->meter.capacity; i++) {
        uint8_t *rgb;
        SPLAT_TRY(splat_photo_load(&p->scene->dataset, view_at(p, i), &rgb, error));
        free(rgb);
        meter_take(&p->meter, photo_bytes(p, view_at(p, i)));
    }
    return SPLAT_OK;
}

/* Rounds of one photo a thread, as the workers of the cache decode them. */
static splat_status load_together(photos *p, splat_error *error)
{
    splat_error *errors = calloc((size_t)p->threads, sizeof *errors); /* status 0: SPLAT_OK */
    if (!errors) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d threads", p->threads);
    splat_status status = SPLAT_OK;
    meter_start(&p->meter);
    for (size_t round = 0; round < p->meter.capacity && status == SPLAT_OK; round++) {
        double bytes = 0;
#pragma omp parallel for num_threads(p->threads) schedule(static, 1)
        for (int k = 0; k < p->threads; k++) {
            uint8_t *rgb;
            uint32_t view = view_at(p, round * (size_t)p->threads + (size_t)k);
            splat_error mine;
            if (splat_photo_load(&p->scene->dataset, view, &rgb, &mine) == SPLAT_OK)
                free(rgb);
            else
                errors[k] = mine;
        }
        for (int k = 0; k < p->threads; k++) {
            bytes += photo_bytes(p, view_at(p, round * (size_t)p->threads + (size_t)k));
            if (errors[k].status == SPLAT_OK || status != SPLAT_OK) continue;
            status = errors[k].status;
            if (error) *error = errors[k];
        }
        meter_take(&p->meter, bytes);
    }
    free(errors);
    return status;
}

static splat_status hit_cache(photos *p, uint32_t view, splat_error *error)
{
    const uint8_t *rgb;
    meter_start(&p->meter);
    for (size_t i = 0; i < p->meter.capacity; i++) {
        for (int k = 0; k < HITS_TOGETHER; k++) {
            SPLAT_TRY(splat_image_cache_acquire(p->scene->cache, view, &rgb, error));
            splat_image_cache_release(p->scene->cache, view);
        }
        meter_take(&p->meter, 0); /* no byte is touched */
    }
    return SPLAT_OK;
}

/* The last time holds the wait for the end of all copies, so that the sum is right. */
static splat_status upload(photos *p, uint32_t view, const uint8_t *rgb, splat_block blocks[2], bool ahead,
                           splat_error *error)
{
    size_t bytes = (size_t)photo_bytes(p, view), n = p->meter.capacity;
    SPLAT_TRY(splat_backend_synchronize(p->backend, error));
    meter_start(&p->meter);
    for (size_t i = 0; i < n; i++) {
        if (ahead)
            SPLAT_TRY(splat_backend_upload_ahead(p->backend, (int)(i % 2), blocks[i % 2].data, rgb, bytes, error));
        else
            SPLAT_TRY(splat_backend_upload(p->backend, blocks[i % 2].data, rgb, bytes, error));
        if (!ahead || i + 1 == n) SPLAT_TRY(splat_backend_synchronize(p->backend, error));
        meter_take(&p->meter, (double)bytes);
    }
    return SPLAT_OK;
}

static splat_status measure_uploads(photos *p, splat_bench_rows *rows, splat_error *error)
{
    splat_block blocks[2] = {{0}};
    uint32_t view = view_at(p, 0);
    const uint8_t *rgb;
    SPLAT_TRY(splat_image_cache_acquire(p->scene->cache, view, &rgb, error));
    splat_status status = hit_cache(p, view, error); /* held by us, so that it is decoded */
    if (status == SPLAT_OK) status = meter_row(&p->meter, "photo from the cache", HITS_TOGETHER, rows, error);
    for (int i = 0; i < 2 && status == SPLAT_OK; i++)
        status = splat_block_resize(p->backend, &blocks[i], "photo, measured", SPLAT_OWNER_IMAGES,
                                    (size_t)photo_bytes(p, view), error);
    if (status == SPLAT_OK) status = upload(p, view, rgb, blocks, false, error);
    if (status == SPLAT_OK) status = meter_row(&p->meter, "upload, blocking", 1, rows, error);
    if (status == SPLAT_OK) status = upload(p, view, rgb, blocks, true, error);
    if (status == SPLAT_OK) status = meter_row(&p->meter, "upload, ahead", 1, rows, error);
    for (int i = 0; i < 2; i++) splat_block_free(p->backend, &blocks[i]);
    splat_image_cache_release(p->scene->cache, view);
    return status;
}

static splat_status measure_photos(photos *p, splat_bench_rows *rows, splat_error *error)
{
    SPLAT_TRY(decode_files(p, error)); /* not measured: it brings the files from the disk into memory */
    SPLAT_TRY(decode_files(p, error));
    SPLAT_TRY(meter_row(&p->meter, "file decoded", 1, rows, error));
    SPLAT_TRY(load_photos(p, error));
    SPLAT_TRY(meter_row(&p->meter, "decoded and resized", 1, rows, error));
    SPLAT_TRY(load_together(p, error));
    SPLAT_TRY(meter_row(&p->meter, "decoded and resized by all threads", (size_t)p->threads, rows, error));
    return measure_uploads(p, rows, error);
}

splat_status splat_bench_data(splat_context *context, splat_scene *scene, int n, splat_bench_rows *rows,
                              splat_error *error)
{
    memset(rows, 0, sizeof *rows);
    rows->mode = "data";
    splat_scene_largest_view(scene, &rows->width, &rows->height);
    if (n < 1) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "at least one photo must be measured, not %d", n);
    photos p = {.scene = scene, .backend = context->backend, .threads = context->threads};
    SPLAT_TRY(meter_open(&p.meter, (size_t)n, error));
    splat_status status = measure_photos(&p, rows, error);
    free(p.meter.ms);
    return status;
}

/* ---------------------------------------------------------------- views */

#define RANDOM_VIEWS 1024 /* enough of them that no cache knows the next */

typedef struct views {
    splat_model *model;
    splat_camera *cameras;
    size_t n_cameras;
    float background[3];
    float *rgb;         /* host; NULL: the picture stays on the device */
} views;

/* m = NULL: not measured. */
static splat_status render(views *v, int n, meter *m, splat_error *error)
{
    splat_backend *b = v->model->backend;
    if (m) meter_start(m);
    for (int i = 0; i < n; i++) {
        const splat_camera *camera = &v->cameras[(size_t)i % v->n_cameras];
        if (v->rgb)
            SPLAT_TRY(splat_model_render(v->model, camera, v->background, v->rgb, error));
        else
            SPLAT_TRY(splat_model_rasterize(v->model, &v->model->frame, camera, v->background, false, error));
        SPLAT_TRY(splat_backend_synchronize(b, error)); /* a viewer waits for its picture, too */
        if (m) meter_take(m, v->rgb ? 12.0 * camera->width * camera->height : 0);
    }
    return SPLAT_OK;
}

/* The two rows of a set of cameras: on the device, then brought to `rgb`. */
static splat_status measure_views(views *v, const char *const names[2], float *rgb, int warmup, meter *m,
                                  splat_bench_rows *rows, splat_error *error)
{
    int n = (int)m->capacity;
    v->rgb = NULL;
    SPLAT_TRY(render(v, warmup, NULL, error));
    SPLAT_TRY(render(v, n, m, error));
    SPLAT_TRY(meter_row(m, names[0], 1, rows, error));
    v->rgb = rgb;
    SPLAT_TRY(render(v, n, m, error));
    return meter_row(m, names[1], 1, rows, error);
}

/* The same field of view at another size; width = 0: as they are. */
static void resize_cameras(views *v, int width, int height)
{
    for (size_t i = 0; i < v->n_cameras && width; i++)
        v->cameras[i] = splat_camera_resized(&v->cameras[i], width, height);
}

static splat_status measure_sets(const splat_scene *scene, views *v, float *rgb, int width, int height, int warmup,
                                 meter *m, splat_bench_rows *rows, splat_error *error)
{
    static const char *const names[2] = {"view on the device", "view on the host"};
    static const char *const random_names[2] = {"random view on the device", "random view on the host"};
    v->n_cameras = scene->dataset.n_views;
    for (size_t i = 0; i < v->n_cameras; i++) v->cameras[i] = scene->dataset.views[i].camera;
    resize_cameras(v, width, height);
    SPLAT_TRY(measure_views(v, names, rgb, warmup, m, rows, error));
    if (scene->dataset.n_train < 2) return SPLAT_OK;
    splat_random_views_options options;
    splat_random_views_options_init(&options);
    v->n_cameras = options.n = RANDOM_VIEWS;
    SPLAT_TRY(splat_random_views_make(scene, &options, v->cameras, error));
    resize_cameras(v, width, height);
    return measure_views(v, random_names, rgb, warmup, m, rows, error);
}

splat_status splat_bench_render(splat_scene *scene, splat_model *model, int width, int height, int warmup, int n,
                                splat_bench_rows *rows, splat_error *error)
{
    memset(rows, 0, sizeof *rows);
    rows->mode = "render";
    if (n < 1 || warmup < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "at least one view must be measured, and no negative warm-up");
    if ((width > 0) != (height > 0) || width < 0 || width > SPLAT_IMAGE_MAX_SIDE || height > SPLAT_IMAGE_MAX_SIDE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a size needs width and height, up to %d pixels; %d x %d was asked for", SPLAT_IMAGE_MAX_SIDE,
                          width, height);
    splat_scene_largest_view(scene, &rows->width, &rows->height);
    if (width) {
        rows->width = width;
        rows->height = height;
    }
    rows->n_gaussians = model->gaussians.n;
    size_t n_cameras = scene->dataset.n_views < RANDOM_VIEWS ? RANDOM_VIEWS : scene->dataset.n_views;
    views v = {.model = model};
    splat_scene_background(scene, v.background);
    meter m;
    SPLAT_TRY(meter_open(&m, (size_t)n, error));
    v.cameras = malloc(n_cameras * sizeof *v.cameras);
    float *rgb = malloc(3 * (size_t)rows->width * (size_t)rows->height * sizeof *rgb);
    splat_status status = v.cameras && rgb ? measure_sets(scene, &v, rgb, width, height, warmup, &m, rows, error)
                                           : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for pictures of %d x %d",
                                                        rows->width, rows->height);
    free(v.cameras);
    free(rgb);
    free(m.ms);
    return status;
}
