/* Which view a face takes its details from: sum over faces of 1 - quality / best quality of the face, plus 1/4 for
 * each pair of neighbours with two labels (Potts), lowered by iterated conditional modes in the order of the faces;
 * then small patches join what is
 * around them (Waechter et al. 2014, section 4.1, with a simpler solver: details of another view are no fault that
 * shows, once the low band is averaged). */
#include "texture/bake_labels.h"
#include "texture/bake_neighbors.h"
#include "texture/bake_parts.h"
#include "texture/bake_quality.h"

#include "base/rows.h"

#include <stdlib.h>
#include <string.h>

#define POTTS 0.25f
#define SWEEPS 10
#define LEAST_PATCH 10        /* faces */

/* Flags of a face: its next look may change it; a neighbour does not name it in return (an edge of three faces), so it
 * hears of no change there. */
enum { IS_DUE = 1, IS_ONE_SIDED = 2 };

typedef struct labeller {
    splat_bake *bake;
    const uint32_t *neighbors;
    uint8_t *flags; /* [n_faces] */
} labeller;

/* Cost of a view for a face, 0 to 1; above 1 when it is none of those that are kept. */
static float cost_of(const labeller *l, size_t face, uint16_t view)
{
    const splat_bake_candidate *c = l->bake->candidates + SPLAT_TEXTURE_CANDIDATES * face;
    const uint16_t *list = l->bake->lists + SPLAT_TEXTURE_CANDIDATES * face;
    bool is_kept = false;
    for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES && list[k] != SPLAT_TEXTURE_NO_VIEW; k++) is_kept |= list[k] == view;
    for (int k = 0; is_kept && k < SPLAT_TEXTURE_CANDIDATES && c[k].view != SPLAT_TEXTURE_NO_VIEW; k++) {
        if (c[k].view != view) continue;
        return 1 - splat_bake_quality_value(c[k].quality) / splat_bake_quality_value(c[0].quality);
    }
    return 2;
}

static uint16_t label_beside(const labeller *l, size_t face, size_t side)
{
    uint32_t other = l->neighbors[3 * face + side];
    return other == SPLAT_BAKE_NO_FACE ? SPLAT_TEXTURE_NO_VIEW : l->bake->labels[other];
}

static float energy_of(const labeller *l, size_t face, uint16_t view)
{
    float energy = cost_of(l, face, view);
    for (size_t side = 0; side < 3; side++) {
        uint16_t other = label_beside(l, face, side);
        if (other != SPLAT_TEXTURE_NO_VIEW && other != view) energy += POTTS;
    }
    return energy;
}

/* Gives a face the label of a neighbour that lowers the energy. label: its own, in its place or a copy. Returns true
 * if it changed. */
static bool improve(const labeller *l, size_t face, uint16_t *label)
{
    bool changed = false;
    float best = -1;
    if (*label == SPLAT_TEXTURE_NO_VIEW) return false;
    for (size_t side = 0; side < 3; side++) {
        uint16_t view = label_beside(l, face, side);
        if (view == SPLAT_TEXTURE_NO_VIEW || view == *label || cost_of(l, face, view) > 1) continue;
        if (best < 0) best = energy_of(l, face, *label);
        float energy = energy_of(l, face, view);
        if (!(energy < best)) continue;
        best = energy;
        *label = view;
        changed = true;
    }
    return changed;
}

static bool is_one_sided(const labeller *l, size_t face)
{
    for (size_t side = 0; side < 3; side++) {
        const uint32_t *back = l->neighbors + 3 * (size_t)l->neighbors[3 * face + side];
        if (l->neighbors[3 * face + side] == SPLAT_BAKE_NO_FACE) continue;
        if (back[0] != face && back[1] != face && back[2] != face) return true;
    }
    return false;
}

/* All threads look for the faces that a first sweep may change. */
static void find_due(const labeller *l)
{
    const int threads = l->bake->context->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t f = 0; f < l->bake->mesh->n_faces; f++) {
        uint16_t label = l->bake->labels[f];
        l->flags[f] = (uint8_t)((is_one_sided(l, f) ? IS_ONE_SIDED : 0) | (improve(l, f, &label) ? IS_DUE : 0));
    }
}

/* One thread, in the order of the faces: looks again at faces that changed, or whose neighbours did. Another look at
 * the others would find the same as the last one. Returns true if a label changed. */
static bool sweep(const labeller *l)
{
    bool changed = false;
    for (size_t f = 0; f < l->bake->mesh->n_faces; f++) {
        if (!l->flags[f]) continue;
        l->flags[f] &= IS_ONE_SIDED;
        if (!improve(l, f, &l->bake->labels[f])) continue;
        changed = true;
        l->flags[f] |= IS_DUE;
        for (size_t side = 0; side < 3; side++) {
            uint32_t other = l->neighbors[3 * f + side];
            if (other != SPLAT_BAKE_NO_FACE) l->flags[other] |= IS_DUE;
        }
    }
    return changed;
}

/* Faces of the patch around `face`, up to LEAST_PATCH of them. */
static int patch_of(const labeller *l, size_t face, uint32_t patch[LEAST_PATCH])
{
    int n = 1;
    patch[0] = (uint32_t)face;
    for (int i = 0; i < n; i++)
        for (size_t side = 0; side < 3; side++) {
            uint32_t other = l->neighbors[3 * (size_t)patch[i] + side];
            bool is_new = other != SPLAT_BAKE_NO_FACE && l->bake->labels[other] == l->bake->labels[face];
            for (int k = 0; k < n && is_new; k++) is_new = patch[k] != other;
            if (!is_new) continue;
            if (n == LEAST_PATCH) return n;
            patch[n++] = other;
        }
    return n;
}

/* A patch of few faces takes the label that most of the sides around it have, of those that all its faces may have. */
static void join_patch(labeller *l, const uint32_t *patch, int n)
{
    uint16_t *labels = l->bake->labels, own = labels[patch[0]], best = own;
    int best_count = 0;
    for (int i = 0; i < 3 * n; i++) {
        uint16_t view = label_beside(l, patch[i / 3], (size_t)(i % 3));
        int count = 0;
        if (view == own || view == SPLAT_TEXTURE_NO_VIEW) continue;
        for (int k = 0; k < 3 * n; k++) count += label_beside(l, patch[k / 3], (size_t)(k % 3)) == view;
        for (int k = 0; k < n && count > 0; k++)
            if (cost_of(l, patch[k], view) > 1) count = 0;
        if (count < best_count || (count == best_count && view >= best)) continue;
        best_count = count;
        best = view;
    }
    for (int k = 0; k < n && best_count > 0; k++) labels[patch[k]] = best;
}

/* True if the patch of a face is small, or may become so: one that is not keeps its faces, as each of them finds all
 * others over sides that lead both ways. */
static bool may_join(const labeller *l, size_t face)
{
    uint32_t patch[LEAST_PATCH];
    bool may = false;
    if (l->bake->labels[face] == SPLAT_TEXTURE_NO_VIEW) return false;
    int n = patch_of(l, face, patch);
    for (int i = 0; i < n; i++) may |= (l->flags[patch[i]] & IS_ONE_SIDED) != 0;
    return may || n < LEAST_PATCH;
}

/* All threads look for small patches, one joins them in the order of the faces. */
static void join_patches(labeller *l, uint8_t *may)
{
    const int threads = l->bake->context->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t f = 0; f < l->bake->mesh->n_faces; f++) may[f] = may_join(l, f);
    for (size_t f = 0; f < l->bake->mesh->n_faces; f++) {
        uint32_t patch[LEAST_PATCH];
        if (!may[f]) continue;
        int n = patch_of(l, f, patch);
        if (n < LEAST_PATCH) join_patch(l, patch, n);
    }
}

static int compare_faces(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Faces around a vertex, which threads have listed in any order, a handful each. */
static void sort_faces(uint32_t *faces, size_t n)
{
    if (n > 32) {
        qsort(faces, n, sizeof *faces, compare_faces);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint32_t face = faces[i];
        size_t j = i;
        for (; j > 0 && faces[j - 1] > face; j--) faces[j] = faces[j - 1];
        faces[j] = face;
    }
}

/* Computes the labels around each vertex: a share for each label, of the four that most faces there have. */
static splat_status share_labels(const splat_bake *bake, splat_error *error)
{
    const splat_mesh *mesh = bake->mesh;
    const int threads = bake->context->threads;
    uint32_t *starts = calloc(mesh->n_vertices + 2, sizeof *starts);
    uint32_t *around = malloc(3 * mesh->n_faces * sizeof *around);
    if (!starts || !around) {
        free(starts);
        free(around);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", mesh->n_faces);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < 3 * mesh->n_faces; i++)
        __atomic_fetch_add(&starts[(size_t)mesh->faces[i] + 2], 1, __ATOMIC_RELAXED);
    splat_add_up(starts, mesh->n_vertices + 2, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) /* starts[v + 1] walks to the end of v's faces */
        around[__atomic_fetch_add(&starts[(size_t)mesh->faces[i] + 1], 1, __ATOMIC_RELAXED)] = (uint32_t)(i / 3);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        splat_texture_labels *out = &bake->vertex_labels[v];
        uint32_t counts[SPLAT_TEXTURE_LABELS] = {0}, n = 0;
        sort_faces(around + starts[v], starts[v + 1] - starts[v]);
        for (int k = 0; k < SPLAT_TEXTURE_LABELS; k++) out->view[k] = SPLAT_TEXTURE_NO_VIEW;
        for (uint32_t i = starts[v]; i < starts[v + 1]; i++) { /* beyond four labels the later ones are left out */
            uint16_t label = bake->labels[around[i]];
            int k = 0;
            if (label == SPLAT_TEXTURE_NO_VIEW) continue;
            while (k < SPLAT_TEXTURE_LABELS && out->view[k] != label && out->view[k] != SPLAT_TEXTURE_NO_VIEW) k++;
            if (k == SPLAT_TEXTURE_LABELS) continue;
            out->view[k] = label;
            counts[k]++;
            n++;
        }
        for (int k = 0; k < SPLAT_TEXTURE_LABELS; k++)
            out->share[k] = (uint8_t)(n ? (255 * counts[k] + n / 2) / n : 0);
    }
    free(starts);
    free(around);
    return SPLAT_OK;
}

splat_status splat_bake_label(splat_bake *bake, splat_error *error)
{
    const splat_mesh *mesh = bake->mesh;
    bake->labels = malloc(mesh->n_faces * sizeof *bake->labels);
    bake->vertex_labels = malloc(mesh->n_vertices * sizeof *bake->vertex_labels);
    if (!bake->labels || !bake->vertex_labels)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to label %zu faces", mesh->n_faces);
    for (size_t f = 0; f < mesh->n_faces; f++) bake->labels[f] = bake->lists[SPLAT_TEXTURE_CANDIDATES * f];
    uint32_t *neighbors = splat_bake_neighbors(mesh, bake->context->threads, error);
    uint8_t *flags = malloc(2 * mesh->n_faces);
    if (neighbors && flags) {
        labeller l = {bake, neighbors, flags};
        find_due(&l);
        for (int i = 0; i < SWEEPS; i++)
            if (!sweep(&l)) break;
        join_patches(&l, flags + mesh->n_faces);
    }
    bool good = neighbors && flags;
    free(neighbors);
    free(flags);
    if (!good) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to label %zu faces", mesh->n_faces);
    return share_labels(bake, error);
}
