/* Gaussians bound to a mesh, on the host: lists against looking at everything, the start, and edited meshes, whose
 * Gaussians must be the images of the old ones under the map of the space around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "math/sh.h"
#include "mesh_fixture.h"
#include "surface/bound/bound.h"
#include "surface/bound/bound_deform.h"

static const int per_face_counts[] = {1, 3, 4, 6};

static double random_at(uint64_t index)
{
    splat_random4 r = splat_random(5, SPLAT_STREAM_TEST, 0, index);
    return 2 * (double)splat_uniform(r.x[0]) - 1;
}

/* A torus, an edge of four faces, faces that name a vertex twice, a vertex without a face. */
static splat_mesh make_odd_mesh(void)
{
    splat_mesh mesh = make_torus(7, 5, 1, 0.3);
    for (int i = 0; i < 6; i++) put_vertex(&mesh, random_at((uint64_t)i), random_at(10 + (uint64_t)i), 2);
    size_t a = mesh.n_vertices - 6;
    put_face(&mesh, a, a + 1, a + 2);
    put_face(&mesh, a, a + 1, a + 3);
    put_face(&mesh, a + 1, a, a + 4);
    put_face(&mesh, a, a + 1, a + 4);
    put_face(&mesh, a, a + 1, a);
    put_face(&mesh, a + 2, a + 2, a + 3);
    return mesh;
}

/* How many sides of the face run from a to b. */
static unsigned sides(const splat_mesh *mesh, size_t f, uint32_t a, uint32_t b)
{
    unsigned n = 0;
    for (size_t k = 0; k < 3; k++) n += mesh->faces[3 * f + k] == a && mesh->faces[3 * f + (k + 1) % 3] == b;
    return n;
}

static unsigned count(const uint32_t *values, size_t n, uint32_t value)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i] == value;
    return sum;
}

static void lists_are_those_of_all_corners_and_edges(void **state)
{
    (void)state;
    splat_mesh mesh = make_odd_mesh();
    splat_bound_lists lists;
    splat_error error;
    ASSERT_OK(splat_bound_lists_make(&mesh, &lists, &error));
    assert_int_equal(lists.vertex_begin[0], 0);
    for (uint32_t v = 0, place = 0; v < mesh.n_vertices; v++) {
        assert_int_equal(lists.vertex_begin[v], place);
        for (uint32_t c = 0; c < 3 * mesh.n_faces; c++)
            if (mesh.faces[c] == v) assert_int_equal(lists.vertex_corners[place++], c);
        assert_int_equal(lists.vertex_begin[v + 1], place);
    }
    uint64_t n_entries = 0;
    for (uint32_t f = 0; f < mesh.n_faces; f++) {
        const uint32_t *entries = lists.pairs + lists.pair_begin[f];
        const size_t n = lists.pair_begin[f + 1] - lists.pair_begin[f];
        for (uint32_t g = 0; g < mesh.n_faces; g++) {
            unsigned same = 0, opposite = 0;
            for (size_t k = 0; k < 3 && f != g; k++) {
                uint32_t a = mesh.faces[3 * (size_t)f + k], b = mesh.faces[3 * (size_t)f + (k + 1) % 3];
                if (a == b) continue;
                same += sides(&mesh, g, a, b);
                opposite += sides(&mesh, g, b, a);
            }
            assert_int_equal(count(entries, n, 2 * g + 1), same);
            assert_int_equal(count(entries, n, 2 * g), opposite);
            n_entries += same + opposite;
        }
    }
    assert_int_equal(n_entries, 2 * (uint64_t)lists.n_pairs);
    assert_int_equal(lists.pair_begin[mesh.n_faces], n_entries);
    assert_true(lists.n_pairs > 3 * 35 + 6); /* of the torus, and of the edge of four */
    splat_bound_lists_free(&lists);
    splat_mesh_free(&mesh);
}

static void an_edge_of_too_many_faces_is_refused(void **state)
{
    (void)state;
    enum { N = 65538 }; /* N (N - 1) passes 2^32 */
    splat_mesh mesh = {0};
    splat_bound_lists lists;
    splat_error error;
    for (int i = 0; i < 3; i++) put_vertex(&mesh, i, i * i, 0);
    for (int i = 0; i < N; i++) put_face(&mesh, 0, 1, 2);
    assert_int_equal(splat_bound_lists_make(&mesh, &lists, &error), SPLAT_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "clean it first"));
    assert_null(lists.pairs);
    assert_null(lists.vertex_begin);
    splat_mesh_free(&mesh);
}

static void what_cannot_be_bound_is_refused(void **state)
{
    (void)state;
    splat_mesh mesh = make_torus(3, 3, 1, 0.2), huge = {.n_faces = (size_t)1 << 31}, empty = {0};
    splat_bound_mesh bound;
    splat_bound_start start;
    splat_error error;
    static const int wrong[] = {0, -1, 2, 5, 7};
    static const float extents[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(splat_bound_mesh_describe(&mesh, wrong[i], 1, &bound, &error), SPLAT_ERROR_ARGUMENT);
        assert_int_equal(splat_bound_initialize(&mesh, wrong[i], &start, &error), SPLAT_ERROR_ARGUMENT);
        assert_null(start.plane_scales);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(splat_bound_mesh_describe(&mesh, 1, extents[i], &bound, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_bound_mesh_describe(&huge, 1, 1, &bound, &error), SPLAT_ERROR_MEMORY);
    huge.n_faces = 1000000000;
    assert_int_equal(splat_bound_mesh_describe(&huge, 1, 1, &bound, &error), SPLAT_OK);
    assert_int_equal(splat_bound_mesh_describe(&huge, 6, 1, &bound, &error), SPLAT_ERROR_MEMORY);
    assert_int_equal(splat_bound_mesh_describe(&empty, 1, 1, &bound, &error), SPLAT_ERROR_FORMAT);
    splat_mesh_free(&mesh);
}

/* A triangle of sides 3, 4, 5 with a corner of each colour, and one without area. */
static void it_begins_with_circles_of_the_meshs_colours(void **state)
{
    (void)state;
    static const double radii[] = {0.28867513, 0.18301270, 0.14433757, 0.13397460};
    splat_mesh mesh = {0};
    splat_error error;
    put_vertex(&mesh, 0, 0, 1);
    put_vertex(&mesh, 3, 0, 1);
    put_vertex(&mesh, 0, 4, 1);
    put_face(&mesh, 0, 1, 2);
    put_face(&mesh, 0, 1, 1);
    for (int colored = 0; colored < 2; colored++) {
        if (colored) ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
        for (size_t i = 0; colored && i < 9; i++) mesh.colors[4 * (i / 3) + i % 3] = i % 3 == i / 3 ? 255 : 0;
        for (int c = 0; c < 4; c++) {
            const int per_face = per_face_counts[c];
            splat_bound_start start;
            ASSERT_OK(splat_bound_initialize(&mesh, per_face, &start, &error));
            assert_int_equal(start.n, 2 * per_face);
            for (size_t i = 0; i < start.n; i++) {
                double deviation = i < (size_t)per_face ? 3 * radii[c] : 1e-7;
                for (size_t k = 2 * i; k < 2 * i + 2; k++)
                    assert_float_equal(start.plane_scales[k], (float)log(deviation), 2e-6f);
                assert_true(start.plane_rotations[2 * i] == 1 && start.plane_rotations[2 * i + 1] == 0);
                assert_float_equal(start.opacities[i], -2.1972246f, 1e-6f);
                for (size_t k = 0; k < 3 && i < (size_t)per_face; k++) {
                    double color = colored ? (double)splat_bound_barycentric(per_face, (int)i, (int)k) : 0.5;
                    assert_float_equal(start.sh_dc[3 * i + k], (float)((color - 0.5) / 0.28209479177), 2e-6f);
                }
            }
            splat_bound_start_free(&start);
        }
    }
    splat_mesh_free(&mesh);
}

/* The counts alone tell how many Gaussians a face has, whatever stays free behind them. */
static void counts_tell_how_many_a_face_has(void **state)
{
    (void)state;
    const size_t n_faces = 1000;
    for (int c = 0; c < 4; c++) {
        const size_t n_bound = (size_t)per_face_counts[c] * n_faces, most = splat_bound_most_free(n_bound);
        assert_int_equal(most, n_bound / 4);
        assert_int_equal(splat_bound_per_face_of(n_bound, n_faces), per_face_counts[c]);
        assert_int_equal(splat_bound_per_face_of(n_bound + most, n_faces), per_face_counts[c]);
        assert_int_equal(splat_bound_per_face_of(n_bound - 1, n_faces), 0);
    }
    assert_int_equal(splat_bound_per_face_of(6 * n_faces + 1501, n_faces), 0);
    assert_int_equal(splat_bound_per_face_of(5, 0), 0);
    assert_int_equal(splat_bound_most_free(2000000), 262144);
}

/* ---------------------------------------------------------------- edited meshes */

enum { PER_FACE = 3 };

typedef struct bound_scene {
    splat_mesh reference, edited;
    splat_bound_mesh bound;
    size_t n;
    float *plane_scales, *plane_rotations, *means, *scales, *rotations, *filter;
} bound_scene;

/* Random Gaussians on a torus; the third of every seven is round. */
static bound_scene scene_make(void)
{
    bound_scene s = {.reference = make_torus(9, 6, 1, 0.4)};
    splat_error error;
    ASSERT_OK(splat_mesh_copy(&s.reference, &s.edited, &error));
    ASSERT_OK(splat_bound_mesh_describe(&s.reference, PER_FACE, 1, &s.bound, &error));
    s.n = splat_bound_count(&s.bound);
    s.plane_scales = calloc(2 * s.n, sizeof(float));
    s.plane_rotations = calloc(2 * s.n, sizeof(float));
    s.means = calloc(3 * s.n, sizeof(float));
    s.scales = calloc(3 * s.n, sizeof(float));
    s.rotations = calloc(4 * s.n, sizeof(float));
    s.filter = calloc(s.n, sizeof(float));
    for (size_t i = 0; i < 2 * s.n; i++) {
        s.plane_scales[i] = (float)(-4 + random_at(100 + i));
        s.plane_rotations[i] = (float)random_at(10000 + i);
    }
    for (size_t i = 2; i < s.n; i += 7) s.plane_scales[2 * i + 1] = s.plane_scales[2 * i];
    return s;
}

static void scene_free(bound_scene *s)
{
    splat_mesh_free(&s->reference);
    splat_mesh_free(&s->edited);
    free(s->plane_scales), free(s->plane_rotations);
    free(s->means), free(s->scales), free(s->rotations), free(s->filter);
}

static void place(bound_scene *s, const splat_mesh *mesh)
{
    splat_bound_place(&s->bound, mesh, s->plane_scales, s->plane_rotations, s->means, s->scales, s->rotations,
                      s->filter);
}

static void transform(splat_mesh *mesh, double matrix[3][3], const double shift[3])
{
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        float *p = mesh->vertices + 3 * v;
        const double old[3] = {(double)p[0], (double)p[1], (double)p[2]};
        for (int k = 0; k < 3; k++)
            p[k] = (float)(matrix[k][0] * old[0] + matrix[k][1] * old[1] + matrix[k][2] * old[2] + shift[k]);
    }
}

/* R diag(s^2) R^T of what was placed. */
static void covariance(const bound_scene *s, size_t i, double out[3][3])
{
    const float *q = s->rotations + 4 * i;
    const double w = (double)q[0], x = (double)q[1], y = (double)q[2], z = (double)q[3];
    const double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            out[a][b] = 0;
            for (size_t k = 0; k < 3; k++)
                out[a][b] += r[a][k] * r[b][k] * exp(2 * (double)s->scales[3 * i + k]);
        }
}

static void quaternion_matrix(double angle, double x, double y, double z, double r[3][3])
{
    const double length = sqrt(x * x + y * y + z * z), c = cos(angle), s = sin(angle);
    const double u[3] = {x / length, y / length, z / length};
    const double skew[3][3] = {{0, -u[2], u[1]}, {u[2], 0, -u[0]}, {-u[1], u[0], 0}};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) r[a][b] = c * (a == b) + (1 - c) * u[a] * u[b] + s * skew[a][b];
}

/* Frames of single precision: 1e-6. The turn is compared as a direction, as its length may change. */
static void a_rigid_motion_changes_nothing_in_the_planes(void **state)
{
    (void)state;
    bound_scene s = scene_make();
    splat_error error;
    size_t n_kept = 99;
    double r[3][3], shift[3] = {0.3, -2, 0.7};
    float *scales = malloc(2 * s.n * sizeof *scales), *turns = malloc(2 * s.n * sizeof *turns);
    memcpy(scales, s.plane_scales, 2 * s.n * sizeof *scales);
    memcpy(turns, s.plane_rotations, 2 * s.n * sizeof *turns);
    quaternion_matrix(2.1, 0.3, -0.8, 0.4, r);
    transform(&s.edited, r, shift);
    ASSERT_OK(splat_bound_deform(&s.bound, &s.reference, &s.edited, s.plane_scales, s.plane_rotations, &n_kept,
                                 &error));
    assert_int_equal(n_kept, 0);
    for (size_t i = 0; i < s.n; i++) {
        const float *old = turns + 2 * i, *now = s.plane_rotations + 2 * i;
        double length = hypot((double)old[0], (double)old[1]) * hypot((double)now[0], (double)now[1]);
        double sine = ((double)old[0] * (double)now[1] - (double)old[1] * (double)now[0]) / length;
        double cosine = ((double)old[0] * (double)now[0] + (double)old[1] * (double)now[1]) / length;
        /* a Gaussian that is nearly round has axes that rounding turns: by 1e-6 over the difference of its scales */
        double spread = fabs((double)scales[2 * i] - (double)scales[2 * i + 1]);
        assert_true(fabs(sine) < 3e-6 * (1 + (spread > 0 ? 1 / spread : 0)) && cosine > 0);
        for (size_t k = 2 * i; k < 2 * i + 2; k++) assert_float_equal(s.plane_scales[k], scales[k], 3e-6f);
    }
    free(scales), free(turns);
    scene_free(&s);
}

static void a_larger_mesh_has_larger_gaussians(void **state)
{
    (void)state;
    bound_scene s = scene_make();
    splat_error error;
    double matrix[3][3] = {{2.5, 0, 0}, {0, 2.5, 0}, {0, 0, 2.5}}, shift[3] = {0};
    float *scales = malloc(2 * s.n * sizeof *scales);
    memcpy(scales, s.plane_scales, 2 * s.n * sizeof *scales);
    transform(&s.edited, matrix, shift);
    ASSERT_OK(splat_bound_deform(&s.bound, &s.reference, &s.edited, s.plane_scales, s.plane_rotations, NULL, &error));
    for (size_t i = 0; i < 2 * s.n; i++)
        assert_float_equal(s.plane_scales[i], scales[i] + (float)log(2.5), 3e-6f);
    free(scales);
    scene_free(&s);
}

/* Under an affine map A of space a Gaussian's mean is A mean + shift and its covariance A C A^T, whatever its axes.
 * The thickness is a millionth, so what it adds is far below the tolerance: 2e-5 of the covariance's trace. */
static void check_affine(double matrix[3][3])
{
    bound_scene s = scene_make();
    splat_error error;
    const double shift[3] = {1, 2, 3};
    double (*expected)[3][3] = calloc(s.n, sizeof *expected), worst = 0;
    float *means = malloc(3 * s.n * sizeof *means);
    place(&s, &s.reference);
    memcpy(means, s.means, 3 * s.n * sizeof *means);
    for (size_t i = 0; i < s.n; i++) {
        double c[3][3];
        covariance(&s, i, c);
        for (int a = 0; a < 9; a++)
            for (int k = 0; k < 9; k++)
                expected[i][a / 3][a % 3] += matrix[a / 3][k / 3] * c[k / 3][k % 3] * matrix[a % 3][k % 3];
    }
    transform(&s.edited, matrix, shift);
    ASSERT_OK(splat_bound_deform(&s.bound, &s.reference, &s.edited, s.plane_scales, s.plane_rotations, NULL, &error));
    place(&s, &s.edited);
    for (size_t i = 0; i < s.n; i++) {
        double c[3][3], trace = expected[i][0][0] + expected[i][1][1] + expected[i][2][2];
        covariance(&s, i, c);
        for (int a = 0; a < 9; a++) worst = fmax(worst, fabs(c[a / 3][a % 3] - expected[i][a / 3][a % 3]) / trace);
        for (size_t k = 0; k < 3; k++) {
            double mean = shift[k];
            for (size_t b = 0; b < 3; b++) mean += matrix[k][b] * (double)means[3 * i + b];
            assert_float_equal(s.means[3 * i + k], (float)mean, 1e-5f);
        }
        assert_true(s.scales[3 * i] == logf(s.bound.thickness) && s.filter[i] == 0);
    }
    if (!(worst < 2e-5)) fail_msg("a covariance is off by %g of its trace", worst);
    free(means);
    free(expected);
    scene_free(&s);
}

static void gaussians_are_images_under_the_map(void **state)
{
    (void)state;
    double stretch[3][3] = {{3, 0, 0}, {0, 0.5, 0}, {0, 0, 1.2}}, shear[3][3] = {{1, 0.9, 0}, {0, 1, -0.4}, {0, 0, 1}};
    double mirror[3][3] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, any[3][3];
    check_affine(stretch);
    check_affine(shear);
    check_affine(mirror);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 9; i++) any[i / 3][i % 3] = 1.5 * random_at(500 + 9 * (uint64_t)round + (uint64_t)i);
        for (int i = 0; i < 3; i++) any[i][i] += any[i][i] < 0 ? -0.6 : 0.6;
        check_affine(any);
    }
}

/* A face without area, in one mesh or the other, keeps its Gaussians' parameters; the rest goes on. */
static void faces_without_area_keep_what_they_have(void **state)
{
    (void)state;
    bound_scene s = scene_make();
    splat_error error;
    size_t n_kept = 0;
    double matrix[3][3] = {{2, 0, 0}, {0, 2, 0}, {0, 0, 2}}, shift[3] = {0};
    transform(&s.edited, matrix, shift);
    const uint32_t *first = s.edited.faces, *last = s.edited.faces + 3 * (s.edited.n_faces - 40);
    memcpy(s.edited.vertices + 3 * (size_t)first[1], s.edited.vertices + 3 * (size_t)first[0], 3 * sizeof(float));
    s.reference.vertices[3 * (size_t)last[0]] = NAN;
    float *scales = malloc(2 * s.n * sizeof *scales);
    memcpy(scales, s.plane_scales, 2 * s.n * sizeof *scales);
    s.plane_rotations[2 * 50 * PER_FACE] = s.plane_rotations[2 * 50 * PER_FACE + 1] = 0; /* hidden: stays */
    ASSERT_OK(splat_bound_deform(&s.bound, &s.reference, &s.edited, s.plane_scales, s.plane_rotations, &n_kept,
                                 &error));
    assert_int_equal(n_kept, 2 + 6); /* two on the edge that shrank, six around the lost vertex */
    size_t n_same = 0;
    for (size_t i = 0; i < s.n; i++) n_same += s.plane_scales[2 * i] == scales[2 * i];
    assert_int_equal(n_same, 8 * PER_FACE + 1);
    assert_true(s.plane_rotations[2 * 50 * PER_FACE] == 0);
    for (size_t i = 0; i < 2 * s.n; i++) assert_true(isfinite(s.plane_scales[i]) && isfinite(s.plane_rotations[i]));
    free(scales);
    scene_free(&s);
}

static void meshes_that_do_not_belong_together_are_refused(void **state)
{
    (void)state;
    bound_scene s = scene_make();
    splat_error error;
    uint32_t kept = s.edited.faces[30];
    s.edited.faces[30] = kept + 1;
    assert_int_equal(splat_bound_deform(&s.bound, &s.reference, &s.edited, s.plane_scales, s.plane_rotations, NULL,
                                        &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "face 10 "));
    s.edited.faces[30] = kept;
    put_vertex(&s.edited, 0, 0, 0);
    assert_int_equal(splat_bound_deform(&s.bound, &s.reference, &s.edited, s.plane_scales, s.plane_rotations, NULL,
                                        &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "55 vertices"));
    scene_free(&s);
}

/* Quaternions of placed Gaussians give their turns back. */
static void turns_are_found_in_quaternions(void **state)
{
    (void)state;
    bound_scene s = scene_make();
    float *turns = malloc(2 * s.n * sizeof *turns);
    place(&s, &s.reference);
    for (size_t i = 0; i < 4 * s.n; i++) s.rotations[i] *= i / 4 % 2 ? -3 : 1;
    splat_bound_turns_of(&s.bound, &s.reference, s.rotations, turns);
    for (size_t i = 0; i < s.n; i++) {
        const float *turn = s.plane_rotations + 2 * i;
        double length = hypot((double)turn[0], (double)turn[1]);
        for (size_t k = 0; k < 2; k++) assert_float_equal(turns[2 * i + k], (float)((double)turn[k] / length), 2e-6f);
    }
    free(turns);
    scene_free(&s);
}

static double color_at(const float *rest, int degree, const double d[3], size_t channel)
{
    float basis[16] = {0}, x = (float)d[0], y = (float)d[1], z = (float)d[2];
    double sum = 0;
    splat_sh_band1(x, y, z, basis, 1);
    if (degree > 1) splat_sh_band2(x, y, z, basis, 1);
    if (degree > 2) splat_sh_band3(x, y, z, basis, 1);
    for (size_t k = 1; k < (size_t)((degree + 1) * (degree + 1)); k++)
        sum += (double)basis[k] * (double)rest[3 * (k - 1) + channel];
    return sum;
}

/* Seen from a direction that turned with the mesh, every Gaussian has the colour that it had. */
static void colours_turn_with_their_faces(void **state)
{
    (void)state;
    for (int degree = 1; degree <= 3; degree++) {
        bound_scene s = scene_make();
        const size_t floats = splat_sh_rest_floats(degree), n = s.n * floats;
        double r[3][3], shift[3] = {0};
        float *rest = malloc(n * sizeof *rest), *old = malloc(n * sizeof *old);
        for (size_t i = 0; i < n; i++) rest[i] = old[i] = (float)random_at(20000 + i);
        splat_bound_turn_colors(&s.bound, &s.reference, &s.edited, degree, rest);
        assert_memory_equal(rest, old, n * sizeof *rest); /* nothing turned */
        quaternion_matrix(1.3, -0.5, 0.2, 0.9, r);
        transform(&s.edited, r, shift);
        splat_bound_turn_colors(&s.bound, &s.reference, &s.edited, degree, rest);
        for (size_t i = 0; i < s.n; i += 5) {
            double d[3], turned[3] = {0}, length = 0;
            for (size_t k = 0; k < 3; k++) d[k] = random_at(90000 + 3 * i + k);
            length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            for (size_t k = 0; k < 3; k++) d[k] /= length;
            for (int k = 0; k < 9; k++) turned[k / 3] += r[k / 3][k % 3] * d[k % 3];
            for (size_t c = 0; c < 3; c++)
                assert_float_equal((float)color_at(rest + i * floats, degree, turned, c),
                                   (float)color_at(old + i * floats, degree, d, c), 2e-5f);
        }
        free(rest), free(old);
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_those_of_all_corners_and_edges),
        cmocka_unit_test(an_edge_of_too_many_faces_is_refused),
        cmocka_unit_test(what_cannot_be_bound_is_refused),
        cmocka_unit_test(it_begins_with_circles_of_the_meshs_colours),
        cmocka_unit_test(counts_tell_how_many_a_face_has),
        cmocka_unit_test(a_rigid_motion_changes_nothing_in_the_planes),
        cmocka_unit_test(a_larger_mesh_has_larger_gaussians),
        cmocka_unit_test(gaussians_are_images_under_the_map),
        cmocka_unit_test(faces_without_area_keep_what_they_have),
        cmocka_unit_test(meshes_that_do_not_belong_together_are_refused),
        cmocka_unit_test(turns_are_found_in_quaternions),
        cmocka_unit_test(colours_turn_with_their_faces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
