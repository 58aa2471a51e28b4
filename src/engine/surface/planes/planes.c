/* Finding planes, from top to bottom: segments, seeds and edges of every view, planes of the scene, pixels of every
 * view. Then the planes of an opened scene, with its photos at the size of the maps. */
#include "surface/planes/planes.h"

#include "base/context.h"
#include "math/camera.h"
#include "scene/scene.h"
#include "scene/sky.h"
#include "stereo/resized_photo.h"
#include "surface/extract/extraction.h"
#include "surface/planes/plane_agree.h"
#include "surface/planes/plane_arches.h"
#include "surface/planes/plane_assign.h"
#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_confirm.h"
#include "surface/planes/plane_creases.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_gains.h"
#include "surface/planes/plane_known.h"
#include "surface/planes/plane_merge.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_pool.h"
#include "surface/planes/plane_rounds.h"
#include "surface/planes/plane_seeds.h"
#include "surface/planes/plane_segments.h"
#include "surface/planes/plane_settle_seeds.h"
#include "surface/planes/plane_shade.h"
#include "surface/planes/plane_sheets.h"
#include "surface/planes/plane_textured.h"
#include "surface/planes/plane_twins.h"
#include "surface/planes/plane_votes.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 3       /* at most, in which planes say more of each other */
#define SEEN_ROUNDS 3  /* in which views say more of each other */
#define MOSTLY 0.5     /* of the plain pixels: where so many have a plane, rounds cost little and all are made; else */
#define LEAST_GAIN 0.005 /* a round that brought a plane to less than this part of them is the last */
#define STRIDE 4       /* of pixels that vote, both ways: every second one makes the same planes */
#define LEAST_PART 3   /* every so many-th view chooses twice where photos differ, */
#define CALIBRATION 32 /* or about so many views, if these are fewer */
#define RIM 4          /* pixels around what a plane has that may lie on it, too */
#define RIM_PART 0.015f /* of the depth: they do when they are so near */

typedef struct finder {
    splat_view_maps *maps;
    const splat_planes_options *options;
    plane_view *views;      /* [maps->n] */
    plane_global *planes;   /* [PLANE_MAX_PLANES] */
    size_t n_planes;
    int threads;
    plane_votes votes;
    plane_rounds rounds;
    const plane_shade *shade;
    float noise;            /* of the photos on a surface that is right, in levels */
    size_t part;            /* every so many-th view chooses */
    uint64_t n_smooth;      /* pixels that took a smooth surface */
    uint64_t *taken;        /* [PLANE_MAX_PLANES + 1] pixels that took a plane; last: plain ones */
    const plane_seen *seen; /* what the views have chosen, while they choose again */
    bool are_kept[PLANE_MAX_PLANES]; /* by the photos */
} finder;

/* ---------------------------------------------------------------- loops over views */

typedef splat_status (*view_function)(finder *f, size_t number, plane_work *work, splat_error *error);

/* Calls a function for all views. The error is that of the first view that failed. */
static splat_status for_views(finder *f, view_function function, splat_error *error)
{
    splat_status status = SPLAT_OK;
    splat_error first;
    size_t failed = SIZE_MAX;
#pragma omp parallel num_threads(f->threads)
    {
        plane_work work = {0};
        splat_error own;
        size_t largest = 0;
        for (size_t i = 0; i < f->maps->n; i++) {
            size_t n = splat_camera_pixels(&f->maps->views[i].camera);
            if (n > largest) largest = n;
        }
        splat_status own_status = plane_work_make(&work, largest, &own);
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < f->maps->n; i++) {
            splat_status one = own_status == SPLAT_OK ? function(f, i, &work, &own) : own_status;
            if (one == SPLAT_OK) continue;
#pragma omp critical(splat_planes)
            if (i < failed) {
                failed = i;
                status = one;
                first = own;
            }
        }
        plane_work_free(&work);
    }
    if (status != SPLAT_OK && error) *error = first;
    return status;
}

/* ---------------------------------------------------------------- steps */

static splat_status analyse(finder *f, size_t number, plane_work *work, splat_error *error)
{
    splat_view_map *map = &f->maps->views[number];
    plane_view *view = &f->views[number];
    uint16_t edge;
    SPLAT_TRY(f->options->photo(f->options->photo_user, number, work->rgb, error));
    SPLAT_TRY(plane_shade_make(&map->camera, work->rgb, view, error));
    const splat_sky *sky = f->options->sky;
    SPLAT_TRY(plane_segments_make(&map->camera, sky ? &sky->masks[map->number] : NULL, work, view, &edge, error));
    SPLAT_TRY(plane_shade_hide(map, view, error));
    SPLAT_TRY(plane_seeds_make(map, work, edge, view, error));
    return plane_hypotheses_make(f->maps, view, (uint32_t)number, f->options->seed, error);
}

static splat_status assign(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)error;
    plane_candidates(&f->maps->views[number].camera, &f->views[number], f->planes, f->n_planes);
    plane_assign(&f->maps->views[number], &f->views[number], f->planes, work);
    return SPLAT_OK;
}

static void set_pixel(finder *f, splat_view_map *map, size_t p, size_t plane)
{
    const plane_fit *fit = &f->planes[plane].fit;
    const float z = plane_depth(&map->camera, fit, p);
    if (!(z < INFINITY)) return; /* the ray misses the plane: the splat's depth stays */
    plane_set_pixel(map, fit, p, z);
    map->alpha[p] = 255;
}

/* is_known: by the photos, not by what is around. */
static void set_smooth(splat_view_map *map, size_t p, const plane_slant *slant, bool is_known)
{
    float normal[3];
    if (!(slant->q > 0)) return;
    plane_shade_normal(&map->camera, slant, (float)(p % (size_t)map->camera.width) + 0.5f,
                       (float)(p / (size_t)map->camera.width) + 0.5f, normal);
    map->depth[p] = 1 / slant->q;
    map->alpha[p] = 255;
    map->state[p] = is_known ? SPLAT_PIXEL_SHADED : SPLAT_PIXEL_SILENT;
    splat_normal_encode(normal, map->normal + 2 * p);
}

/* Gives the plane to pixels of the rim next to those of a plane, which are no longer plain, if they lie near it.
 * work->component: the plane of every pixel, or -1. */
static void write_rim(finder *f, splat_view_map *map, plane_work *work)
{
    int width = map->camera.width, height = map->camera.height;
    size_t n = splat_camera_pixels(&map->camera);
    for (int pass = 0; pass < RIM; pass++) {
        size_t n_found = 0;
        for (size_t i = 0; i < n; i++) {
            int x = (int)(i % (size_t)width), y = (int)(i / (size_t)width);
            if (work->component[i] != -1) continue;
            int32_t plane = -1;
            if (x > 0 && work->component[i - 1] >= 0) plane = work->component[i - 1];
            else if (x + 1 < width && work->component[i + 1] >= 0) plane = work->component[i + 1];
            else if (y > 0 && work->component[i - (size_t)width] >= 0) plane = work->component[i - (size_t)width];
            else if (y + 1 < height && work->component[i + (size_t)width] >= 0)
                plane = work->component[i + (size_t)width];
            if (plane < 0) continue;
            float z = plane_depth(&map->camera, &f->planes[plane].fit, i), own = map->depth[i];
            if (!(z < INFINITY) || (own > 0 && !(fabsf(own - z) < RIM_PART * z))) continue;
            work->queue[n_found++] = (int32_t)i;
            work->depth[i] = (float)plane;
        }
        for (size_t k = 0; k < n_found; k++) {
            size_t i = (size_t)work->queue[k];
            work->component[i] = (int32_t)work->depth[i];
            set_pixel(f, map, i, (size_t)work->component[i]);
        }
    }
}

static splat_status write(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)error;
    splat_view_map *map = &f->maps->views[number];
    plane_view *view = &f->views[number];
    size_t n = splat_camera_pixels(&map->camera);
    uint64_t taken[PLANE_MAX_PLANES + 1] = {0}, n_smooth = 0;
    for (size_t p = 0; p < n; p++) {
        uint32_t label = view->labels[p], slot = label >> PLANE_LABEL_SHIFT;
        const plane_segment *segment = &view->segments[label ? (label & PLANE_LABEL_SEGMENT) - 1 : 0];
        plane_slant slant;
        work->component[p] = label ? -2 : -1;
        if (label) taken[PLANE_MAX_PLANES]++;
        if (label && !plane_segment_has_planes(segment)) slot = 0;
        uint16_t chosen = 0;
        int choice = label ? plane_choice_at(&map->camera, view, p, &slant, &chosen) : PLANE_CHOICE_KEEP;
        if (choice == PLANE_CHOICE_SPLAT) continue;
        if (choice >= PLANE_CHOICE_SMOOTH) {
            set_smooth(map, p, &slant, choice == PLANE_CHOICE_SMOOTH);
            n_smooth++;
            continue;
        }
        if (choice < PLANE_CHOICE_KEEP) {
            work->component[p] = chosen;
            set_pixel(f, map, p, chosen);
            taken[chosen]++;
            continue;
        }
        if (!slot) continue;
        size_t plane = segment->planes[slot - 1];
        work->component[p] = (int32_t)plane;
        set_pixel(f, map, p, plane);
        taken[plane]++;
    }
    write_rim(f, map, work);
#pragma omp critical(splat_planes)
    {
        for (size_t i = 0; i <= PLANE_MAX_PLANES; i++) f->taken[i] += taken[i];
        f->n_smooth += n_smooth;
    }
    return SPLAT_OK;
}

static splat_status choose(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)work;
    return number % f->part ? SPLAT_OK
                            : plane_choose(f->shade, f->planes, f->n_planes, f->noise, (uint32_t)number, error);
}

/* The photos choose in every so many-th view. */
static splat_status choose_part(finder *f, size_t part, splat_error *error)
{
    f->part = part;
    SPLAT_TRY(plane_gains_noise(f->shade, f->planes, f->threads, &f->noise, error));
    return for_views(f, choose, error);
}

/* The photos choose in all views. What some of them chose tells the gains again where photos differ in brightness. Once
 * gains are known, planes move to where the photos agree on them. */
static splat_status choose_all(finder *f, splat_error *error)
{
    const plane_shade shade = {f->maps, f->views};
    bool are_equal;
    f->shade = &shade;
    SPLAT_TRY(plane_gains_apply(&shade, f->planes, f->threads, f->views, &are_equal, error));
    if (!are_equal) {
        const size_t part = f->maps->n / CALIBRATION;
        SPLAT_TRY(choose_part(f, part > LEAST_PART ? part : LEAST_PART, error));
        SPLAT_TRY(plane_gains_apply(&shade, f->planes, f->threads, f->views, &are_equal, error));
        for (size_t v = 0; v < f->maps->n; v++) plane_surfaces_free(&f->views[v]);
    }
    SPLAT_TRY(plane_gains_noise(f->shade, f->planes, f->threads, &f->noise, error));
    SPLAT_TRY(plane_agree(f->shade, f->planes, f->n_planes, f->noise, f->threads, error));
    return choose_part(f, 1, error);
}

static splat_status choose_known(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)work;
    return plane_known_choose(f->shade, f->planes, f->n_planes, &f->rounds, f->seen, f->noise,
                              (uint32_t)number, error);
}

/* The views choose again, knowing what the others have chosen. */
static splat_status ask_each_other(finder *f, splat_error *error)
{
    splat_status status = SPLAT_OK;
    for (int round = 0; round < SEEN_ROUNDS && status == SPLAT_OK; round++) {
        plane_seen seen;
        SPLAT_TRY(plane_seen_take(f->shade, f->planes, f->threads, &seen, error));
        f->seen = &seen;
        status = for_views(f, choose_known, error);
        plane_seen_free(&seen);
        f->seen = NULL;
    }
    return status;
}

static splat_status settle_seeds(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)work;
    return plane_settle_seeds(f->shade, &f->views[number], f->planes, f->are_kept, number, error);
}

/* Finds planes that cut the round surfaces that the views show. */
static splat_status look_for_arches(finder *f, splat_error *error)
{
    size_t n_found;
    if (!f->rounds.n) return SPLAT_OK;
    SPLAT_TRY(plane_arches_find(f->maps, f->views, &f->rounds, f->threads, f->planes, &f->n_planes, &n_found,
                                error));
    if (!n_found) return SPLAT_OK;
    for (size_t v = 0; v < f->maps->n; v++) plane_surfaces_forget(&f->views[v]);
    SPLAT_TRY(for_views(f, choose_known, error));
    return ask_each_other(f, error);
}

/* Finds round surfaces. Then these and the planes take the cells that they explain. */
static splat_status look_for_rounds(finder *f, splat_error *error)
{
    const plane_shade shade = {f->maps, f->views};
    f->shade = &shade;
    plane_kept_mark(&shade, f->n_planes, f->threads, f->are_kept);
    SPLAT_TRY(for_views(f, settle_seeds, error));
    SPLAT_TRY(plane_rounds_find(&shade, f->planes, f->are_kept, f->n_planes, f->noise, f->options->seed, f->threads,
                                &f->rounds, error));
    SPLAT_TRY(for_views(f, choose_known, error));
    SPLAT_TRY(ask_each_other(f, error));
    return look_for_arches(f, error);
}

/* ---------------------------------------------------------------- what the first planes say of the others */

static splat_status settle(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)work;
    (void)error;
    plane_adopt(&f->maps->views[number], &f->views[number], f->planes, f->n_planes, &f->votes);
    plane_settle(&f->maps->views[number], &f->views[number], f->planes, &f->votes);
    return SPLAT_OK;
}

static splat_status bound_seeds(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)work;
    return plane_pool_bound(&f->views[number], error);
}

static splat_status find_in_pool(finder *f, size_t number, plane_work *work, splat_error *error)
{
    (void)work;
    return plane_pool_make(f->maps, f->views, number, f->options->seed, error);
}

static splat_status assign_again(finder *f, size_t number, plane_work *work, splat_error *error)
{
    plane_view *view = &f->views[number];
    size_t n = splat_camera_pixels(&f->maps->views[number].camera);
    for (size_t p = 0; p < n; p++) view->labels[p] &= PLANE_LABEL_SEGMENT;
    return assign(f, number, work, error);
}

/* Views vote about the planes. *share: of the plain pixels, those that are left to one. */
static splat_status settle_all(finder *f, double *share, splat_error *error)
{
    uint64_t n_taken = 0, n_pixels = 0;
    SPLAT_TRY(plane_votes_make(f->maps, f->views, f->planes, f->n_planes, STRIDE, f->threads, &f->votes, error));
    splat_status status = for_views(f, settle, error);
    plane_votes_free(&f->votes);
    for (size_t v = 0; v < f->maps->n; v++)
        for (uint32_t i = 0; i < f->views[v].n_segments; i++) {
            n_taken += f->views[v].segments[i].n_taken;
            n_pixels += f->views[v].segments[i].n_pixels;
        }
    *share = n_pixels ? (double)n_taken / (double)n_pixels : 0;
    return status;
}

/* Gives segments without a plane hypotheses from all views together. Then makes all planes again. */
static splat_status look_again(finder *f, splat_error *error)
{
    SPLAT_TRY(for_views(f, bound_seeds, error));
    SPLAT_TRY(for_views(f, find_in_pool, error));
    SPLAT_TRY(plane_merge(f->maps, f->views, f->planes, &f->n_planes, error));
    return for_views(f, assign_again, error);
}

/* Leaves out what the photos do not confirm; the other planes take its pixels. */
static splat_status confirm(finder *f, splat_error *error)
{
    const size_t before = f->n_planes;
    double share;
    SPLAT_TRY(plane_confirm(f->maps, f->views, f->planes, &f->n_planes, f->threads, error));
    if (f->n_planes == before) return SPLAT_OK;
    SPLAT_TRY(for_views(f, assign_again, error));
    return settle_all(f, &share, error);
}

/* Moves the planes to where the photos have their edges. Planes of texture have a part in that alone. Where two planes
 * turn out to be one, all move again. */
static splat_status refine(finder *f, splat_error *error)
{
    for (size_t before = 0; f->n_planes && f->n_planes != before;) {
        size_t n = before = f->n_planes;
        SPLAT_TRY(plane_textured_add(f->maps, f->views, f->options->seed, f->threads, f->planes, &n, error));
        SPLAT_TRY(plane_creases_refine(f->maps, f->views, f->planes, n, f->threads, error));
        SPLAT_TRY(plane_twins_join(f->maps, f->views, f->planes, n, &f->n_planes, error));
    }
    return SPLAT_OK;
}

static splat_status find(finder *f, splat_error *error)
{
    double share = 0, before;
    SPLAT_TRY(for_views(f, analyse, error));
    SPLAT_TRY(plane_merge(f->maps, f->views, f->planes, &f->n_planes, error));
    SPLAT_TRY(for_views(f, assign, error));
    for (int round = 0;; round++) {
        before = share;
        SPLAT_TRY(settle_all(f, &share, error));
        if (round == ROUNDS || !f->n_planes || (round > 0 && share < MOSTLY && share < before + LEAST_GAIN))
            break;
        SPLAT_TRY(look_again(f, error));
    }
    SPLAT_TRY(confirm(f, error));
    SPLAT_TRY(plane_sheets_remove(f->maps, f->views, f->planes, &f->n_planes, f->options->seed, f->threads, error));
    SPLAT_TRY(refine(f, error));
    SPLAT_TRY(choose_all(f, error));
    SPLAT_TRY(look_for_rounds(f, error));
    return for_views(f, write, error);
}

static splat_status report(const finder *f, splat_planes_info *info, splat_error *error)
{
    memset(info, 0, sizeof *info);
    info->planes = calloc(PLANE_MAX_PLANES, sizeof *info->planes);
    if (!info->planes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a list of planes");
    info->n = f->n_planes;
    info->n_plain = f->taken[PLANE_MAX_PLANES];
    info->n_smooth = f->n_smooth;
    info->n_rounds = f->rounds.n;
    for (size_t i = 0; i < f->n_planes; i++) {
        const plane_global *from = &f->planes[i];
        splat_plane *to = &info->planes[i];
        for (int k = 0; k < 3; k++) to->normal[k] = from->fit.normal[k];
        to->offset = from->fit.offset;
        to->residual = from->residual;
        to->n_views = from->n_views;
        to->n_pixels = f->taken[i];
        info->n_pixels += f->taken[i];
    }
    return SPLAT_OK;
}

splat_status splat_planes_find(splat_view_maps *maps, const splat_planes_options *options, splat_planes_info *info,
                               splat_error *error)
{
    finder f = {.maps = maps, .options = options, .threads = options->threads > 0 ? options->threads : 1};
    f.views = calloc(maps->n + 1, sizeof *f.views);
    f.planes = calloc(PLANE_MAX_PLANES, sizeof *f.planes);
    f.taken = calloc(PLANE_MAX_PLANES + 1, sizeof *f.taken);
    splat_status status = f.views && f.planes && f.taken
                              ? find(&f, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for planes of %zu views", maps->n);
    if (status == SPLAT_OK) status = report(&f, info, error);
    for (size_t i = 0; f.views && i < maps->n; i++) plane_view_free(&f.views[i]);
    free(f.views);
    free(f.planes);
    free(f.taken);
    return status;
}

void splat_planes_info_free(splat_planes_info *info)
{
    free(info->planes);
    memset(info, 0, sizeof *info);
}

/* ---------------------------------------------------------------- the photos of a scene */

typedef struct photo_source {
    splat_scene *scene;
    const splat_view_maps *maps;
} photo_source;

static splat_status take_photo(void *user, size_t number, uint8_t *rgb, splat_error *error)
{
    const photo_source *source = user;
    const splat_view_map *map = &source->maps->views[number];
    return splat_resized_photo(source->scene, map->index, &map->camera, rgb, error);
}

splat_status splat_surface_planes_apply(splat_scene *scene, const splat_mesh_extract_options *options,
                                        splat_view_maps *maps, splat_planes_info *info, splat_error *error)
{
    photo_source source = {scene, maps};
    const splat_sky *sky;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    splat_planes_options own = {scene->context->threads, options->seed, take_photo, &source,
                                sky->is_found ? sky : NULL};
    SPLAT_TRY(splat_surface_go_on(options, "looking for planes", 0, error));
    SPLAT_TRY(splat_planes_find(maps, &own, info, error));
    uint64_t n_pixels = 0;
    for (size_t i = 0; i < maps->n; i++)
        n_pixels += (uint64_t)maps->views[i].camera.width * (uint64_t)maps->views[i].camera.height;
    double plain = (double)(info->n_plain ? info->n_plain : 1);
    splat_log(scene->context, SPLAT_LOG_NOTICE,
              "%zu planes, %zu round surfaces: %.1f %% of the photos' pixels are plain, %.1f %% of those lie on a "
              "plane and %.1f %% on a smooth or round surface",
              info->n, info->n_rounds, 100.0 * (double)info->n_plain / (double)(n_pixels ? n_pixels : 1),
              100.0 * (double)info->n_pixels / plain, 100.0 * (double)info->n_smooth / plain);
    return SPLAT_OK;
}
