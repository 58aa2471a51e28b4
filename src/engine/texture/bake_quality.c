/* Which views see which face, and how well: the sum of the gradients on it (Gal et al. 2010, as Waechter et al. 2014
 * use it), so that large, sharp and frontal pictures of a face come first. */
#include "texture/bake_quality.h"

#include "texture/bake_parts.h"
#include "texture/bake_photo.h"
#include "texture/bake_view.h"

#include "base/checked.h"
#include "math/camera.h"
#include "ops/texture/texture_math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_FEATHER 0.02f            /* of faces at silhouettes, whose gradients are those of what is behind */
#define FLOOR_GRADIENT (1.0f / 255) /* of faces without any detail: then the larger picture is the better one */

/* Sums over the pixels of a face in one view. */
typedef struct face_sum {
    float gradient, feather, rgb[3];
    uint32_t n;
} face_sum;

float splat_bake_quality_value(uint16_t code)
{
    return splat_texture_weight(code);
}

void splat_bake_offer(splat_bake_candidate list[SPLAT_TEXTURE_CANDIDATES], const splat_bake_candidate *candidate)
{
    int at = SPLAT_TEXTURE_CANDIDATES;
    while (at > 0 && (list[at - 1].view == SPLAT_TEXTURE_NO_VIEW || list[at - 1].quality < candidate->quality)) {
        if (at < SPLAT_TEXTURE_CANDIDATES) list[at] = list[at - 1];
        at--;
    }
    if (at < SPLAT_TEXTURE_CANDIDATES) list[at] = *candidate;
}

/* Adds the pixels of faces with number % n_parts == part: each thread reads all, and a face's sums have one order. */
static void sum_pixels(const splat_camera *c, const splat_bake_room *room, uint32_t part, uint32_t n_parts,
                       face_sum *sums)
{
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            size_t i = (size_t)y * (size_t)c->width + (size_t)x;
            if (!room->faces[i] || room->faces[i] % n_parts != part || !room->front[i]) continue;
            face_sum *sum = &sums[room->faces[i] - 1];
            sum->gradient += splat_bake_gradient(room->luma, c->width, c->height, x, y);
            sum->feather += (float)room->feather[i] * (1.0f / 255);
            for (size_t k = 0; k < 3; k++) sum->rgb[k] += (float)room->photo[3 * i + k];
            sum->n++;
        }
}

/* A face in the world. */
typedef struct face_place {
    float at[3], cross[3]; /* the centroid; the normal, as long as twice the area */
} face_place;

/* A face from a camera. */
typedef struct face_look {
    float cosine;  /* of the face's normal and the way to the camera; below 0: its back */
    float x, y, z; /* of the centroid */
    float pixels;  /* that it covers, were nothing in front */
    float density; /* pixels a scene unit, the direction of the slope foreshortened: the geometric mean */
} face_look;

static void find_places(const splat_mesh *mesh, int threads, face_place *places)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const uint32_t *corners = mesh->faces + 3 * f;
        double cross[3];
        splat_mesh_face_cross(mesh, f, cross);
        for (size_t k = 0; k < 3; k++) {
            double at = 0;
            for (size_t j = 0; j < 3; j++) at += (double)mesh->vertices[3 * (size_t)corners[j] + k] / 3;
            places[f].at[k] = (float)at;
            places[f].cross[k] = (float)cross[k];
        }
    }
}

static face_look look_at(const face_place *place, const splat_camera *c)
{
    const float *at = place->at, *cross = place->cross;
    float camera[3], twice = 0, along = 0, distance = 0;
    for (int k = 0; k < 3; k++) {
        const float to = c->center[k] - at[k];
        twice += cross[k] * cross[k];
        along += cross[k] * to;
        distance += to * to;
    }
    face_look look = {.cosine = -1};
    if (!(along > 0) || !(distance > 0)) return look;
    for (int k = 0; k < 3; k++) {
        const float *r = c->rotation + 3 * k;
        camera[k] = r[0] * at[0] + r[1] * at[1] + r[2] * at[2] + c->translation[k];
    }
    twice = sqrtf(twice);
    if (!(twice > 0) || !(camera[2] > 0)) return look;
    look.cosine = along / (twice * sqrtf(distance));
    look.x = c->fx * camera[0] / camera[2] + c->cx;
    look.y = c->fy * camera[1] / camera[2] + c->cy;
    look.z = camera[2];
    const float rho = 0.5f * (c->fx + c->fy) / camera[2];
    look.pixels = 0.5f * twice * look.cosine * rho * rho;
    look.density = rho * sqrtf(look.cosine);
    return look;
}

/* A face between pixel centres: the pixel that its centroid lies in, when that shows the surface there. */
static void peek(const splat_bake_room *room, const splat_camera *c, const face_look *look, face_sum *sum)
{
    if (!(look->x >= 2 && look->x < (float)c->width - 2 && look->y >= 2 && look->y < (float)c->height - 2)) return;
    int x = (int)look->x, y = (int)look->y;
    size_t i = (size_t)y * (size_t)c->width + (size_t)x;
    if (!(room->depth[i] > 0) || look->z > TEXTURE_BEHIND * room->depth[i]) return;
    sum->gradient = splat_bake_gradient(room->luma, c->width, c->height, x, y);
    sum->feather = (float)room->feather[i] * (1.0f / 255);
    for (size_t k = 0; k < 3; k++) sum->rgb[k] = (float)room->photo[3 * i + k];
    sum->n = 1;
}

/* Offers the view to the faces that it sees, and sets the sums to zero for the next view. */
static void offer_view(splat_bake *bake, const splat_bake_room *room, size_t number, const face_place *places,
                       face_sum *sums)
{
    const splat_mesh *mesh = bake->mesh;
    const splat_camera *c = splat_bake_camera(bake, number);
#pragma omp parallel for schedule(static) num_threads(bake->context->threads)
    for (size_t f = 0; f < mesh->n_faces; f++) {
        face_sum sum = sums[f];
        face_look look = look_at(&places[f], c);
        if (sum.n) sums[f] = (face_sum){0};
        if (!(look.cosine > TEXTURE_LEAST_COSINE)) continue;
        bool between = sum.n == 0;
        if (between) peek(room, c, &look, &sum);
        if (sum.n == 0) continue;
        float n = (float)sum.n, pixels = between ? look.pixels : n;
        splat_bake_candidate candidate = {.view = (uint16_t)number};
        float feather = fmaxf(sum.feather / n, LEAST_FEATHER);
        candidate.quality = splat_texture_weight_code(feather * pixels * (sum.gradient / n + FLOOR_GRADIENT));
        for (int k = 0; k < 3; k++) candidate.rgb[k] = (uint8_t)(sum.rgb[k] / n + 0.5f);
        splat_bake_offer(bake->candidates + SPLAT_TEXTURE_CANDIDATES * f, &candidate);
        bake->densities[f] = fmaxf(bake->densities[f], look.density);
    }
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Factors of the weights from the photos' variances. */
static splat_status level_sharpness(splat_bake *bake, splat_error *error)
{
    float *sorted = malloc(bake->n_views * sizeof *sorted);
    if (!sorted) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", bake->n_views);
    for (size_t v = 0; v < bake->n_views; v++) sorted[v] = bake->views[v].sharpness;
    qsort(sorted, bake->n_views, sizeof *sorted, compare_floats);
    float middle = sorted[bake->n_views / 2];
    for (size_t v = 0; v < bake->n_views; v++) {
        float *own = &bake->views[v].sharpness;
        *own = middle > 0 ? fminf(fmaxf(*own / middle, 0.25f), 1) : 1;
    }
    free(sorted);
    return SPLAT_OK;
}

static splat_status look_through(splat_bake *bake, splat_bake_room *room, const face_place *places, face_sum *sums,
                                 splat_error *error)
{
    int threads = bake->context->threads;
    for (size_t v = 0; v < bake->n_views; v++) {
        const splat_camera *c = splat_bake_camera(bake, v);
        SPLAT_TRY(splat_bake_go_on(bake, "looking", (double)v / (double)bake->n_views, error));
        SPLAT_TRY(splat_bake_draw(bake, v, room, NULL, error));
        SPLAT_TRY(splat_bake_read_photo(bake, v, room, error));
        splat_bake_luma(room->photo, splat_camera_pixels(c), threads, room->luma);
        bake->views[v].sharpness = (float)splat_bake_sharpness(room->luma, c->width, c->height, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int part = 0; part < threads; part++)
            sum_pixels(c, room, (uint32_t)part, (uint32_t)threads, sums);
        offer_view(bake, room, v, places, sums);
    }
    return level_sharpness(bake, error);
}

splat_status splat_bake_quality(splat_bake *bake, splat_bake_room *room, splat_error *error)
{
    size_t n = bake->mesh->n_faces, n_seen = 0;
    if (bake->n_views >= SPLAT_TEXTURE_NO_VIEW)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "a texture takes at most %u views, not %zu",
                          SPLAT_TEXTURE_NO_VIEW - 1, bake->n_views);
    for (size_t i = 0; i < SPLAT_TEXTURE_CANDIDATES * n; i++)
        bake->candidates[i] = (splat_bake_candidate){.view = SPLAT_TEXTURE_NO_VIEW};
    memset(bake->densities, 0, n * sizeof *bake->densities);
    face_sum *sums = calloc(n + 1, sizeof *sums);
    face_place *places = malloc((n + 1) * sizeof *places);
    splat_status status = SPLAT_OK;
    if (sums && places) {
        find_places(bake->mesh, bake->context->threads, places);
        status = look_through(bake, room, places, sums, error);
    } else
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", n);
    free(sums);
    free(places);
    SPLAT_TRY(status);
    for (size_t f = 0; f < n; f++) n_seen += bake->densities[f] > 0;
    if (n_seen == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "none of the %zu training views sees the front of a face: is the mesh of this scene?",
                          bake->n_views);
    return SPLAT_OK;
}
