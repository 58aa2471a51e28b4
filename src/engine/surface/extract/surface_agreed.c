/* Points of the surface that several training views see at the same place, thinned evenly (docs/method.md). */
#include "surface/extract/surface_agreed.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#include "math/camera.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/sky_space.h"
#include "surface/extract/view_agreement.h"
#include "surface/planes/planes.h"

#include <stdlib.h>

#define PIECE 262144u    /* pixels that are judged before their points are added */
#define PER_POINT 16u    /* pixels that are asked for each point: more tell the same, and half leaves pinholes */
#define DEFAULT_DEPTH 10 /* of the octree whose cells the points are thinned to, where the options leave it open */

/* Pixels by what became of them. */
typedef struct tally {
    size_t n_seen, n_kept, n_against;
} tally;

typedef struct judge {
    const splat_view_maps *maps;
    splat_point_cells *cells;
    splat_cell_sample *samples; /* [PIECE] */
    uint8_t *valid;             /* [PIECE] */
    int threads;
    size_t step; /* from a pixel that is asked to the next; views begin at different ones */
    tally tally;
} judge;

/* Weight: how many saw it, and how steeply. */
static bool sample_of(const splat_view_map *map, const splat_agreement *a,
                      splat_cell_sample *sample)
{
    if (!splat_agreement_holds(a, map->n_neighbors)) return false;
    for (int k = 0; k < 3; k++) {
        sample->position[k] = a->position[k];
        sample->normal[k] = a->normal[k];
        sample->color[k] = a->color[k];
    }
    sample->weight = (float)a->n_agree * a->cosine;
    return true;
}

/* n pixels of a view from `first` on, step apart; samples and valid: theirs. */
static tally judge_batch(const judge *j, size_t view, size_t first, size_t n, splat_cell_sample *samples,
                         uint8_t *valid)
{
    const splat_view_map *map = &j->maps->views[view];
    splat_agreement a[SPLAT_AGREEMENT_BATCH];
    tally t = {0};
    splat_view_agreements(j->maps, view, first, j->step, n, a, valid);
    for (size_t i = 0; i < n; i++) {
        size_t pixel = first + i * j->step;
        t.n_seen += map->depth[pixel] > 0;
        t.n_against += valid[i] && a[i].n_against > a[i].n_agree;
        valid[i] = valid[i] && sample_of(map, &a[i], &samples[i]);
        t.n_kept += valid[i];
    }
    return t;
}

/* The same of any number. */
static splat_status judge_piece(judge *j, size_t view, size_t first, size_t n, splat_error *error)
{
    const size_t batch = SPLAT_AGREEMENT_BATCH;
    size_t n_seen = 0, n_kept = 0, n_against = 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(j->threads) reduction(+ : n_seen, n_kept, n_against)
    for (size_t i = 0; i < n; i += batch) {
        tally t = judge_batch(j, view, first + i * j->step, n - i < batch ? n - i : batch, j->samples + i,
                              j->valid + i);
        n_seen += t.n_seen;
        n_kept += t.n_kept;
        n_against += t.n_against;
    }
    j->tally.n_seen += n_seen;
    j->tally.n_kept += n_kept;
    j->tally.n_against += n_against;
    return splat_point_cells_add(j->cells, j->samples, j->valid, n, error);
}

static splat_status judge_all(judge *j, const splat_mesh_extract_options *options, splat_error *error)
{
    j->samples = malloc(PIECE * sizeof *j->samples);
    j->valid = malloc(PIECE);
    if (!j->samples || !j->valid) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare views");
    for (size_t v = 0; v < j->maps->n; v++) {
        size_t n = splat_camera_pixels(&j->maps->views[v].camera), n_left = (n + j->step - 1 - v % j->step) / j->step;
        SPLAT_TRY(splat_surface_go_on(options, "comparing views", (double)v / (double)j->maps->n, error));
        if (j->maps->views[v].n_neighbors == 0) continue;
        for (size_t first = v % j->step, n_piece; n_left > 0; n_left -= n_piece, first += n_piece * j->step) {
            n_piece = n_left < PIECE ? n_left : PIECE;
            SPLAT_TRY(judge_piece(j, v, first, n_piece, error));
        }
    }
    return SPLAT_OK;
}

splat_status splat_surface_agree(const splat_view_maps *maps, const splat_surface_boxes *boxes,
                                 const splat_mesh_extract_options *options, int threads, splat_surface_points *points,
                                 splat_surface_agreed *agreed, splat_error *error)
{
    double longest = 0;
    splat_point_cells cells;
    for (int k = 0; k < 3; k++) longest = fmax(longest, boxes->high[k] - boxes->low[k]);
    int depth = options->poisson_depth > 0 ? options->poisson_depth : DEFAULT_DEPTH;
    SPLAT_TRY(splat_point_cells_init(&cells, boxes, options->background, ldexp(longest, -depth), points->capacity,
                                     threads, error));
    size_t n_pixels = 0;
    for (size_t v = 0; v < maps->n; v++) n_pixels += splat_camera_pixels(&maps->views[v].camera);
    size_t step = n_pixels / PER_POINT / (points->capacity ? points->capacity : 1);
    judge j = {.maps = maps, .cells = &cells, .threads = threads, .step = step > 1 ? step : 1};
    splat_status status = judge_all(&j, options, error);
    if (status == SPLAT_OK) splat_point_cells_collect(&cells, points);
    *agreed = (splat_surface_agreed){j.tally.n_seen, j.tally.n_kept, j.tally.n_against, cells.side[0]};
    splat_point_cells_free(&cells);
    free(j.samples);
    free(j.valid);
    return status;
}

/* Planes are found without the sky, and may reach into it. */
static splat_status clear_sky(splat_scene *scene, splat_view_maps *maps, splat_error *error)
{
    const splat_sky *sky;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    for (size_t v = 0; v < maps->n && sky->is_found; v++)
        SPLAT_TRY(splat_sky_clear_map(sky, v, &maps->views[v], error));
    return SPLAT_OK;
}

splat_status splat_surface_views_agreed(splat_scene *scene, splat_model *model,
                                        const splat_mesh_extract_options *options, splat_surface_points *points,
                                        splat_error *error)
{
    splat_view_maps maps;
    splat_surface_agreed agreed;
    splat_surface_boxes boxes = splat_surface_boxes_make(scene, options);
    SPLAT_TRY(splat_surface_points_weigh(points, error));
    SPLAT_TRY(splat_view_maps_make(scene, model, options, &maps, error));
    splat_status status = options->planes ? splat_surface_planes_apply(scene, options, &maps, error) : SPLAT_OK;
    if (status == SPLAT_OK && options->planes) status = clear_sky(scene, &maps, error);
    if (status == SPLAT_OK)
        status = splat_surface_agree(&maps, &boxes, options, model->context->threads, points, &agreed, error);
    splat_view_maps_free(&maps);
    if (status != SPLAT_OK) return status;
    splat_log(model->context, SPLAT_LOG_NOTICE,
              "views agree on %zu of %zu pixels with a surface and contradict %zu; thinned to %zu points in cells of "
              "%.3g", agreed.n_kept, agreed.n_seen, agreed.n_against, points->n, agreed.cell);
    if (points->n > 0) return SPLAT_OK;
    if (agreed.n_kept > 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "none of the surface that views agree on lies inside the boxes; move them with `bboxmin` and "
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
