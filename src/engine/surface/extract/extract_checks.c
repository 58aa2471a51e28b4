/* Counts of the mesh in the training views; their sums have no order. */
#include "surface/extract/extract_checks.h"

#include "scene/scene.h"
#include "surface/extract/extract_drawn.h"
#include "surface/extract/free_space.h"

#include <stdlib.h>

#define MOST_PIXELS 2.5e5
#define TOLERANCE 0.02f /* of a trusted depth */

typedef struct counts {
    uint64_t n_covered, n_back, n_trusted, n_violated, n_missing, n_sky_pixels, n_sky_covered;
} counts;

typedef struct checker {
    const splat_extraction *e;
    const splat_sighting *sightings;
    const size_t *starts; /* [views + 1] of each view's sightings */
    counts counts[SPLAT_DRAWN_WORKERS];
} checker;

/* Violated or missing only if all of the 3 x 3 pixels are: at an outline the pixels of two sizes differ. */
static void check_sighting(const splat_sighting *s, const splat_drawn_view *d, counts *sum)
{
    const splat_camera *camera = &d->camera;
    int x = (int)(s->x * (float)camera->width), y = (int)(s->y * (float)camera->height), n_before = 0, n_behind = 0;
    if (x < 1 || y < 1 || x + 1 >= camera->width || y + 1 >= camera->height) return;
    for (int dy = -1; dy < 2; dy++)
        for (int dx = -1; dx < 2; dx++) {
            size_t pixel = (size_t)(y + dy) * (size_t)camera->width + (size_t)(x + dx);
            bool is_there = d->faces[pixel] != 0;
            n_before += is_there && d->depth[pixel] < (1 - TOLERANCE) * s->depth;
            n_behind += !is_there || d->depth[pixel] > (1 + TOLERANCE) * s->depth;
        }
    sum->n_trusted++;
    sum->n_violated += n_before == 9;
    sum->n_missing += n_behind == 9;
}

static void check_view(void *user, const splat_drawn_view *d)
{
    checker *c = user;
    const splat_free_view *seen = splat_free_space_view(c->e->space, d->number);
    counts *sum = &c->counts[d->worker];
    for (size_t i = 0; i < splat_camera_pixels(&d->camera); i++) {
        if (d->kept && !d->kept[i]) continue;
        if (seen) {
            bool is_sky = seen->codes[splat_free_pixel(seen, &d->camera, i)] == SPLAT_FREE_SKY;
            sum->n_sky_pixels += is_sky;
            sum->n_sky_covered += is_sky && d->faces[i];
        }
        if (!d->faces[i]) continue;
        sum->n_covered++;
        sum->n_back += !d->front[i];
    }
    for (size_t i = c->starts[d->number]; i < c->starts[d->number + 1]; i++) check_sighting(&c->sightings[i], d, sum);
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

splat_status splat_extract_check(const splat_extraction *e, const splat_surface_points *points, const splat_mesh *mesh,
                                 splat_mesh_extract_info *info, splat_error *error)
{
    const size_t n_views = e->scene->dataset.n_train, n = points ? points->n_sightings : 0;
    size_t *starts = malloc((n_views + 1) * sizeof *starts), at = 0;
    info->n_covered = info->n_back = info->n_trusted = info->n_violated = info->n_missing = 0;
    info->n_sky_pixels = info->n_sky_covered = 0;
    if (!starts) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to check a mesh");
    for (size_t v = 0; v <= n_views; v++) {
        while (at < n && points->sightings[at].view < v) at++;
        starts[v] = at;
    }
    checker c = {.e = e, .sightings = points ? points->sightings : NULL, .starts = starts};
    splat_status status = splat_surface_go_on(e->options, "checking", 0, error);
    if (status == SPLAT_OK) status = splat_extract_draw(e, mesh, false, MOST_PIXELS, check_view, &c, error);
    for (int k = 0; k < SPLAT_DRAWN_WORKERS && status == SPLAT_OK; k++) add_counts(&c.counts[k], info);
    free(starts);
    return status;
}
