/* Drawing meshes: against rays that are cast at every face, and the promises on shared edges, ties and threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "mesh_fixture.h"

enum { W = 67, H = 45, N = W * H }; /* H is no multiple of a band's rows */

typedef struct picture {
    uint32_t faces[N];
    float depth[N], weights[N][2];
    uint8_t front[N];
} picture;

static void draw_with(const splat_mesh *mesh, const splat_camera *camera, float near, int threads, picture *p)
{
    splat_mesh_raster_options options;
    splat_mesh_raster_maps maps = {p->faces, p->depth, p->weights, p->front};
    splat_error error;
    splat_mesh_raster_options_init(&options);
    options.near = near;
    options.threads = threads;
    memset(p, 0xA5, sizeof *p); /* every pixel must be written */
    ASSERT_OK(splat_mesh_rasterize(mesh, camera, &options, &maps, &error));
}

static void draw(const splat_mesh *mesh, const splat_camera *camera, picture *p)
{
    draw_with(mesh, camera, 0.01f, 2, p);
}

/* Different focal lengths, the principal point off the centre, turned about all axes. */
static splat_camera turned_camera(void)
{
    splat_camera c = plain_camera(W, H, 50);
    const double q[4] = {0.9, 0.2, -0.3, 0.15};
    double rotation[9], translation[3] = {0.3, -0.2, 4};
    splat_quaternion_to_rotation(q, rotation);
    splat_camera_set_pose(&c, rotation, translation);
    c.fy = 61;
    c.cx = 30.25f;
    c.cy = 25.75f;
    return c;
}

static double uniform(uint64_t seed, size_t i, double low, double high)
{
    return low + (high - low) * (double)splat_uniform(splat_random(seed, SPLAT_STREAM_TEST, 0, i).x[0]);
}

static void in_camera(const splat_camera *c, const float *p, double out[3])
{
    for (int k = 0; k < 3; k++) {
        out[k] = (double)c->translation[k];
        for (int j = 0; j < 3; j++) out[k] += (double)c->rotation[3 * k + j] * (double)p[j];
    }
}

/* ---------------------------------------------------------------- rays */

static double determinant(const double a[3], const double b[3], const double c[3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

typedef struct hit {
    uint32_t face; /* + 1; 0: none */
    double z, next_z;
} hit;

/* The ray of a place in the picture against all faces. Nothing is projected or cut: signs of volumes tell. */
static hit cast(const splat_mesh *mesh, const splat_camera *c, double near, double x, double y)
{
    const double ray[3] = {(x - (double)c->cx) / (double)c->fx, (y - (double)c->cy) / (double)c->fy, 1};
    hit h = {0, 1e30, 1e30};
    for (size_t f = 0; f < mesh->n_faces; f++) {
        double p[3][3];
        for (size_t k = 0; k < 3; k++) in_camera(c, mesh->vertices + 3 * (size_t)mesh->faces[3 * f + k], p[k]);
        double a = determinant(p[1], p[2], ray), b = determinant(p[2], p[0], ray), d = determinant(p[0], p[1], ray);
        if (!((a > 0 && b > 0 && d > 0) || (a < 0 && b < 0 && d < 0))) continue;
        double z = determinant(p[0], p[1], p[2]) / (a + b + d);
        if (z < near || z >= h.next_z) continue;
        h.next_z = z < h.z ? h.z : z;
        if (z >= h.z) continue;
        h.z = z;
        h.face = (uint32_t)f + 1;
    }
    return h;
}

/* Vertices are rounded by at most half of 1/1024 pixel along each axis, so a pixel shows the surface of a place that is
 * at most that far from its centre. */
#define SHIFT (0.5 / 1024 + 1e-9)

/* The point of the weights projects to the pixel's centre. */
static void assert_weights(const splat_mesh *mesh, const splat_camera *c, const picture *p, size_t i)
{
    const uint32_t *face = mesh->faces + 3 * (size_t)(p->faces[i] - 1);
    double at[3] = {0, 0, 0}, size = 0;
    const double w[3] = {(double)p->weights[i][0], (double)p->weights[i][1],
                         1 - (double)p->weights[i][0] - (double)p->weights[i][1]};
    for (int k = 0; k < 3; k++) {
        double q[3];
        in_camera(c, mesh->vertices + 3 * (size_t)face[k], q);
        assert_true(w[k] >= -1e-6 && w[k] <= 1 + 1e-6);
        for (int j = 0; j < 3; j++) {
            at[j] += w[k] * q[j];
            size = fmax(size, fabs(q[j]));
        }
    }
    /* weights are floats: 1e-7 of the largest coordinate, seen from the distance of the point */
    double tolerance = SHIFT + 4e-7 * size / at[2] * 70, x = (double)c->fx * at[0] / at[2] + (double)c->cx,
           y = (double)c->fy * at[1] / at[2] + (double)c->cy;
    if (fabs(x - (double)(i % W) - 0.5) > tolerance || fabs(y - (double)(i / W) - 0.5) > tolerance)
        fail_msg("pixel %zu %zu, face %u: the weights show %g %g", i % W, i / W, p->faces[i], x, y);
    assert_true(fabs(at[2] - (double)p->depth[i]) <= 1e-6 * (size + at[2]));
}

static bool shows_front(const splat_mesh *mesh, const splat_camera *c, size_t face)
{
    double p[3][3];
    for (size_t k = 0; k < 3; k++) in_camera(c, mesh->vertices + 3 * (size_t)mesh->faces[3 * face + k], p[k]);
    return determinant(p[0], p[1], p[2]) < 0;
}

/* Pixels whose surroundings see one face, with nothing just behind it, must show it, at a depth of its surroundings.
 * Returns how many. */
static size_t assert_cast(const splat_mesh *mesh, const splat_camera *c, double near, const picture *p)
{
    size_t n_clear = 0;
    for (size_t i = 0; i < N; i++) {
        double x = (double)(i % W) + 0.5, y = (double)(i / W) + 0.5, low = 1e30, high = 0;
        hit h = cast(mesh, c, near, x, y);
        bool clear = h.next_z - h.z > 1e-4 * h.z || !h.face;
        for (int k = 0; k < 4 && clear; k++) { /* 1/z is linear: its extremes are at corners */
            hit corner = cast(mesh, c, near, x + (k & 1 ? SHIFT : -SHIFT), y + (k & 2 ? SHIFT : -SHIFT));
            clear = corner.face == h.face;
            low = fmin(low, corner.z);
            high = fmax(high, corner.z);
        }
        if (p->faces[i]) assert_weights(mesh, c, p, i);
        if (!clear) continue;
        n_clear++;
        if (p->faces[i] != h.face) fail_msg("pixel %zu %zu shows %u, not %u", i % W, i / W, p->faces[i], h.face);
        if (!h.face) {
            assert_true(p->depth[i] == 0 && p->weights[i][0] == 0 && p->weights[i][1] == 0 && p->front[i] == 0);
            continue;
        }
        double rounding = 2e-7 * h.z; /* of a float */
        assert_true((double)p->depth[i] >= low - rounding && (double)p->depth[i] <= high + rounding);
        assert_int_equal(p->front[i], shows_front(mesh, c, h.face - 1));
    }
    return n_clear;
}

/* n triangles with corners anywhere in a box around the camera: many cross its near plane. */
static splat_mesh random_triangles(uint64_t seed, size_t n, double reach, double size)
{
    splat_mesh mesh = {0};
    for (size_t i = 0; i < 3 * n; i++) {
        double at[3];
        for (size_t k = 0; k < 3; k++)
            at[k] = uniform(seed, 3 * (i / 3) + k, -reach, reach) + uniform(seed + 1000, 3 * i + k, -size, size);
        put_vertex(&mesh, at[0], at[1], at[2]);
    }
    for (size_t i = 0; i < n; i++) put_face(&mesh, 3 * i, 3 * i + 1, 3 * i + 2);
    return mesh;
}

static void random_triangles_as_rays_see_them(void **state)
{
    static picture p;
    (void)state;
    static const struct { size_t n; double reach, size; float near; } sets[] = {
        {150, 5, 1, 0.01f}, {40, 3, 6, 0.01f}, {40, 3, 6, 1.5f}, {12, 2, 400, 0.01f}, {300, 4, 0.2, 0.5f}};
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++)
        for (int turned = 0; turned < 2; turned++) {
            splat_mesh mesh = random_triangles(s + 10, sets[s].n, sets[s].reach, sets[s].size);
            splat_camera camera = turned ? turned_camera() : plain_camera(W, H, 40);
            draw_with(&mesh, &camera, sets[s].near, 2, &p);
            size_t n_clear = assert_cast(&mesh, &camera, (double)sets[s].near, &p);
            if (n_clear < N * 95 / 100) fail_msg("only %zu of %d pixels were examined", n_clear, N);
            splat_mesh_free(&mesh);
        }
}

/* ---------------------------------------------------------------- each pixel once */

/* How many faces, fronts and backs, cover each pixel: each face is drawn alone. */
static void count_covers(const splat_mesh *mesh, const splat_camera *camera, int fronts[N], int backs[N])
{
    static picture p;
    memset(fronts, 0, N * sizeof *fronts);
    memset(backs, 0, N * sizeof *backs);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        splat_mesh one = *mesh;
        one.faces += 3 * f;
        one.n_faces = 1;
        draw(&one, camera, &p);
        for (size_t i = 0; i < N; i++) {
            fronts[i] += p.faces[i] && p.front[i];
            backs[i] += p.faces[i] && !p.front[i];
        }
    }
}

static int fronts[N], backs[N];

static void a_closed_shape_covers_its_outline_once(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        splat_mesh mesh = make_sphere(9, 1.2);
        splat_camera camera = turned ? turned_camera() : plain_camera(W, H, 32);
        if (!turned) camera.translation[2] = 3;
        count_covers(&mesh, &camera, fronts, backs);
        size_t n_inside = 0;
        for (size_t i = 0; i < N; i++) {
            if (fronts[i] != backs[i] || fronts[i] > 1) fail_msg("pixel %zu: %d and %d", i, fronts[i], backs[i]);
            n_inside += (size_t)fronts[i];
        }
        assert_true(n_inside > 400 && n_inside < 1500); /* some of 3015 are inside, some are not */
        splat_mesh_free(&mesh);
    }
}

/* The lines of a sheet, and many of its corners, go through pixel centres. */
static void edges_through_centres_cover_once(void **state)
{
    (void)state;
    splat_mesh mesh = make_sheet(16, NULL);
    splat_camera camera = plain_camera(W, H, 64);
    camera.cx = 8.5f;
    camera.cy = 4.5f;
    camera.translation[2] = 2; /* from 0 to 1 is 32 pixels: corners lie two pixels apart, at centres */
    count_covers(&mesh, &camera, fronts, backs);
    for (size_t i = 0; i < N; i++) {
        size_t x = i % W, y = i / W;
        bool inside = x >= 8 && x < 40 && y >= 4 && y < 36; /* left and top sides belong to it */
        assert_int_equal(fronts[i] + backs[i], inside);
        assert_int_equal(fronts[i], 0); /* its normals point away */
    }
    splat_mesh_free(&mesh);
}

/* From inside a cube every pixel sees one wall, whatever of it lies behind the camera, and sees its back. */
static void a_room_covers_everything_once(void **state)
{
    (void)state;
    for (size_t turn = 0; turn < 6; turn++) {
        splat_mesh mesh = make_cube(2);
        splat_camera camera = plain_camera(W, H, turn % 2 ? 6 : 80);
        double rotation[9], q[4], translation[3];
        for (size_t k = 0; k < 4; k++) q[k] = uniform(turn, k, -1, 1);
        splat_quaternion_to_rotation(q, rotation);
        for (int k = 0; k < 3; k++) /* the camera stands at (0.4, 0.5, 0.6) */
            translation[k] = -(rotation[3 * k] * 0.4 + rotation[3 * k + 1] * 0.5 + rotation[3 * k + 2] * 0.6);
        splat_camera_set_pose(&camera, rotation, translation);
        count_covers(&mesh, &camera, fronts, backs);
        for (size_t i = 0; i < N; i++)
            if (fronts[i] != 0 || backs[i] != 1) fail_msg("pixel %zu: %d and %d", i, fronts[i], backs[i]);
        splat_mesh_free(&mesh);
    }
}

/* A floor that runs under the camera and behind it: what is seen of it ends at the near plane and nowhere else. */
static void a_floor_is_cut_at_the_near_plane(void **state)
{
    static picture p;
    const float near = 0.9f;
    (void)state;
    splat_mesh mesh = make_sheet(9, NULL);
    for (size_t i = 0; i < mesh.n_vertices; i++) { /* y = 1, x and z from -3.3 to 6.7 */
        float *at = mesh.vertices + 3 * i, x = at[0], z = at[1];
        at[0] = 10 * x - 3.3f;
        at[1] = 1;
        at[2] = 10 * z - 3.3f;
    }
    splat_camera camera = plain_camera(W, H, 20);
    camera.cy = 12.5f;
    draw_with(&mesh, &camera, near, 2, &p);
    for (size_t i = 0; i < N; i++) {
        double x = (double)(i % W) + 0.5, y = (double)(i / W) + 0.5, down = (y - 12.5) / 20, z = 1 / down,
               across = (x - W / 2.0) / 20 * z;
        bool inside = down > 0 && z >= (double)near && z < 6.7 && across > -3.3 && across < 6.7;
        bool border = fabs(z - 6.7) < 0.01 || fabs(across + 3.3) < 0.01 || fabs(across - 6.7) < 0.01;
        if (border) continue;
        if ((p.faces[i] != 0) != inside) fail_msg("pixel %zu %zu: is it floor?", i % W, i / W);
        assert_true(!inside || fabs((double)p.depth[i] - z) < 2e-3 * z * z); /* SHIFT of 20 pixels, and its slope */
    }
    assert_int_not_equal(p.faces[34 + 34 * W], 0); /* row 34: z = 0.909 */
    assert_int_equal(p.faces[34 + 35 * W], 0);     /* row 35: z = 0.870 */
    splat_mesh_free(&mesh);
}

/* ---------------------------------------------------------------- sizes */

static void tiny_faces_leave_no_holes(void **state)
{
    static picture p;
    (void)state;
    splat_mesh mesh = make_sphere(150, 1); /* 90,000 faces on 1,000 pixels */
    splat_camera camera = plain_camera(W, H, 60);
    camera.translation[2] = 3.5f;
    draw(&mesh, &camera, &p);
    for (size_t i = 0; i < N; i++) {
        double x = ((double)(i % W) + 0.5 - W / 2.0) / 60, y = ((double)(i / W) + 0.5 - H / 2.0) / 60;
        double a = x * x + y * y + 1, root = 3.5 * 3.5 - a * (3.5 * 3.5 - 1);
        if (fabs(root) < 0.2) continue; /* near the outline */
        assert_int_equal(p.faces[i] != 0, root > 0);
        assert_int_equal(p.front[i], root > 0);
        if (root > 0) assert_true(fabs((double)p.depth[i] - (3.5 - sqrt(root)) / a) < 1e-3); /* facets cut that deep */
    }
    splat_mesh_free(&mesh);
}

static void huge_faces_are_cut(void **state)
{
    static const double sizes[] = {1e3, 1e6, 1e12, 1e30, 1e38}; /* beyond 1e12 nothing but sanity is promised */
    static picture p;
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        splat_mesh mesh = {0};
        splat_camera camera = plain_camera(W, H, 40);
        put_vertex(&mesh, -sizes[s], -sizes[s], 5);
        put_vertex(&mesh, 0, 3 * sizes[s], 5);
        put_vertex(&mesh, sizes[s], -sizes[s], 5);
        put_vertex(&mesh, 0, 0, 3 * sizes[s]); /* far, then behind the camera */
        put_vertex(&mesh, 0.5 * sizes[s], 0, -sizes[s]);
        put_face(&mesh, 0, 1, 2);
        put_face(&mesh, 0, 3, 4); /* anywhere */
        draw(&mesh, &camera, &p);
        for (size_t i = 0; i < N; i++) {
            assert_true(isfinite(p.depth[i]) && p.depth[i] >= 0 && (p.depth[i] > 0) == (p.faces[i] > 0));
            assert_true(p.weights[i][0] >= 0 && p.weights[i][1] >= 0 && p.weights[i][0] <= 1 && p.weights[i][1] <= 1);
        }
        mesh.n_faces = 1;
        draw(&mesh, &camera, &p);
        for (size_t i = 0; i < N && sizes[s] <= 1e12; i++)
            assert_true(p.faces[i] == 1 && fabsf(p.depth[i] - 5) < 1e-5f && p.front[i]);
        splat_mesh_free(&mesh);
    }
}

static void faces_without_area_show_nothing(void **state)
{
    static picture p;
    (void)state;
    splat_mesh mesh = {0};
    splat_camera camera = plain_camera(W, H, 40);
    put_vertex(&mesh, -1, 0, 2);
    put_vertex(&mesh, 0, 0, 2);
    put_vertex(&mesh, 1, 0, 2);   /* on a line with the first two */
    put_vertex(&mesh, 0, 0.5, 2);
    put_vertex(&mesh, -2, 0, 4);  /* on the ray of the first: seen on edge */
    put_vertex(&mesh, -1, 0, -2);
    put_face(&mesh, 0, 1, 2);
    put_face(&mesh, 0, 0, 3);
    put_face(&mesh, 3, 3, 3);
    put_face(&mesh, 0, 3, 4);
    put_face(&mesh, 0, 2, 5); /* crosses the near plane on edge */
    mesh.n_faces = 5;
    mesh.faces[9] = 4; /* 0, 4, 1 in the plane y = 0 of the camera */
    mesh.faces[10] = 0;
    mesh.faces[11] = 1;
    draw(&mesh, &camera, &p);
    for (size_t i = 0; i < N; i++) assert_true(p.faces[i] == 0 && p.depth[i] == 0 && p.weights[i][0] == 0);
    mesh.n_faces = 0;
    draw(&mesh, &camera, &p);
    for (size_t i = 0; i < N; i++) assert_true(p.faces[i] == 0 && p.depth[i] == 0 && p.front[i] == 0);
    splat_mesh_free(&mesh);
    draw(&mesh, &camera, &p); /* no arrays */
    for (size_t i = 0; i < N; i++) assert_int_equal(p.faces[i], 0);
}

/* ---------------------------------------------------------------- ties, threads, maps */

static void the_lower_face_wins_ties(void **state)
{
    static picture p;
    (void)state;
    splat_mesh mesh = {0};
    splat_camera camera = plain_camera(W, H, 40);
    put_vertex(&mesh, -1, -1, 2);
    put_vertex(&mesh, 0, 1, 2);
    put_vertex(&mesh, 1, -1, 2);
    put_face(&mesh, 0, 2, 1); /* its back, which is no reason to lose */
    put_face(&mesh, 0, 1, 2);
    put_face(&mesh, 1, 2, 0);
    draw(&mesh, &camera, &p);
    size_t n = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(p.faces[i] <= 1 && p.front[i] == 0);
        n += p.faces[i];
    }
    assert_true(n > 500);
    splat_mesh_free(&mesh);
}

static void threads_change_no_bit(void **state)
{
    static picture one, more;
    (void)state;
    splat_mesh mesh = make_torus(120, 60, 1.4, 0.5), triangles = random_triangles(77, 200, 4, 3);
    splat_camera camera = turned_camera();
    splat_error error;
    ASSERT_OK(splat_mesh_append(&mesh, &triangles, &error));
    draw_with(&mesh, &camera, 0.01f, 1, &one);
    for (int threads = 2; threads <= 7; threads++) {
        draw_with(&mesh, &camera, 0.01f, threads, &more);
        assert_memory_equal(&one, &more, sizeof one);
    }
    splat_mesh_raster_maps fewer = {more.faces, more.depth, NULL, NULL};
    splat_mesh_raster_options options;
    splat_mesh_raster_options_init(&options);
    memset(&more, 0, sizeof more);
    ASSERT_OK(splat_mesh_rasterize(&mesh, &camera, &options, &fewer, &error));
    assert_memory_equal(one.faces, more.faces, sizeof one.faces);
    assert_memory_equal(one.depth, more.depth, sizeof one.depth);
    splat_mesh_free(&mesh);
    splat_mesh_free(&triangles);
}

static void mistakes_are_told(void **state)
{
    static picture p;
    splat_mesh mesh = {0};
    const splat_mesh_raster_options good = {.near = 0.01f, .threads = 1};
    const splat_mesh_raster_maps maps = {p.faces, p.depth, p.weights, p.front};
    splat_error error;
    (void)state;
    for (int wrong = 0; wrong < 8; wrong++) {
        splat_mesh_raster_options options = good;
        splat_camera camera = plain_camera(W, H, 40);
        if (wrong == 0) options.near = 0;
        if (wrong == 1) options.near = NAN;
        if (wrong == 2) options.threads = 0;
        if (wrong == 3) camera.width = 0;
        if (wrong == 4) camera.height = 65536;
        if (wrong == 5) camera.fx = -40;
        if (wrong == 6) camera.rotation[4] = NAN;
        if (wrong == 7) camera.cy = INFINITY;
        assert_int_equal(splat_mesh_rasterize(&mesh, &camera, &options, &maps, &error), SPLAT_ERROR_ARGUMENT);
        assert_true(strlen(error.message) > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_triangles_as_rays_see_them), cmocka_unit_test(a_closed_shape_covers_its_outline_once),
        cmocka_unit_test(edges_through_centres_cover_once),  cmocka_unit_test(a_room_covers_everything_once),
        cmocka_unit_test(a_floor_is_cut_at_the_near_plane),  cmocka_unit_test(tiny_faces_leave_no_holes),
        cmocka_unit_test(huge_faces_are_cut),                cmocka_unit_test(faces_without_area_show_nothing),
        cmocka_unit_test(the_lower_face_wins_ties),          cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(mistakes_are_told)};
    return cmocka_run_group_tests_name("drawing meshes", tests, NULL, NULL);
}
