/* Colours of faces that no view sees: those of the faces around them, so that slivers and folds do not take colours of
 * unrelated faces next to them on the page. */
#include "texture/bake_fill.h"
#include "texture/bake_neighbors.h"
#include "texture/bake_parts.h"

#include <stdlib.h>

/* The mean of the neighbours that have a colour; false: none has. */
static bool mix_neighbors(const uint32_t *neighbors, const uint8_t *colors, size_t face, uint8_t color[4])
{
    int sum[3] = {0, 0, 0}, n = 0;
    for (size_t side = 0; side < 3; side++) {
        uint32_t other = neighbors[3 * face + side];
        if (other == SPLAT_BAKE_NO_FACE || !colors[4 * (size_t)other + 3]) continue;
        for (size_t c = 0; c < 3; c++) sum[c] += colors[4 * (size_t)other + c];
        n++;
    }
    for (int c = 0; c < 3 && n; c++) color[c] = (uint8_t)((sum[c] + n / 2) / n);
    color[3] = n > 0;
    return n > 0;
}

/* Ring by ring from the faces that are seen. */
static void spread(const uint32_t *neighbors, size_t n_faces, uint8_t *colors, uint32_t *queue)
{
    size_t n = 0;
    for (size_t f = 0; f < n_faces; f++)
        if (colors[4 * f + 3]) queue[n++] = (uint32_t)f;
    for (size_t i = 0; i < n; i++)
        for (size_t side = 0; side < 3; side++) {
            uint32_t other = neighbors[3 * (size_t)queue[i] + side];
            if (other == SPLAT_BAKE_NO_FACE || colors[4 * (size_t)other + 3]) continue;
            if (mix_neighbors(neighbors, colors, other, colors + 4 * (size_t)other)) queue[n++] = other;
        }
}

splat_status splat_bake_color_faces(splat_bake *bake, splat_error *error)
{
    size_t n = bake->mesh->n_faces;
    uint32_t *neighbors = splat_bake_neighbors(bake->mesh, bake->context->threads, error);
    uint32_t *queue = malloc(n * sizeof *queue);
    bake->face_colors = calloc(n, 4);
    if (!neighbors || !queue || !bake->face_colors) {
        free(neighbors);
        free(queue);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", n);
    }
    for (size_t f = 0; f < n; f++) {
        const splat_bake_candidate *best = &bake->candidates[SPLAT_TEXTURE_CANDIDATES * f];
        for (int k = 1; k < SPLAT_TEXTURE_CANDIDATES && best->is_outlier; k++) best++;
        if (best->view == SPLAT_TEXTURE_NO_VIEW || best->is_outlier) continue;
        for (size_t c = 0; c < 3; c++) bake->face_colors[4 * f + c] = best->rgb[c];
        bake->face_colors[4 * f + 3] = 1;
    }
    spread(neighbors, n, bake->face_colors, queue);
    free(neighbors);
    free(queue);
    return SPLAT_OK;
}
