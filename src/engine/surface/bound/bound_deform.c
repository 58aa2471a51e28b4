/* Gaussians follow an edited mesh: the affine map of every triangle, in double; then colours that depend on the
 * direction. */
#include "surface/bound/bound_deform.h"

#include "math/sh.h"
#include "math/vec3.h"
#include "ops/bind/bind_elements.h"
#include "ops/bind/bind_math.h"

#include <math.h>
#include <string.h>

/* Gaussians whose squared deviations differ by less, relatively, are round: rounding alone makes such axes. */
#define ROUND 1e-6

/* ---------------------------------------------------------------- the frame of a triangle */

/* docs/method.md, "Gaussians bound to a mesh" */
typedef struct face_frame {
    double r0[3], e1[3], e2[3];
    double sides[2][2]; /* [e1, e2][v1 - v0, v2 - v0] */
} face_frame;

/* The frame of face f; false if the face is degenerate, by the rule of op bind. */
static bool face_frame_of(const splat_bound_mesh *bound, const splat_mesh *mesh, size_t f, face_frame *frame)
{
    const uint32_t *corners = mesh->faces + 3 * f;
    const float *v0 = mesh->vertices + 3 * (size_t)corners[0], *v1 = mesh->vertices + 3 * (size_t)corners[1];
    const float *v2 = mesh->vertices + 3 * (size_t)corners[2];
    if (splat_bind_face_make(bound, splat_bind_load(v0), splat_bind_load(v1), splat_bind_load(v2)).is_degenerate)
        return false;
    double a[3], b[3], normal[3];
    for (int k = 0; k < 3; k++) {
        a[k] = (double)v1[k] - (double)v0[k];
        b[k] = (double)v2[k] - (double)v0[k];
    }
    splat_cross3(a, b, normal);
    const double length = sqrt(splat_dot3(a, a)), twice_area = sqrt(splat_dot3(normal, normal));
    for (int k = 0; k < 3; k++) {
        frame->r0[k] = normal[k] / twice_area;
        frame->e1[k] = -a[k] / length;
    }
    splat_cross3(frame->r0, frame->e1, frame->e2);
    frame->sides[0][0] = -length;
    frame->sides[1][0] = 0;
    frame->sides[0][1] = splat_dot3(b, frame->e1);
    frame->sides[1][1] = splat_dot3(b, frame->e2);
    return true;
}

/* ---------------------------------------------------------------- Gaussians follow their triangles */

/* F: sides of the edited face = F sides of the reference. Its determinant is positive. */
static void map_between(const face_frame *from, const face_frame *to, double map[2][2])
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
        face_frame from, to;
        double map[2][2];
        if (!face_frame_of(bound, reference, f, &from) || !face_frame_of(bound, edited, f, &to)) {
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
        face_frame frame;
        const bool is_shown = face_frame_of(bound, mesh, f, &frame);
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

/* ---------------------------------------------------------------- colours
 * Spherical harmonics turn with the faces of an edited mesh. A band that is turned stays a band, so 2 l + 1 values tell
 * its new coefficients: with directions d_i, B_ik = b_k(d_i) and the rotation Q, B c' = (b_k(Q^T d_i))_ik c. */

#define MOST 7 /* coefficients of a band */

static void basis_of(int band, const double d[3], double values[MOST])
{
    float all[16] = {0}, x = (float)d[0], y = (float)d[1], z = (float)d[2];
    if (band == 1) splat_sh_band1(x, y, z, all, 1);
    if (band == 2) splat_sh_band2(x, y, z, all, 1);
    if (band == 3) splat_sh_band3(x, y, z, all, 1);
    for (int k = 0; k < 2 * band + 1; k++) values[k] = (double)all[band * band + k];
}

/* Directions on a half sphere along a spiral: the condition of B is below 50. */
static void direction_of(int band, int i, double d[3])
{
    const double z = 1 - (i + 0.5) / (2 * band + 1), radius = sqrt(1 - z * z), angle = 2.399963229728653 * i;
    d[0] = radius * cos(angle);
    d[1] = radius * sin(angle);
    d[2] = z;
}

/* Gauss-Jordan with pivots. */
static void invert(int n, double a[MOST][MOST], double inverse[MOST][MOST])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) inverse[i][j] = i == j;
    for (int column = 0; column < n; column++) {
        int pivot = column;
        for (int i = column + 1; i < n; i++)
            if (fabs(a[i][column]) > fabs(a[pivot][column])) pivot = i;
        for (int j = 0; j < n; j++) {
            double kept = a[column][j], other = inverse[column][j];
            a[column][j] = a[pivot][j], a[pivot][j] = kept;
            inverse[column][j] = inverse[pivot][j], inverse[pivot][j] = other;
        }
        const double scale = 1 / a[column][column];
        for (int j = 0; j < n; j++) a[column][j] *= scale, inverse[column][j] *= scale;
        for (int i = 0; i < n; i++) {
            const double factor = i == column ? 0 : a[i][column];
            for (int j = 0; j < n; j++) {
                a[i][j] -= factor * a[column][j];
                inverse[i][j] -= factor * inverse[column][j];
            }
        }
    }
}

typedef struct turner {
    int sh_degree;
    double inverse[4][MOST][MOST]; /* of B, by band */
} turner;

static turner turner_make(int sh_degree)
{
    turner t = {.sh_degree = sh_degree};
    for (int band = 1; band <= sh_degree; band++) {
        double basis[MOST][MOST], d[3];
        for (int i = 0; i < 2 * band + 1; i++) {
            direction_of(band, i, d);
            basis_of(band, d, basis[i]);
        }
        invert(2 * band + 1, basis, t.inverse[band]);
    }
    return t;
}

/* The matrix of a band: new coefficients = matrix old ones. */
static void matrix_of(const turner *t, int band, double rotation[3][3], double matrix[MOST][MOST])
{
    const int n = 2 * band + 1;
    double turned[MOST][MOST];
    for (int i = 0; i < n; i++) {
        double d[3], back[3] = {0};
        direction_of(band, i, d);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) back[a] += rotation[b][a] * d[b];
        basis_of(band, back, turned[i]);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            matrix[i][k] = 0;
            for (int j = 0; j < n; j++) matrix[i][k] += t->inverse[band][i][j] * turned[j][k];
        }
}

static void turn_band(int band, double matrix[MOST][MOST], float *rest)
{
    const int n = 2 * band + 1;
    float *first = rest + 3 * (band * band - 1);
    double sums[MOST][3] = {{0}};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int c = 0; c < 3; c++) sums[i][c] += matrix[i][k] * (double)first[3 * k + c];
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) first[3 * i + c] = (float)sums[i][c];
}

/* False: it turns nothing that single precision would show. */
static bool rotation_between(const face_frame *from, const face_frame *to, double rotation[3][3])
{
    double farthest = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            rotation[a][b] = to->r0[a] * from->r0[b] + to->e1[a] * from->e1[b] + to->e2[a] * from->e2[b];
            farthest = fmax(farthest, fabs(rotation[a][b] - (a == b)));
        }
    return farthest > 1e-7;
}

void splat_bound_turn_colors(const splat_bound_mesh *bound, const splat_mesh *reference, const splat_mesh *edited,
                             int sh_degree, float *sh_rest)
{
    const turner t = turner_make(sh_degree);
    const size_t floats = splat_sh_rest_floats(sh_degree), per_face = (size_t)bound->per_face;
    for (size_t f = 0; f < reference->n_faces; f++) {
        face_frame from, to;
        double rotation[3][3], matrix[MOST][MOST];
        if (!face_frame_of(bound, reference, f, &from) || !face_frame_of(bound, edited, f, &to)) continue;
        if (!rotation_between(&from, &to, rotation)) continue;
        for (int band = 1; band <= sh_degree; band++) {
            matrix_of(&t, band, rotation, matrix);
            for (size_t i = f * per_face; i < (f + 1) * per_face; i++) turn_band(band, matrix, sh_rest + i * floats);
        }
    }
}
