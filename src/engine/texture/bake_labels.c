/* Which view a face takes its details from: sum over faces of 1 - quality / best quality of the face, plus 1/4 for
 * each pair of neighbours with two labels (Potts), lowered by iterated conditional modes in the order of the faces;
 * then small patches join what is
 * around them (Waechter et al. 2014, section 4.1, with a simpler solver: details of another view are no fault that
 * shows, once the low band is averaged). */
#include "texture/bake_labels.h"
#include "texture/bake_neighbors.h"
#include "texture/bake_parts.h"
#include "texture/bake_quality.h"

#include <stdlib.h>
#include <string.h>

#define POTTS 0.25f
#define SWEEPS 10
#define LEAST_PATCH 10        /* faces */

typedef struct labeller {
    splat_bake *bake;
    const uint32_t *neighbors;
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

/* Returns true if a label changed. */
static bool sweep(labeller *l)
{
    uint16_t *labels = l->bake->labels;
    bool changed = false;
    for (size_t f = 0; f < l->bake->mesh->n_faces; f++) {
        if (labels[f] == SPLAT_TEXTURE_NO_VIEW) continue;
        float best = energy_of(l, f, labels[f]);
        for (size_t side = 0; side < 3; side++) {
            uint16_t view = label_beside(l, f, side);
            if (view == SPLAT_TEXTURE_NO_VIEW || view == labels[f] || cost_of(l, f, view) > 1) continue;
            float energy = energy_of(l, f, view);
            if (!(energy < best)) continue;
            best = energy;
            labels[f] = view;
            changed = true;
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

static void join_patches(labeller *l)
{
    for (size_t f = 0; f < l->bake->mesh->n_faces; f++) {
        uint32_t patch[LEAST_PATCH];
        if (l->bake->labels[f] == SPLAT_TEXTURE_NO_VIEW) continue;
        int n = patch_of(l, f, patch);
        if (n < LEAST_PATCH) join_patch(l, patch, n);
    }
}

/* Computes the labels around each vertex: a share for each label, of the four that most faces there have. */
static splat_status share_labels(const splat_bake *bake, splat_error *error)
{
    const splat_mesh *mesh = bake->mesh;
    uint32_t *starts = calloc(mesh->n_vertices + 1, sizeof *starts);
    uint32_t *around = malloc(3 * mesh->n_faces * sizeof *around);
    if (!starts || !around) {
        free(starts);
        free(around);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", mesh->n_faces);
    }
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) starts[mesh->faces[i]]++;
    for (size_t v = 0, sum = 0; v <= mesh->n_vertices; v++) {
        sum += starts[v];
        starts[v] = (uint32_t)sum;
    }
    for (size_t i = 3 * mesh->n_faces; i-- > 0;) around[--starts[mesh->faces[i]]] = (uint32_t)(i / 3);
#pragma omp parallel for schedule(static) num_threads(bake->context->threads)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        splat_texture_labels *out = &bake->vertex_labels[v];
        uint32_t counts[SPLAT_TEXTURE_LABELS] = {0}, n = 0;
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
    labeller l = {.bake = bake};
    uint32_t *neighbors = splat_bake_neighbors(mesh, error);
    if (!neighbors) return SPLAT_ERROR_MEMORY;
    l.neighbors = neighbors;
    for (int i = 0; i < SWEEPS; i++)
        if (!sweep(&l)) break;
    join_patches(&l);
    free(neighbors);
    return share_labels(bake, error);
}
