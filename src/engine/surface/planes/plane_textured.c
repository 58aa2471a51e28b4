/* The splat knows the depth of texture, so its planes are found where its pixels are. */
#include "surface/planes/plane_textured.h"

#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_patches.h"

#include <math.h>

#define MOST_PLANES 8u      /* that are added */
#define SAME_COSINE 0.9962  /* 5 degrees: between normals of one plane */
#define SAME_OFFSET 0.015   /* of the depth */

typedef struct pictures {
    const splat_view_maps *maps;
    const plane_view *views;
} pictures;

static bool is_textured(const void *user, size_t view, size_t pixel)
{
    const pictures *p = user;
    return p->maps->views[view].depth[pixel] > 0 && !(p->views[view].labels[pixel] & PLANE_LABEL_SEGMENT);
}

/* Puts the rectangle around the patches of a plane. Returns their mean depth. */
static double measure(const plane_patches *patches, plane_global *plane)
{
    double sum = 0;
    size_t n = 0, last = SIZE_MAX;
    plane->n_views = 0;
    plane_rectangle_clear(plane);
    for (size_t i = 0; i < patches->n; i++) { /* in the order of views */
        const plane_patch *p = &patches->patches[i];
        if (!plane_patch_is_on(p, &plane->fit, 1)) continue;
        sum += p->depth;
        n++;
        plane->n_views += p->view != last;
        last = p->view;
        plane_rectangle_add(plane, p->position);
    }
    return n ? sum / (double)n : 0;
}

/* True if one of the planes is this one. depth: the mean depth of its places. */
static bool is_known(const plane_global *planes, size_t n, const plane_global *plane, double depth)
{
    float at[3];
    for (int k = 0; k < 3; k++) at[k] = (float)plane->fit.centroid[k];
    for (size_t i = 0; i < n; i++)
        if (splat_dot3(planes[i].fit.normal, plane->fit.normal) > SAME_COSINE &&
            fabs(plane_distance(&planes[i].fit, at)) < SAME_OFFSET * depth)
            return true;
    return false;
}

splat_status plane_textured_add(const splat_view_maps *maps, const plane_view *views, uint64_t seed, int threads,
                                plane_global *planes, size_t *n, splat_error *error)
{
    const pictures own = {maps, views};
    plane_patches patches = {.maps = maps, .seed = seed, .threads = threads, .is_known = is_textured, .user = &own};
    splat_status status = plane_patches_make(&patches, error);
    for (uint32_t k = 0; status == SPLAT_OK && k < MOST_PLANES && *n < PLANE_MAX_PLANES; k++) {
        plane_global *plane = &planes[*n];
        *plane = (plane_global){.residual = 0};
        if (!plane_patches_next(&patches, k, &plane->fit)) break;
        *n += !is_known(planes, *n, plane, measure(&patches, plane));
    }
    plane_patches_free(&patches);
    return status;
}
