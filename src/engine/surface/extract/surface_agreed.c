/* Points of the surface that several training views see at the same place, as fine as the views see it
 * (docs/method.md). */
#include "surface/extract/surface_agreed.h"
#include "surface/extract/agree_views.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#include "base/select.h"
#include "math/camera.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/sky_space.h"
#include "surface/extract/view_agreement.h"
#include "surface/extract/view_match.h"
#include "surface/planes/plane_spread.h"
#include "surface/planes/planes.h"

#include <stdlib.h>

#define PIECE 262144u    /* pixels that are judged before their points are added */
#define PER_POINT 16u    /* pixels that are asked for each point: more tell the same, and half leaves pinholes */
#define CELL_PIXELS 1.25f /* width of a cell, of pixels on the surface */
#define LEAST_COSINE 0.3f /* of the angle at which a pixel counts as so wide */
#define SAMPLE 65536u    /* pixels that decide the smallest cell */
#define SMALLEST 0.01    /* part of them below it */
#define PIXEL_ERROR 0.5f /* of a disparity */
#define MOST_ERROR 0.03f /* of a depth, part of it */
#define ALONE 0.5f       /* views that a pixel counts for with which no other agrees */

/* Pixels by what became of them. */
typedef struct tally {
    size_t n_seen, n_kept, n_against, n_vague;
} tally;

static void add_tally(tally *sum, const tally *t)
{
    sum->n_seen += t->n_seen;
    sum->n_kept += t->n_kept;
    sum->n_against += t->n_against;
    sum->n_vague += t->n_vague;
}

typedef struct judge {
    splat_view_maps *maps;
    splat_agree_views views;
    const splat_mesh_extract_options *options;
    splat_point_cells *cells;
    splat_cell_sample *samples;  /* [PIECE] */
    splat_agreement *agreements; /* [PIECE] */
    uint8_t *valid;              /* [PIECE] */
    uint8_t *verdicts;           /* [PIECE * step] */
    int threads;
    size_t step; /* from a pixel that is asked to the next; views begin at different ones */
    tally tally;
} judge;

/* True if the views that agree see the pixel from far enough to the side for its depth. */
static bool is_known(const splat_view_map *map, size_t pixel, const splat_agreement *a)
{
    return PIXEL_ERROR * map->depth[pixel] < MOST_ERROR * map->camera.fx * a->baseline;
}

/* True if photos tell the surface of the pixel: it needs no other view whose splat agrees. */
static bool is_told(const splat_view_map *map, size_t pixel)
{
    const uint8_t state = map->state[pixel];
    return state == SPLAT_PIXEL_FITTED || state == SPLAT_PIXEL_SHADED || state == SPLAT_PIXEL_MATCHED;
}

/* True if the pixel lies on a plane of the scene and no more neighbours are against that than agree. At a flat angle,
 * such as that of a lawn far away, the splat has no depth, but the plane has. */
static bool is_on_plane(const splat_view_map *map, size_t pixel, const splat_agreement *a)
{
    return map->state[pixel] == SPLAT_PIXEL_FITTED && a->n_against <= a->n_agree;
}

/* Weight: how many saw it, and how steeply. */
static bool sample_of(const judge *j, const splat_view_map *map, size_t pixel, const splat_agreement *a,
                      splat_cell_sample *sample)
{
    const splat_mesh_extract_options *o = j->options;
    if (o->has_bbox && !splat_surface_is_inside(a->position, o->bbox_low, o->bbox_high)) return false;
    for (int k = 0; k < 3; k++) {
        sample->position[k] = a->position[k];
        sample->normal[k] = a->normal[k];
        sample->color[k] = a->color[k];
    }
    sample->weight = fmaxf((float)a->n_agree, ALONE) * a->cosine;
    sample->size = CELL_PIXELS * map->depth[pixel] / map->camera.fx / fmaxf(a->cosine, LEAST_COSINE);
    return true;
}

/* Counts a pixel whose verdict is *valid, which becomes 1 if the pixel makes a sample. */
static void judge_pixel(const judge *j, const splat_view_map *map, size_t pixel, const splat_agreement *a,
                        splat_cell_sample *sample, uint8_t *valid, tally *t)
{
    const bool is_said = *valid > SPLAT_AGREE_FLAT;
    t->n_seen += map->depth[pixel] > 0;
    t->n_against += is_said && a->n_against > a->n_agree;
    const bool holds = *valid == SPLAT_AGREE_HOLDS, is_vague = holds && !is_known(map, pixel, a);
    const bool is_alone = *valid == SPLAT_AGREE_DOUBTED && a->n_against == 0 && is_told(map, pixel);
    const bool is_flat = *valid == SPLAT_AGREE_FLAT && is_on_plane(map, pixel, a);
    t->n_vague += is_vague;
    *valid = ((holds && !is_vague) || is_alone || is_flat) && sample_of(j, map, pixel, a, sample);
    t->n_kept += *valid;
}

/* The sizes of n samples of a view, of pixels from `first` on, `step` apart; *n_sizes are added to sizes. */
static void take_sizes(const judge *j, size_t view, size_t first, size_t step, size_t n, float *sizes, size_t *n_sizes)
{
    const splat_view_map *map = &j->maps->views[view];
#pragma omp parallel for schedule(dynamic, 16) num_threads(j->threads)
    for (size_t i = 0; i < n; i += SPLAT_AGREEMENT_BATCH) {
        const size_t count = n - i < SPLAT_AGREEMENT_BATCH ? n - i : SPLAT_AGREEMENT_BATCH;
        splat_agreement a[SPLAT_AGREEMENT_BATCH];
        tally ignored = {0};
        splat_view_agreements(j->maps, view, first + i * step, step, count, a, j->valid + i);
        for (size_t k = 0; k < count; k++)
            judge_pixel(j, map, first + (i + k) * step, &a[k], &j->samples[i + k], &j->valid[i + k], &ignored);
    }
    for (size_t i = 0; i < n; i++)
        if (j->valid[i]) sizes[(*n_sizes)++] = j->samples[i].size;
}

/* Judges pixels first .. first + n - 1 of a view, n <= PIECE * step, and marks them. Those that are asked, phase + k
 * step from the first on, make j->samples and j->valid, *n_asked of them; none of a view without neighbours. */
static splat_status judge_pixels(judge *j, size_t view, size_t first, size_t n, size_t phase, size_t *n_asked,
                                 splat_error *error)
{
    splat_view_map *map = &j->maps->views[view];
    const size_t count = map->n_neighbors && n > phase ? (n - phase + j->step - 1) / j->step : 0;
    *n_asked = count;
    SPLAT_TRY(splat_agree_views_ask(&j->views, view, first, n, j->step, phase, j->verdicts, j->agreements, error));
    splat_view_map_mark(map, first, n, j->verdicts, j->threads);
#pragma omp parallel num_threads(j->threads)
    {
        tally own = {0};
#pragma omp for schedule(static)
        for (size_t i = 0; i < count; i++) {
            const size_t at = phase + i * j->step;
            j->valid[i] = j->verdicts[at];
            judge_pixel(j, map, first + at, &j->agreements[i], &j->samples[i], &j->valid[i], &own);
        }
#pragma omp critical
        add_tally(&j->tally, &own);
    }
    return SPLAT_OK;
}

/* Pixels of a view from `first` on, `step` apart. */
static size_t count_pixels(const splat_view_maps *maps, size_t view, size_t first, size_t step)
{
    size_t n = splat_camera_pixels(&maps->views[view].camera);
    return n > first ? (n - first + step - 1) / step : 0;
}

/* The size that a hundredth of the pixels with surface has or less; 0 without any. */
static splat_status find_smallest(const judge *j, size_t n_pixels, double *smallest, splat_error *error)
{
    size_t step = n_pixels / SAMPLE + 1, n = 0;
    float *sizes = malloc((n_pixels / step + j->maps->n + 1) * sizeof *sizes);
    *smallest = 0;
    if (!sizes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare views");
    for (size_t v = 0; v < j->maps->n; v++) {
        size_t first = (v * 7919) % step, n_asked = count_pixels(j->maps, v, first, step);
        if (n_asked > PIECE) n_asked = PIECE;
        take_sizes(j, v, first, step, n_asked, sizes, &n);
    }
    if (n) *smallest = (double)splat_select_float(sizes, n, (size_t)(SMALLEST * (double)n));
    free(sizes);
    return SPLAT_OK;
}

/* Marks the pixels of all views. */
static splat_status mark_all(judge *j, splat_backend *backend, splat_error *error)
{
    splat_status status = SPLAT_OK;
    splat_agree_views_open(&j->views, backend, j->maps, PIECE, j->threads);
    for (size_t v = 0; v < j->maps->n && status == SPLAT_OK; v++) {
        splat_view_map *map = &j->maps->views[v];
        const size_t n_pixels = map->n_neighbors ? splat_camera_pixels(&map->camera) : 0, most = PIECE * j->step;
        status = splat_surface_go_on(j->options, "comparing views", 0.5 * (double)v / (double)j->maps->n, error);
        for (size_t first = 0, n; first < n_pixels && status == SPLAT_OK; first += n) {
            n = n_pixels - first < most ? n_pixels - first : most;
            status = splat_agree_views_ask(&j->views, v, first, n, n, 0, j->verdicts, j->agreements, error);
            if (status == SPLAT_OK) splat_view_map_mark(map, first, n, j->verdicts, j->threads);
        }
    }
    splat_agree_views_close(&j->views);
    return status;
}

static splat_status judge_all(judge *j, splat_error *error)
{
    for (size_t v = 0; v < j->maps->n; v++) {
        const size_t n_pixels = splat_camera_pixels(&j->maps->views[v].camera), phase = v % j->step;
        const double part = 0.5 + 0.5 * (double)v / (double)j->maps->n;
        SPLAT_TRY(splat_surface_go_on(j->options, "comparing views", part, error));
        for (size_t first = 0, n, n_asked; first < n_pixels; first += n) {
            n = n_pixels - first < PIECE * j->step ? n_pixels - first : PIECE * j->step;
            SPLAT_TRY(judge_pixels(j, v, first, n, phase, &n_asked, error));
            SPLAT_TRY(splat_point_cells_add(j->cells, j->samples, j->valid, n_asked, error));
        }
    }
    return SPLAT_OK;
}

static splat_status make_room(judge *j, splat_error *error)
{
    const size_t most = splat_view_maps_most_pixels(j->maps);
    j->samples = malloc(PIECE * sizeof *j->samples);
    j->valid = malloc(PIECE);
    j->agreements = malloc(PIECE * sizeof *j->agreements);
    j->verdicts = malloc(most < PIECE * j->step ? most : PIECE * j->step);
    if (j->samples && j->valid && j->agreements && j->verdicts) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare views");
}

/* Cells as fine as the views see, then their points. */
static splat_status collect(judge *j, size_t n_pixels, splat_surface_points *points, double *cell, splat_error *error)
{
    splat_point_cells cells;
    double smallest;
    *cell = 0;
    SPLAT_TRY(find_smallest(j, n_pixels, &smallest, error));
    SPLAT_TRY(splat_point_cells_init(&cells, smallest > 0 ? smallest : 1, points->capacity, j->threads, error));
    j->cells = &cells;
    splat_status status = judge_all(j, error);
    splat_point_cells_drop_replaced(&cells);
    if (status == SPLAT_OK) splat_point_cells_collect(&cells, points);
    *cell = cells.side;
    splat_point_cells_free(&cells);
    return status;
}

splat_status splat_surface_agree(splat_view_maps *maps, splat_scene *scene, splat_backend *backend,
                                 const splat_mesh_extract_options *options, const splat_planes_info *planes,
                                 int threads, splat_surface_points *points, splat_surface_agreed *agreed,
                                 splat_error *error)
{
    size_t n_pixels = 0;
    for (size_t v = 0; v < maps->n; v++) n_pixels += splat_camera_pixels(&maps->views[v].camera);
    size_t step = n_pixels / PER_POINT / (points->capacity ? points->capacity : 1);
    judge j = {.maps = maps, .options = options, .threads = threads, .step = step > 1 ? step : 1};
    double cell = 0;
    uint64_t n_spread = 0;
    splat_status status = make_room(&j, error);
    if (status == SPLAT_OK) status = mark_all(&j, backend, error);
    if (status == SPLAT_OK && scene && options->match)
        status = splat_surface_match_apply(scene, backend, options, planes, maps, error);
    if (status == SPLAT_OK) splat_view_maps_drop_spots(maps, threads);
    if (status == SPLAT_OK && options->planes) status = splat_surface_go_on(options, "spreading planes", 0, error);
    if (status == SPLAT_OK && options->planes) status = plane_spread(maps, options->seed, threads, &n_spread, error);
    splat_agree_views_open(&j.views, backend, maps, PIECE, threads);
    if (status == SPLAT_OK) status = collect(&j, n_pixels, points, &cell, error);
    *agreed = (splat_surface_agreed){j.tally.n_seen,  j.tally.n_kept, j.tally.n_against,
                                     j.tally.n_vague, n_spread,       cell};
    splat_agree_views_close(&j.views);
    free(j.samples);
    free(j.agreements);
    free(j.valid);
    free(j.verdicts);
    return status;
}

/* Planes are found without the sky, and may reach into it. */
static splat_status clear_sky(const splat_sky *sky, splat_view_maps *maps, splat_error *error)
{
    for (size_t v = 0; v < maps->n && sky->is_found; v++)
        SPLAT_TRY(splat_sky_clear_map(sky, maps->views[v].number, &maps->views[v], error));
    return SPLAT_OK;
}

splat_status splat_surface_views_agreed(splat_scene *scene, splat_model *model,
                                        const splat_mesh_extract_options *options, splat_surface_points *points,
                                        splat_free_space *space, splat_error *error)
{
    splat_view_maps maps;
    splat_surface_agreed agreed;
    splat_planes_info planes = {0};
    const splat_sky *sky;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    SPLAT_TRY(splat_surface_points_weigh(points, error));
    SPLAT_TRY(splat_view_maps_make(scene, model, options, &maps, error));
    splat_status status = splat_view_maps_thin(&maps, model->context, error);
    if (status == SPLAT_OK) status = splat_free_space_begin(&maps, model->context->threads, space, error);
    if (status == SPLAT_OK && options->planes)
        status = splat_surface_planes_apply(scene, options, &maps, &planes, error);
    if (status == SPLAT_OK && options->planes) status = clear_sky(sky, &maps, error);
    if (status == SPLAT_OK)
        status = splat_surface_agree(&maps, scene, model->backend, options, &planes, model->context->threads, points,
                                     &agreed, error);
    if (status == SPLAT_OK) status = splat_free_space_finish(&maps, model->context->threads, space, error);
    splat_view_maps_free(&maps);
    splat_planes_info_free(&planes);
    if (status != SPLAT_OK || points->n == 0) splat_free_space_free(space);
    if (status != SPLAT_OK) return status;
    splat_log(model->context, SPLAT_LOG_NOTICE,
              "views agree on %zu of %zu pixels with a surface and contradict %zu; %zu are too far for a depth; %llu "
              "lie on a plane of pixels around; thinned to %zu points in cells of %.3g and more",
              agreed.n_kept, agreed.n_seen, agreed.n_against, agreed.n_vague, (unsigned long long)agreed.n_spread,
              points->n, agreed.cell);
    if (points->n > 0) return SPLAT_OK;
    if (options->has_bbox && agreed.n_seen > 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "none of the surface that views agree on lies inside the box; move it with `bboxmin` and "
                          "`bboxmax`");
    if (agreed.n_seen == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "no training view sees a surface of this splat (alpha of `min_alpha` = %g or more); train "
                          "longer, or check that the splat belongs to the scene", (double)options->min_alpha);
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "of the %zu training views too few agree on a surface of this splat; take `points` level where "
                      "views are few or lie far apart, or check that the splat belongs to the scene",
                      scene->dataset.n_train);
}
