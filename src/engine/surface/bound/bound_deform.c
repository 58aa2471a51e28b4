/* Gaussians follow an edited mesh: the affine map of every triangle, in double. */
#include "surface/bound/bound.h"

#include "ops/bind/bind_elements.h"
#include "surface/bound/face_frame.h"

#include <math.h>
#include <string.h>

/* Gaussians whose squared deviations differ by less, relatively, are round: rounding alone makes such axes. */
#define ROUND 1e-6

/* F: sides of the edited face = F sides of the reference. Its determinant is positive. */
static void map_between(const splat_face_frame *from, const splat_face_frame *to, double map[2][2])
{
    const double(*s)[2] = from->sides;
    const double det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
    const double inverse[2][2] = {{s[1][1] / det, -s[0][1] / det}, {-s[1][0] / det, s[0][0] / det}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) map[i][j] = to->sides[i][0] * inverse[0][j] + to->sides[i][1] * inverse[1][j];
}

/* The axes of F C F^T = M M^T, M = F [R1 s1, R2 s2]. Of both, the first is the one nearest to R1; where there are none,
 * as the image is a circle, R1 itself. Small axes come from the determinant, which keeps their digits. */
static void deform(double map[2][2], float scales[2], float turn[2])
{
    const double length = hypot((double)turn[0], (double)turn[1]), x = turn[0] / length, y = turn[1] / length;
    const double s1 = exp((double)scales[0]), s2 = exp((double)scales[1]);
    const double m[2][2] = {{(map[0][0] * x + map[0][1] * y) * s1, (-map[0][0] * y + map[0][1] * x) * s2},
                            {(map[1][0] * x + map[1][1] * y) * s1, (-map[1][0] * y + map[1][1] * x) * s2}};
    const double c00 = m[0][0] * m[0][0] + m[0][1] * m[0][1], c11 = m[1][0] * m[1][0] + m[1][1] * m[1][1];
    const double c01 = m[0][0] * m[1][0] + m[0][1] * m[1][1], spread = hypot(2 * c01, c00 - c11);
    const double large = sqrt((c00 + c11 + spread) / 2), small = fabs(m[0][0] * m[1][1] - m[0][1] * m[1][0]) / large;
    if (!(large > 0) || !isfinite(large)) return;
    double axis_x = x, axis_y = y;
    bool first_is_large = true;
    if (spread > ROUND * (c00 + c11)) {
        const double theta = atan2(2 * c01, c00 - c11) / 2, along = cos(theta) * x + sin(theta) * y;
        const double across = -sin(theta) * x + cos(theta) * y;
        first_is_large = fabs(along) >= fabs(across);
        axis_x = first_is_large ? copysign(1, along) * cos(theta) : -copysign(1, across) * sin(theta);
        axis_y = first_is_large ? copysign(1, along) * sin(theta) : copysign(1, across) * cos(theta);
    }
    scales[0] = (float)log(first_is_large ? large : small);
    scales[1] = (float)log(first_is_large ? small : large);
    turn[0] = (float)axis_x;
    turn[1] = (float)axis_y;
}

static splat_status check_same_faces(const splat_mesh *reference, const splat_mesh *edited, splat_error *error)
{
    if (reference->n_faces != edited->n_faces || reference->n_vertices != edited->n_vertices)
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "the edited mesh has %zu vertices and %zu faces, the one it was made from %zu and %zu; edit "
                          "it without adding, removing or merging any",
                          edited->n_vertices, edited->n_faces, reference->n_vertices, reference->n_faces);
    for (size_t f = 0; f < reference->n_faces; f++)
        if (memcmp(reference->faces + 3 * f, edited->faces + 3 * f, 3 * sizeof *reference->faces) != 0)
            return splat_fail(error, SPLAT_ERROR_FORMAT,
                              "face %zu of the edited mesh joins other vertices than in the mesh it was made from; "
                              "edit it without changing the order of vertices and faces",
                              f);
    return SPLAT_OK;
}

splat_status splat_bound_deform(const splat_bound_mesh *bound, const splat_mesh *reference, const splat_mesh *edited,
                                float *plane_scales, float *plane_rotations, size_t *n_kept, splat_error *error)
{
    size_t kept = 0;
    SPLAT_TRY(check_same_faces(reference, edited, error));
    for (size_t f = 0; f < reference->n_faces; f++) {
        splat_face_frame from, to;
        double map[2][2];
        if (!splat_face_frame_of(bound, reference, f, &from) || !splat_face_frame_of(bound, edited, f, &to)) {
            kept++;
            continue;
        }
        map_between(&from, &to, map);
        for (size_t i = f * (size_t)bound->per_face; i < (f + 1) * (size_t)bound->per_face; i++)
            if (splat_bind_plane_square(plane_scales + 2 * i, plane_rotations + 2 * i) > 0)
                deform(map, plane_scales + 2 * i, plane_rotations + 2 * i);
    }
    if (n_kept) *n_kept = kept;
    return SPLAT_OK;
}

void splat_bound_place(const splat_bound_mesh *bound, const splat_mesh *mesh, const float *plane_scales,
                       const float *plane_rotations, float *means, float *scales, float *rotations, float *filter_3d)
{
    /* only read */
    const splat_bound_tensors tensors = {mesh->vertices, (float *)plane_scales, (float *)plane_rotations};
    splat_bind_job job = {*bound, tensors, logf(bound->thickness), means, scales, rotations, filter_3d};
    job.mesh.faces = mesh->faces;
    for (uint32_t f = 0; f < bound->n_faces; f++)
        for (int j = 0; j < bound->per_face; j++) splat_bind_one(&job, f, j, bound->per_face);
}

void splat_bound_turns_of(const splat_bound_mesh *bound, const splat_mesh *mesh, const float *rotations,
                          float *plane_rotations)
{
    for (size_t f = 0; f < mesh->n_faces; f++) {
        splat_face_frame frame;
        const bool is_shown = splat_face_frame_of(bound, mesh, f, &frame);
        for (size_t i = f * (size_t)bound->per_face; i < (f + 1) * (size_t)bound->per_face; i++) {
            const float *q = rotations + 4 * i;
            const double w = q[0], x = q[1], y = q[2], z = q[3];
            /* times |q|^2 */
            const double r1[3] = {2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x)};
            double along = 0, across = 0;
            for (int k = 0; is_shown && k < 3; k++) {
                along += r1[k] * frame.e1[k];
                across += r1[k] * frame.e2[k];
            }
            const double length = hypot(along, across);
            plane_rotations[2 * i] = length > 0 ? (float)(along / length) : 1;
            plane_rotations[2 * i + 1] = length > 0 ? (float)(across / length) : 0;
        }
    }
}
