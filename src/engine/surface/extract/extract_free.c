/* The mesh as training views see it, compared with their free space. */
#include "surface/extract/extract_free.h"

#include "mesh/mesh_clean_vertices.h"
#include "surface/extract/extract_drawn.h"
#include "surface/extract/free_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWN_PIXELS 1e6 /* of a picture */
#define ROUNDS 2
#define LEAST_PIXELS 4u

/* The pixels of a face in all views. */
typedef struct face_sight {
    uint32_t n_right, n_silent, n_through, n_back, n_silent_back; /* silent: the view says nothing of the place */
    uint32_t first_view; /* that looks through the face, + 1 */
    uint32_t is_shared;  /* 1: another one does as well */
} face_sight;

typedef struct free_look {
    const splat_extraction *e;
    const splat_mesh *mesh;
    face_sight *sights; /* [faces] */
} free_look;

/* Several threads count, and what they count does not depend on their order. */
static void count(uint32_t *n)
{
    __atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

static void count_through(face_sight *sight, uint32_t view)
{
    uint32_t none = 0;
    count(&sight->n_through);
    bool is_first = __atomic_compare_exchange_n(&sight->first_view, &none, view + 1, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED);
    if (!is_first && none != view + 1) __atomic_store_n(&sight->is_shared, 1, __ATOMIC_RELAXED);
}

/* One pixel. view: NULL: it does not say. */
static void look_at_pixel(const free_look *look, const splat_drawn_view *d, size_t i, const splat_free_view *view)
{
    const uint16_t code = view ? view->codes[splat_free_pixel(view, &d->camera, i)] : 0;
    const float free_depth = splat_free_depth(code), z = d->depth[i];
    const float error = view ? splat_free_error(view, z, SPLAT_FREE_TOLERANCE) : 0;
    const bool is_at = fabsf(z - free_depth) <= error * free_depth && code != SPLAT_FREE_SKY;
    const bool knows_surface = look->e->space->knows_surface;
    face_sight *sight = &look->sights[d->faces[i] - 1];
    if (splat_free_is_open(code) && z < (1 - error) * free_depth)
        count_through(sight, (uint32_t)d->number);
    else if (d->front[i] || !knows_surface)
        count(is_at || !knows_surface ? &sight->n_right : &sight->n_silent);
    else
        count(free_depth > 0 ? &sight->n_back : &sight->n_silent_back);
}

static void look_at(void *user, const splat_drawn_view *d)
{
    const free_look *look = user;
    const splat_free_view *view = splat_free_space_view(look->e->space, d->number);
    for (size_t i = 0; i < splat_camera_pixels(&d->camera); i++)
        if (d->faces[i] && (!d->kept || d->kept[i]))
            look_at_pixel(look, d, i, view);
}

/* True if a face is wrong where it is seen: where two views look through it silent pixels do not speak for it. */
static bool is_wrong(const face_sight *s, bool knows_surface)
{
    const uint32_t n_wrong = s->n_through + s->n_back + (s->n_right == 0 ? s->n_silent_back : 0);
    if (n_wrong < LEAST_PIXELS || n_wrong <= s->n_right) return false;
    return s->is_shared || (knows_surface && n_wrong > s->n_right + s->n_silent);
}

/* Faces of a closed mesh go by pieces. Writes keep of every face. */
static splat_status judge_pieces(const free_look *look, uint8_t *keep, size_t *n_gone, splat_error *error)
{
    const size_t n = look->mesh->n_faces;
    size_t n_pieces = 0;
    uint32_t *pieces = malloc((n + 1) * sizeof *pieces);
    face_sight *sums = calloc(n + 1, sizeof *sums); /* as many pieces as there may be */
    splat_status status = pieces && sums ? splat_mesh_components(look->mesh, look->e->threads, pieces, &n_pieces, error)
                                         : splat_fail(error, SPLAT_ERROR_MEMORY,
                                                      "no memory to compare %zu faces with free space", n);
    for (size_t i = 0; i < (status == SPLAT_OK ? n : 0); i++) {
        face_sight *sum = &sums[pieces[i]];
        const face_sight *face = &look->sights[i];
        sum->n_right += face->n_right;
        sum->n_silent += face->n_silent;
        sum->n_through += face->n_through;
        sum->n_back += face->n_back;
        sum->n_silent_back += face->n_silent_back;
        sum->is_shared |= face->is_shared;
    }
    for (size_t i = 0; i < (status == SPLAT_OK ? n : 0); i++) {
        keep[i] = !is_wrong(&sums[pieces[i]], look->e->space->knows_surface);
        *n_gone += !keep[i];
    }
    free(pieces);
    free(sums);
    return status;
}

/* Writes keep of every face; returns how many go. near: [vertices], 0. */
static size_t judge(const free_look *look, uint8_t *near, uint8_t *keep)
{
    const splat_mesh *mesh = look->mesh;
    size_t n_gone = 0;
    for (size_t i = 0; i < mesh->n_faces; i++) {
        keep[i] = !is_wrong(&look->sights[i], look->e->space->knows_surface);
        for (size_t k = 0; k < 3 && !keep[i]; k++) near[mesh->faces[3 * i + k]] = 1;
    }
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const uint32_t *f = mesh->faces + 3 * i;
        if (keep[i] && look->sights[i].n_right == 0 && (near[f[0]] | near[f[1]] | near[f[2]])) keep[i] = 0;
        n_gone += !keep[i];
    }
    return n_gone;
}

static splat_status drop(free_look *look, splat_mesh *mesh, size_t *n_gone, splat_error *error)
{
    size_t n_unused = 0;
    uint8_t *near = calloc(mesh->n_vertices + 1, 1), *keep = malloc(mesh->n_faces + 1);
    look->sights = calloc(mesh->n_faces + 1, sizeof *look->sights);
    splat_status status = near && keep && look->sights
                              ? splat_extract_draw(look->e, mesh, false, DRAWN_PIXELS, look_at, look, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu faces with free space",
                                           mesh->n_faces);
    if (status == SPLAT_OK && look->e->options->surface == SPLAT_MESH_CLOSED)
        status = judge_pieces(look, keep, n_gone, error);
    else if (status == SPLAT_OK)
        *n_gone = judge(look, near, keep);
    if (status == SPLAT_OK && *n_gone > 0) {
        splat_mesh_keep_faces(mesh, keep, look->e->threads);
        status = splat_mesh_remove_unreferenced(mesh, look->e->threads, &n_unused, error);
    }
    free(near);
    free(keep);
    free(look->sights);
    return status;
}

splat_status splat_extract_drop_free(const splat_extraction *e, splat_mesh *mesh, size_t *n_faces, splat_error *error)
{
    free_look look = {.e = e, .mesh = mesh};
    *n_faces = 0;
    if (e->space->n == 0) return SPLAT_OK;
    for (int round = 0; round < ROUNDS; round++) {
        size_t n_gone = 0;
        SPLAT_TRY(splat_surface_go_on(e->options, "comparing with free space", (double)round / ROUNDS, error));
        SPLAT_TRY(drop(&look, mesh, &n_gone, error));
        *n_faces += n_gone;
        if (n_gone == 0) break;
    }
    if (mesh->n_faces > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "all of the mesh stands in space that the photos show to be free; is it a splat of this scene?");
}
