/* Counts of the mesh in the training views; their sums have no order. */
#include "surface/extract/extract_checks.h"

#include "surface/extract/extract_drawn.h"
#include "surface/extract/free_space.h"

#include <math.h>

#define MOST_PIXELS 2.5e5
#define BEHIND 0.05f /* of the free depth, the least around: so far behind it the mesh is another surface */

typedef struct counts {
    uint64_t n_covered, n_back, n_trusted, n_violated, n_missing, n_sky_pixels, n_sky_covered;
} counts;

typedef struct checker {
    const splat_extraction *e;
    counts counts[SPLAT_DRAWN_WORKERS];
} checker;

/* A pixel of which the view knows how far the space is free. */
static void check_pixel(const splat_drawn_view *d, size_t i, const splat_free_view *seen, uint16_t code, counts *sum)
{
    const bool is_there = d->faces[i] != 0;
    const float free_depth = splat_free_depth(code), z = is_there ? d->depth[i] : free_depth;
    const float error = splat_free_error(seen, z, SPLAT_FREE_TOLERANCE);
    if (code == SPLAT_FREE_SKY) {
        sum->n_sky_pixels++;
        sum->n_sky_covered += is_there;
    } else if (splat_free_is_open(code)) {
        sum->n_trusted++;
        sum->n_violated += z < (1 - error) * free_depth;
        sum->n_missing += !is_there || z > (1 + fmaxf(error, BEHIND)) * free_depth;
    }
}

static void check_view(void *user, const splat_drawn_view *d)
{
    checker *c = user;
    const splat_free_view *seen = splat_free_space_view(c->e->space, d->number);
    counts *sum = &c->counts[d->worker];
    for (size_t i = 0; i < splat_camera_pixels(&d->camera); i++) {
        if (d->kept && !d->kept[i]) continue;
        if (seen) check_pixel(d, i, seen, seen->codes[splat_free_pixel(seen, &d->camera, i)], sum);
        sum->n_covered += d->faces[i] != 0;
        sum->n_back += d->faces[i] && !d->front[i];
    }
}

static void add_counts(const counts *sum, splat_mesh_extract_info *info)
{
    info->n_covered += sum->n_covered;
    info->n_back += sum->n_back;
    info->n_trusted += sum->n_trusted;
    info->n_violated += sum->n_violated;
    info->n_missing += sum->n_missing;
    info->n_sky_pixels += sum->n_sky_pixels;
    info->n_sky_covered += sum->n_sky_covered;
}

splat_status splat_extract_check(const splat_extraction *e, const splat_mesh *mesh, splat_mesh_extract_info *info,
                                 splat_error *error)
{
    checker c = {.e = e};
    info->n_covered = info->n_back = info->n_sky_pixels = info->n_sky_covered = 0;
    info->n_trusted = info->n_violated = info->n_missing = 0;
    SPLAT_TRY(splat_surface_go_on(e->options, "checking", 0, error));
    SPLAT_TRY(splat_extract_draw(e, mesh, false, MOST_PIXELS, check_view, &c, error));
    for (int k = 0; k < SPLAT_DRAWN_WORKERS; k++) add_counts(&c.counts[k], info);
    return SPLAT_OK;
}
