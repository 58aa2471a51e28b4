/* Finds the box of a place, and cuts meshes to the shell between two boxes. */
#include "mesh/nested_boxes.h"

#include <math.h>

splat_nested_boxes splat_nested_boxes_make(const double low[3], const double high[3])
{
    splat_nested_boxes boxes;
    for (int k = 0; k < 3; k++) {
        boxes.center[k] = 0.5 * (low[k] + high[k]);
        boxes.half[k] = 0.5 * (high[k] - low[k]);
    }
    return boxes;
}

void splat_nested_box(const splat_nested_boxes *boxes, size_t level, double margin, double low[3], double high[3])
{
    for (int k = 0; k < 3; k++) {
        double half = ldexp(boxes->half[k], (int)level) + margin;
        low[k] = boxes->center[k] - half;
        high[k] = boxes->center[k] + half;
    }
}

/* Half the size of the box that a place lies on, over that of the innermost one. */
static double size_at(const splat_nested_boxes *boxes, const double place[3])
{
    double size = 0;
    for (int k = 0; k < 3; k++) size = fmax(size, fabs(place[k] - boxes->center[k]) / boxes->half[k]);
    return size;
}

size_t splat_nested_level(const splat_nested_boxes *boxes, const double place[3], size_t limit)
{
    double size = size_at(boxes, place);
    size_t level = 0;
    while (level < limit && size >= ldexp(1, (int)level)) level++;
    return level;
}

void splat_nested_crop(const splat_nested_boxes *boxes, size_t level, splat_mesh *mesh)
{
    double outer = ldexp(1, (int)level), inner = level ? 0.5 * outer : 0;
    size_t n = 0;
    for (size_t i = 0; i < mesh->n_faces; i++) {
        int n_inner = 0, n_beyond = 0;
        for (size_t k = 0; k < 3; k++) {
            const float *v = mesh->vertices + 3 * (size_t)mesh->faces[3 * i + k];
            const double place[3] = {(double)v[0], (double)v[1], (double)v[2]};
            double size = size_at(boxes, place);
            n_inner += size < inner;
            n_beyond += size >= outer;
        }
        if (n_inner < 3 && n_beyond < 3) splat_mesh_move_face(mesh, n++, i);
    }
    mesh->n_faces = n;
}
