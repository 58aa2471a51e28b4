/* Which views see which face, and how well: the sum of the gradients on it (Gal et al. 2010, as Waechter et al. 2014
 * use it), so that large, sharp and frontal pictures of a face come first. */
#include "texture/bake_quality.h"

#include "texture/bake_parts.h"
#include "texture/bake_photo.h"
#include "texture/bake_view.h"

#include "base/checked.h"
#include "math/camera.h"
#include "math/frustum.h"
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

/* The part of n_parts to which a face belongs. Neighbours fall into different parts, so all parts have equal work. */
static inline uint32_t part_of(uint32_t face, uint32_t n_parts)
{
    return (uint32_t)((uint64_t)(face * 2654435769u) * n_parts >> 32); /* Knuth's hash; a remainder takes much longer */
}

/* Adds the pixels of a part's faces: each thread reads all, and a face's sums have one order. */
static void sum_pixels(const splat_camera *c, const splat_bake_room *room, uint32_t part, uint32_t n_parts,
                       face_sum *sums)
{
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            size_t i = (size_t)y * (size_t)c->width + (size_t)x;
            if (!room->faces[i] || part_of(room->faces[i], n_parts) != part || !room->front[i]) continue;
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

#define BLOCK 256 /* faces, one after the other, that lie together; a view asks only for blocks that it may see */

/* Faces as views ask for them. */
typedef struct face_places {
    face_place *faces;  /* [n_faces] */
    float (*balls)[4];  /* [n_blocks]: middle and radius of the faces of a block */
    size_t n_blocks;
} face_places;

/* A face from a camera. */
typedef struct face_look {
    float cosine;  /* of the face's normal and the way to the camera; below 0: its back */
    float x, y, z; /* of the centroid */
    float pixels;  /* that it covers, were nothing in front */
    float density; /* pixels a scene unit, the direction of the slope foreshortened: the geometric mean */
} face_look;

/* A ball around the corners of a block's faces. */
static void bound_block(const splat_mesh *mesh, size_t block, float ball[4])
{
    const size_t first = block * BLOCK, end = first + BLOCK < mesh->n_faces ? first + BLOCK : mesh->n_faces;
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 3 * first; i < 3 * end; i++)
        for (size_t k = 0; k < 3; k++) {
            const float x = mesh->vertices[3 * (size_t)mesh->faces[i] + k];
            low[k] = fminf(low[k], x);
            high[k] = fmaxf(high[k], x);
        }
    splat_ball_around(low, high, ball);
}

static void find_places(const splat_mesh *mesh, int threads, face_places *places)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const uint32_t *corners = mesh->faces + 3 * f;
        face_place *own = &places->faces[f];
        double cross[3];
        splat_mesh_face_cross(mesh, f, cross);
        for (size_t k = 0; k < 3; k++) {
            double at = 0;
            for (size_t j = 0; j < 3; j++) at += (double)mesh->vertices[3 * (size_t)corners[j] + k] / 3;
            own->at[k] = (float)at;
            own->cross[k] = (float)cross[k];
        }
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < places->n_blocks; b++) bound_block(mesh, b, places->balls[b]);
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

/* Offers the view to a face that it may see. */
static void offer_face(splat_bake *bake, const splat_bake_room *room, size_t number, const face_place *place,
                       size_t face, face_sum *own)
{
    const splat_camera *c = splat_bake_camera(bake, number);
    face_sum sum = *own;
    const face_look look = look_at(place, c);
    if (sum.n) *own = (face_sum){0};
    if (!(look.cosine > TEXTURE_LEAST_COSINE)) return;
    const bool between = sum.n == 0;
    if (between) peek(room, c, &look, &sum);
    if (sum.n == 0) return;
    const float n = (float)sum.n, pixels = between ? look.pixels : n;
    splat_bake_candidate candidate = {.view = (uint16_t)number};
    const float feather = fmaxf(sum.feather / n, LEAST_FEATHER);
    candidate.quality = splat_texture_weight_code(feather * pixels * (sum.gradient / n + FLOOR_GRADIENT));
    for (int k = 0; k < 3; k++) candidate.rgb[k] = (uint8_t)(sum.rgb[k] / n + 0.5f);
    splat_bake_offer(bake->candidates + SPLAT_TEXTURE_CANDIDATES * face, &candidate);
    bake->densities[face] = fmaxf(bake->densities[face], look.density);
}

/* Offers the view to the faces that it sees, and sets the sums to zero for the next view. */
static void offer_view(splat_bake *bake, const splat_bake_room *room, size_t number, const face_places *places,
                       face_sum *sums)
{
    const splat_frustum sight = splat_frustum_of(splat_bake_camera(bake, number));
    const size_t n_faces = bake->mesh->n_faces;
#pragma omp parallel for schedule(dynamic, 16) num_threads(bake->context->threads)
    for (size_t b = 0; b < places->n_blocks; b++) {
        if (!splat_frustum_may_see(&sight, places->balls[b])) continue;
        for (size_t f = b * BLOCK; f < n_faces && f < (b + 1) * BLOCK; f++)
            offer_face(bake, room, number, &places->faces[f], f, &sums[f]);
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

static splat_status look_through(splat_bake *bake, splat_bake_room *room, const face_places *places, face_sum *sums,
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
    face_places places = {.n_blocks = (n + BLOCK - 1) / BLOCK};
    places.faces = malloc((n + 1) * sizeof *places.faces);
    places.balls = malloc((places.n_blocks + 1) * sizeof *places.balls);
    splat_status status = SPLAT_OK;
    if (sums && places.faces && places.balls) {
        find_places(bake->mesh, bake->context->threads, &places);
        status = look_through(bake, room, &places, sums, error);
    } else
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", n);
    free(sums);
    free(places.faces);
    free(places.balls);
    SPLAT_TRY(status);
    for (size_t f = 0; f < n; f++) n_seen += bake->densities[f] > 0;
    if (n_seen == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "none of the %zu training views sees the front of a face: is the mesh of this scene?",
                          bake->n_views);
    return SPLAT_OK;
}
