/* Look-ups of places in what training views see; one that views look through is free. */
#include "surface/extract/free_space.h"

#include "base/context.h"
#include "base/select.h"
#include "math/camera.h"
#include "model/clean.h"
#include "model/model.h"
#include "surface/extract/surface_views.h"

#include <stdlib.h>
#include <string.h>

#define SKY_PIXELS 5e5        /* of a picture of the sky alone */
#define DISPARITY 3.0f        /* pixels that depth may be off */
#define MOST_BEFORE 0.05f     /* of a depth: the splat's own, nearer by more, is another thing */
#define MOST_ERROR 0.5f       /* of a depth */
#define SAME_COSINE 0.99619f  /* 5 degrees: such views say the same */
#define MOST_DIRECTIONS 24u   /* that count; more do not change the answer */
#define OTHERS_PER_SKY 3u     /* views that one before the sky outweighs */
#define NEAREST 2u            /* cameras that tubes lead to */
#define NEAR_QUANTILE 0.01
#define NEAR_SAMPLE 4096u     /* pixels of a view that tell what is near */
#define TUBE_PART 0.5f        /* radius of a tube, of what is near */

void splat_free_space_free(splat_free_space *space)
{
    for (size_t v = 0; v < space->n; v++) free(space->views[v].codes);
    free(space->views);
    free(space->tubes);
    memset(space, 0, sizeof *space);
}

const splat_free_view *splat_free_space_view(const splat_free_space *space, size_t number)
{
    for (size_t v = 0; v < space->n; v++)
        if (space->views[v].number == number) return &space->views[v];
    return NULL;
}

static splat_status make_room(splat_free_space *space, size_t n, splat_error *error)
{
    *space = (splat_free_space){.n = n};
    space->views = calloc(n + 1, sizeof *space->views);
    space->tubes = calloc(NEAREST * n + 1, sizeof *space->tubes);
    if (space->views && space->tubes) return SPLAT_OK;
    space->n = 0;
    splat_free_space_free(space);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the free space of %zu views", n);
}

/* ---------------------------------------------------------------- pixels */

/* The least depth of the pixels around, if all are trusted. Masks of the sky are eroded. own: codes of the splat. */
static uint16_t least_around(const splat_view_map *map, const uint16_t *own, int x, int y)
{
    float least = INFINITY, least_own = INFINITY;
    if (map->state[splat_view_map_pixel(map, x, y)] == SPLAT_PIXEL_SKY) return SPLAT_FREE_SKY;
    for (int dy = -1; dy < 2; dy++)
        for (int dx = -1; dx < 2; dx++) {
            size_t p = splat_view_map_pixel(map, x + dx, y + dy);
            if (!splat_view_map_trusted(map, p)) return 0;
            least = fminf(least, splat_view_map_reach(map, p));
            if (own[p]) least_own = fminf(least_own, splat_free_depth(own[p]));
        }
    return splat_free_code(least, !(least_own < (1 - MOST_BEFORE) * least));
}

/* The distance to the neighbour that is farthest aside decides how well a view knows its depth. */
static float error_of(const splat_view_maps *maps, const splat_view_map *map)
{
    float most = 0;
    for (uint32_t k = 0; k < map->n_neighbors; k++) {
        const float *other = maps->views[map->neighbors[k]].camera.center;
        float square = 0;
        for (int c = 0; c < 3; c++)
            square += (other[c] - map->camera.center[c]) * (other[c] - map->camera.center[c]);
        most = fmaxf(most, square);
    }
    return most > 0 ? DISPARITY / (map->camera.fx * sqrtf(most)) : INFINITY;
}

/* codes: those of the splat, then those of the space. work: as large. */
static void fill_view(const splat_view_maps *maps, size_t v, int threads, uint16_t *work, splat_free_view *view)
{
    const splat_view_map *map = &maps->views[v];
    const int width = map->camera.width, height = map->camera.height;
    view->error = error_of(maps, map);
    memcpy(work, view->codes, splat_camera_pixels(&map->camera) * sizeof *work);
    bool has_sky = false;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(|| : has_sky)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const uint16_t code = least_around(map, work, x, y);
            view->codes[(size_t)y * (size_t)width + (size_t)x] = code;
            has_sky = has_sky || code == SPLAT_FREE_SKY;
        }
    view->has_sky = has_sky;
}

/* ---------------------------------------------------------------- tubes */

/* A hundredth of the view's pixels with depth is nearer; 0 without any. */
static float find_near(const splat_free_view *view, float *depths)
{
    size_t n_pixels = splat_camera_pixels(&view->camera), step = n_pixels / NEAR_SAMPLE + 1, n = 0;
    for (size_t i = 0; i < n_pixels; i += step)
        if (view->codes[i] != 0 && view->codes[i] != SPLAT_FREE_SKY) depths[n++] = splat_free_depth(view->codes[i]);
    return n ? splat_select_float(depths, n, (size_t)(NEAR_QUANTILE * (double)n)) : 0;
}

static float distance2(const float a[3], const float b[3])
{
    float sum = 0;
    for (int k = 0; k < 3; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/* Tubes from every camera to its two nearest. */
static void make_tubes(splat_free_space *space, const float *near)
{
    for (size_t v = 0; v < space->n; v++) {
        size_t best[NEAREST], n_best = 0;
        const float *own = space->views[v].camera.center;
        for (size_t k = 0; k < NEAREST; k++) {
            size_t found = space->n;
            for (size_t w = 0; w < space->n; w++) {
                bool is_taken = w == v || (n_best && w == best[0]);
                if (!is_taken && (found == space->n || distance2(own, space->views[w].camera.center) <
                                                           distance2(own, space->views[found].camera.center)))
                    found = w;
            }
            if (found == space->n) break;
            best[n_best++] = found;
        }
        for (size_t k = 0; k < n_best; k++) {
            splat_camera_tube *tube = &space->tubes[space->n_tubes];
            tube->radius = TUBE_PART * fminf(near[v], near[best[k]]);
            memcpy(tube->ends[0], own, sizeof tube->ends[0]);
            memcpy(tube->ends[1], space->views[best[k]].camera.center, sizeof tube->ends[1]);
            space->n_tubes += tube->radius > 0;
        }
    }
}

static bool is_in_tube(const splat_camera_tube *tube, const float place[3])
{
    float along = 0, length2 = 0, square = 0;
    for (int k = 0; k < 3; k++) {
        float axis = tube->ends[1][k] - tube->ends[0][k];
        along += axis * (place[k] - tube->ends[0][k]);
        length2 += axis * axis;
    }
    along = length2 > 0 ? fminf(fmaxf(along / length2, 0), 1) : 0;
    for (int k = 0; k < 3; k++) {
        float offset = place[k] - tube->ends[0][k] - along * (tube->ends[1][k] - tube->ends[0][k]);
        square += offset * offset;
    }
    return square < tube->radius * tube->radius;
}

/* ---------------------------------------------------------------- making */

splat_status splat_free_space_begin(const splat_view_maps *maps, int threads, splat_free_space *space,
                                    splat_error *error)
{
    SPLAT_TRY(make_room(space, maps->n, error));
    space->knows_surface = true;
    bool ok = true;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(&& : ok)
    for (size_t v = 0; v < maps->n; v++) {
        const splat_view_map *map = &maps->views[v];
        const size_t n = splat_camera_pixels(&map->camera);
        uint16_t *codes = malloc(n * sizeof *codes);
        for (size_t i = 0; codes && i < n; i++)
            codes[i] = map->depth[i] > 0 ? splat_free_code(map->depth[i], true) : 0;
        space->views[v] = (splat_free_view){.number = map->number, .camera = map->camera, .codes = codes};
        ok = codes && ok;
    }
    if (ok) return SPLAT_OK;
    splat_free_space_free(space);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the free space of %zu views", maps->n);
}

splat_status splat_free_space_finish(const splat_view_maps *maps, int threads, splat_free_space *space,
                                     splat_error *error)
{
    size_t most = 1;
    for (size_t v = 0; v < maps->n; v++) {
        size_t n = splat_camera_pixels(&maps->views[v].camera);
        most = n > most ? n : most;
    }
    float *near = malloc((maps->n + 1) * sizeof *near), *depths = malloc((NEAR_SAMPLE + 1) * sizeof *depths);
    uint16_t *work = malloc(most * sizeof *work);
    bool ok = near && depths && work;
    for (size_t v = 0; v < maps->n && ok; v++) {
        fill_view(maps, v, threads, work, &space->views[v]);
        near[v] = find_near(&space->views[v], depths);
    }
    if (ok) make_tubes(space, near);
    free(near);
    free(depths);
    free(work);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for free space");
}

static bool fill_sky(const splat_sky *sky, size_t number, splat_free_view *view)
{
    const size_t n = splat_camera_pixels(&view->camera);
    uint8_t *trusted;
    if (splat_sky_take_trusted(sky, number, view->camera.width, view->camera.height, &trusted, NULL) != SPLAT_OK)
        return false;
    view->codes = calloc(n, sizeof *view->codes);
    for (size_t i = 0; trusted && view->codes && i < n; i++) {
        view->codes[i] = trusted[i] ? SPLAT_FREE_SKY : 0;
        view->has_sky = view->has_sky || trusted[i];
    }
    free(trusted);
    return view->codes != NULL;
}

splat_status splat_free_space_from_sky(const splat_scene *scene, const splat_sky *sky, splat_free_space *space,
                                       splat_error *error)
{
    bool ok = true;
    SPLAT_TRY(make_room(space, sky->is_found ? sky->n : 0, error));
#pragma omp parallel for schedule(dynamic, 1) num_threads(scene->context->threads) reduction(&& : ok)
    for (size_t v = 0; v < space->n; v++) {
        space->views[v].number = (uint32_t)v;
        space->views[v].camera = splat_surface_camera_within(scene, v, SKY_PIXELS);
        ok = fill_sky(sky, v, &space->views[v]) && ok;
    }
    if (ok) return SPLAT_OK;
    splat_free_space_free(space);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of %zu views", sky->n);
}

/* ---------------------------------------------------------------- asking */

/* Directions in which views look, at least 5 degrees apart. */
typedef struct directions {
    uint32_t n;
    float to[MOST_DIRECTIONS][3];
} directions;

static void add_direction(directions *d, const float from[3], const float to[3])
{
    float own[3], length = sqrtf(distance2(from, to));
    for (int k = 0; k < 3; k++) own[k] = (to[k] - from[k]) / length;
    if (d->n == MOST_DIRECTIONS) return;
    for (uint32_t i = 0; i < d->n; i++)
        if (own[0] * d->to[i][0] + own[1] * d->to[i][1] + own[2] * d->to[i][2] > SAME_COSINE) return;
    memcpy(d->to[d->n++], own, sizeof own);
}

/* True if two views see the place before the sky. Without that, the sky alone makes nothing free. */
static bool has_two_skies(const splat_free_space *space, const float place[3])
{
    uint32_t n_sky = 0;
    for (size_t v = 0; v < space->n && n_sky < 2; v++) {
        const splat_free_view *view = &space->views[v];
        float image[3];
        if (!view->has_sky || !splat_camera_project(&view->camera, place, image)) continue;
        n_sky += view->codes[(size_t)image[1] * (size_t)view->camera.width + (size_t)image[0]] == SPLAT_FREE_SKY;
    }
    return n_sky == 2;
}

static bool is_free(const splat_free_space *space, splat_free_witness witness, const float place[3], float tolerance)
{
    directions through, at;
    uint32_t n_sky = 0, n_other = 0; /* views that see it before the sky, and others from which nothing hides it */
    bool is_clear = false;           /* a view looks far beyond the place */
    if ((witness == SPLAT_FREE_BY_SKY || !space->knows_surface) && !has_two_skies(space, place)) return false;
    through.n = at.n = 0;
    for (size_t v = 0; v < space->n; v++) {
        const splat_free_view *view = &space->views[v];
        float image[3];
        if (!splat_camera_project(&view->camera, place, image)) continue;
        uint16_t code = view->codes[(size_t)image[1] * (size_t)view->camera.width + (size_t)image[0]];
        float depth = splat_free_depth(code), error = fminf(splat_free_error(view, image[2], tolerance), MOST_ERROR);
        n_sky += code == SPLAT_FREE_SKY;
        if (depth > 0 && image[2] < (1 - error) * depth) {
            n_other += code != SPLAT_FREE_SKY;
            if (!splat_free_is_open(code)) continue;
            add_direction(&through, view->camera.center, place);
            is_clear |= image[2] < 0.5f * depth;
        } else if (depth == 0) {
            n_other++;
        } else if (image[2] <= (1 + error) * depth) {
            n_other++;
            add_direction(&at, view->camera.center, place);
        }
    }
    if (n_sky >= 2 && OTHERS_PER_SKY * n_sky >= n_other) return true;
    if (witness == SPLAT_FREE_BY_SKY || !space->knows_surface) return false;
    if (through.n >= 2 && through.n > at.n) return true;
    if (at.n > 0) return false;
    bool is_inside = is_clear;
    for (size_t i = 0; i < space->n_tubes && !is_inside; i++) is_inside = is_in_tube(&space->tubes[i], place);
    return is_inside;
}

void splat_free_space_find(const splat_free_space *space, splat_free_witness witness, const float *positions, size_t n,
                           float tolerance, int threads, uint8_t *keep, size_t *n_found)
{
    size_t n_free = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) reduction(+ : n_free)
    for (size_t i = 0; i < n; i++) {
        keep[i] = !is_free(space, witness, positions + 3 * i, tolerance);
        n_free += !keep[i];
    }
    *n_found = n_free;
}

splat_status splat_free_space_remove_points(const splat_free_space *space, splat_free_witness witness,
                                            splat_surface_points *points, int threads, size_t *n_found,
                                            splat_error *error)
{
    *n_found = 0;
    if (space->n == 0) return SPLAT_OK;
    uint8_t *keep = malloc(points->n + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu points", points->n);
    splat_free_space_find(space, witness, points->positions, points->n, SPLAT_FREE_TOLERANCE, threads, keep, n_found);
    if (*n_found) splat_surface_points_keep(points, keep, threads);
    free(keep);
    return SPLAT_OK;
}

/* positions: [n][3], keep: [n]; scratch. */
static splat_status find_gaussians(const splat_free_space *space, splat_free_witness witness, float tolerance,
                                   const splat_model *model, float *positions, uint8_t *keep, size_t *n_found,
                                   splat_error *error)
{
    const size_t n = model->gaussians.n;
    SPLAT_TRY(splat_backend_download(model->backend, positions, model->gaussians.p.means, 3 * n * sizeof *positions,
                                     error));
    splat_free_space_find(space, witness, positions, n, tolerance, model->context->threads, keep, n_found);
    return SPLAT_OK;
}

splat_status splat_free_space_remove_gaussians(const splat_free_space *space, splat_free_witness witness,
                                               float tolerance, const char *all_found, splat_model *model,
                                               size_t *n_found, splat_error *error)
{
    const size_t n = model->gaussians.n;
    *n_found = 0;
    if (space->n == 0 || n == 0) return SPLAT_OK;
    float *positions = malloc(3 * n * sizeof *positions);
    uint8_t *keep = malloc(n);
    splat_status status = positions && keep
                              ? find_gaussians(space, witness, tolerance, model, positions, keep, n_found, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", n);
    if (status == SPLAT_OK && *n_found == n) {
        *n_found = 0;
        status = splat_fail(error, SPLAT_ERROR_NUMERIC, "%s", all_found);
    }
    if (status == SPLAT_OK && *n_found) status = splat_model_keep(model, keep, error);
    free(positions);
    free(keep);
    return status;
}
