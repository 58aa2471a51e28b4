/* Building the tree from sorted Morton keys, and the search through it. */
#include "mesh/mesh_bvh.h"

#include "math/morton.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct keyed { uint64_t key; uint32_t index; } keyed;

static void primitive_box(const splat_mesh *mesh, size_t i, float box[6])
{
    const float *first = mesh->n_faces ? mesh->vertices + 3 * (size_t)mesh->faces[3 * i] : mesh->vertices + 3 * i;
    memcpy(box, first, 12);
    memcpy(box + 3, first, 12);
    for (size_t k = 1; mesh->n_faces && k < 3; k++) {
        const float *v = mesh->vertices + 3 * (size_t)mesh->faces[3 * i + k];
        for (int c = 0; c < 3; c++) {
            if (v[c] < box[c]) box[c] = v[c];
            if (v[c] > box[3 + c]) box[3 + c] = v[c];
        }
    }
}

static uint64_t morton_key(const float box[6], const float low[3], double scale)
{
    uint64_t key = 0;
    for (int c = 0; c < 3; c++) {
        double x = (0.5 * ((double)box[c] + (double)box[3 + c]) - (double)low[c]) * scale;
        key |= splat_morton_spread((uint64_t)x & 0x1FFFFF) << c;
    }
    return key;
}

/* By key; equal keys keep their order. */
static void sort_keys(keyed **keys, keyed **scratch, size_t n)
{
    for (int shift = 0; shift < 63; shift += 9) {
        size_t starts[513] = {0};
        for (size_t i = 0; i < n; i++) starts[((*keys)[i].key >> shift & 511) + 1]++;
        for (size_t k = 0; k < 512; k++) starts[k + 1] += starts[k];
        for (size_t i = 0; i < n; i++) (*scratch)[starts[(*keys)[i].key >> shift & 511]++] = (*keys)[i];
        keyed *sorted = *scratch;
        *scratch = *keys;
        *keys = sorted;
    }
}

static void add_box(float box[6], const float other[6])
{
    for (int c = 0; c < 3; c++) {
        if (other[c] < box[c]) box[c] = other[c];
        if (other[3 + c] > box[3 + c]) box[3 + c] = other[3 + c];
    }
}

static void fill_boxes(splat_mesh_bvh *bvh)
{
    const float empty[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (size_t leaf = 0; leaf < bvh->n_leaves; leaf++) {
        float *box = bvh->boxes[bvh->n_leaves + leaf], own[6];
        memcpy(box, empty, sizeof empty);
        for (size_t i = leaf * SPLAT_BVH_LEAF; i < bvh->n && i < (leaf + 1) * SPLAT_BVH_LEAF; i++) {
            primitive_box(bvh->mesh, bvh->order[i], own);
            add_box(box, own);
        }
    }
    for (size_t node = bvh->n_leaves - 1; node >= 1; node--) {
        memcpy(bvh->boxes[node], bvh->boxes[2 * node], sizeof empty);
        add_box(bvh->boxes[node], bvh->boxes[2 * node + 1]);
    }
}

splat_status splat_mesh_bvh_make(const splat_mesh *mesh, splat_mesh_bvh *bvh, splat_error *error)
{
    size_t n = mesh->n_faces ? mesh->n_faces : mesh->n_vertices, n_leaves = 1;
    memset(bvh, 0, sizeof *bvh);
    if (n == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "distances to an empty mesh do not exist");
    while (n_leaves * SPLAT_BVH_LEAF < n) n_leaves *= 2;
    keyed *keys = malloc(n * sizeof *keys), *scratch = malloc(n * sizeof *scratch);
    *bvh = (splat_mesh_bvh){.mesh = mesh,
                            .n = n,
                            .n_leaves = n_leaves,
                            .order = malloc(n * sizeof *bvh->order),
                            .boxes = malloc(2 * n_leaves * sizeof *bvh->boxes)};
    splat_status status = SPLAT_OK;
    if (keys && scratch && bvh->order && bvh->boxes) {
        float low[3], high[3], box[6];
        splat_mesh_bounds(mesh, low, high);
        double side = fmax(fmax((double)high[0] - (double)low[0], (double)high[1] - (double)low[1]),
                           (double)high[2] - (double)low[2]);
        double scale = side > 0.0 ? 2097151.0 / side : 0.0;
        for (size_t i = 0; i < n; i++) {
            primitive_box(mesh, i, box);
            keys[i] = (keyed){morton_key(box, low, scale), (uint32_t)i};
        }
        sort_keys(&keys, &scratch, n);
        for (size_t i = 0; i < n; i++) bvh->order[i] = keys[i].index;
        fill_boxes(bvh);
    } else {
        splat_mesh_bvh_free(bvh);
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to search a mesh of %zu faces or points", n);
    }
    free(keys);
    free(scratch);
    return status;
}

void splat_mesh_bvh_free(splat_mesh_bvh *bvh)
{
    free(bvh->order);
    free(bvh->boxes);
    memset(bvh, 0, sizeof *bvh);
}

/* ---------------------------------------------------------------- distances, squared */

/* From p to the segment from the origin along u. */
static double segment_distance2(const double p[3], const double u[3])
{
    double length2 = splat_dot3(u, u), t = length2 > 0.0 ? splat_dot3(p, u) / length2 : 0.0, d[3];
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    for (int c = 0; c < 3; c++) d[c] = p[c] - t * u[c];
    return splat_dot3(d, d);
}

static double triangle_distance2(const float *a, const float *b, const float *c, const double p[3])
{
    double u[3], v[3], w[3], from_a[3], from_b[3];
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
        w[k] = (double)c[k] - (double)b[k];
        from_a[k] = p[k] - (double)a[k];
        from_b[k] = p[k] - (double)b[k];
    }
    double n[3];
    splat_cross3(u, v, n);
    double uu = splat_dot3(u, u), uv = splat_dot3(u, v), vv = splat_dot3(v, v), nn = splat_dot3(n, n);
    double pu = splat_dot3(from_a, u), pv = splat_dot3(from_a, v);
    double s = vv * pu - uv * pv, t = uu * pv - uv * pu; /* barycentric, times nn */
    if (nn > 0.0 && s >= 0.0 && t >= 0.0 && s + t <= uu * vv - uv * uv) {
        double height = splat_dot3(from_a, n);
        return height * height / nn;
    }
    return fmin(fmin(segment_distance2(from_a, u), segment_distance2(from_a, v)), segment_distance2(from_b, w));
}

static double primitive_distance2(const splat_mesh *mesh, size_t i, const double p[3])
{
    if (mesh->n_faces) {
        const uint32_t *f = mesh->faces + 3 * i;
        return triangle_distance2(mesh->vertices + 3 * (size_t)f[0], mesh->vertices + 3 * (size_t)f[1],
                                  mesh->vertices + 3 * (size_t)f[2], p);
    }
    const float *v = mesh->vertices + 3 * i;
    const double d[3] = {p[0] - (double)v[0], p[1] - (double)v[1], p[2] - (double)v[2]};
    return splat_dot3(d, d);
}

static double box_distance2(const float box[6], const double p[3])
{
    double sum = 0.0;
    for (int c = 0; c < 3; c++) {
        double below = (double)box[c] - p[c], above = p[c] - (double)box[3 + c];
        double d = below > 0.0 ? below : above > 0.0 ? above : 0.0;
        sum += d * d;
    }
    return sum;
}

double splat_mesh_bvh_nearest(const splat_mesh_bvh *bvh, const double place[3], uint32_t *primitive)
{
    struct { size_t node; double distance2; } stack[64]; /* one entry a level */
    size_t depth = 0;
    double best = INFINITY;
    uint32_t found = 0;
    stack[depth].node = 1;
    stack[depth++].distance2 = 0.0;
    while (depth > 0) {
        size_t node = stack[--depth].node;
        if (stack[depth].distance2 > best) continue;
        while (node < bvh->n_leaves) { /* the nearer child now, the other one later */
            double left = box_distance2(bvh->boxes[2 * node], place);
            double right = box_distance2(bvh->boxes[2 * node + 1], place);
            bool swap = right < left;
            stack[depth].node = 2 * node + !swap;
            stack[depth++].distance2 = swap ? left : right;
            node = 2 * node + swap;
            if ((swap ? right : left) > best) break;
        }
        if (node < bvh->n_leaves) continue;
        for (size_t i = (node - bvh->n_leaves) * SPLAT_BVH_LEAF;
             i < bvh->n && i < (node - bvh->n_leaves + 1) * SPLAT_BVH_LEAF; i++) {
            double d = primitive_distance2(bvh->mesh, bvh->order[i], place);
            if (d < best || (d == best && bvh->order[i] < found)) {
                best = d;
                found = bvh->order[i];
            }
        }
    }
    if (primitive) *primitive = found;
    return sqrt(best);
}

/* ---------------------------------------------------------------- rays */

/* The place at which a ray enters a box; INFINITY: not before `limit`. Leaves without primitives are boxes that reach
 * from infinity to minus infinity, which rays would seem to cross. */
static double enter_box(const float box[6], const double origin[3], const double inverse[3], double limit)
{
    double enter = 0.0, leave = limit;
    if (box[0] > box[3]) return INFINITY;
    for (int c = 0; c < 3; c++) {
        double a = ((double)box[c] - origin[c]) * inverse[c], b = ((double)box[3 + c] - origin[c]) * inverse[c];
        double near = a < b ? a : b, far = a < b ? b : a;
        if (near > enter) enter = near;
        if (far < leave) leave = far;
    }
    return enter <= leave ? enter : INFINITY;
}

/* Moeller and Trumbore 1997. */
static double hit_triangle(const splat_mesh *mesh, size_t i, const double origin[3], const double direction[3])
{
    const uint32_t *f = mesh->faces + 3 * i;
    const float *a = mesh->vertices + 3 * (size_t)f[0], *b = mesh->vertices + 3 * (size_t)f[1];
    const float *c = mesh->vertices + 3 * (size_t)f[2];
    double u[3], v[3], from_a[3], p[3], q[3];
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
        from_a[k] = origin[k] - (double)a[k];
    }
    splat_cross3(direction, v, p);
    double determinant = splat_dot3(u, p);
    if (determinant == 0.0) return INFINITY;
    splat_cross3(from_a, u, q);
    double s = splat_dot3(from_a, p) / determinant, t = splat_dot3(direction, q) / determinant;
    double place = splat_dot3(v, q) / determinant;
    return s >= 0.0 && t >= 0.0 && s + t <= 1.0 && place > 0.0 ? place : INFINITY;
}

double splat_mesh_bvh_hit(const splat_mesh_bvh *bvh, const double origin[3], const double direction[3], double limit,
                          uint32_t *face)
{
    struct { size_t node; double enter; } stack[64]; /* one entry a level, and the root */
    double best = limit, inverse[3];
    size_t depth = 1;
    bool is_hit = false;
    for (int c = 0; c < 3; c++) inverse[c] = 1.0 / direction[c];
    stack[0].node = 1;
    stack[0].enter = 0.0;
    while (depth > 0) {
        const size_t node = stack[--depth].node;
        if (stack[depth].enter > best) continue;
        if (node < bvh->n_leaves) {
            double left = enter_box(bvh->boxes[2 * node], origin, inverse, best);
            double right = enter_box(bvh->boxes[2 * node + 1], origin, inverse, best);
            bool swap = right < left;
            double enters[2] = {swap ? left : right, swap ? right : left};
            for (int k = 0; k < 2; k++) { /* the nearer child on top */
                if (isinf(enters[k])) continue;
                stack[depth].node = 2 * node + (k ? swap : !swap);
                stack[depth++].enter = enters[k];
            }
            continue;
        }
        for (size_t i = (node - bvh->n_leaves) * SPLAT_BVH_LEAF;
             i < bvh->n && i < (node - bvh->n_leaves + 1) * SPLAT_BVH_LEAF; i++) {
            double t = hit_triangle(bvh->mesh, bvh->order[i], origin, direction);
            if (!(t < best)) continue;
            best = t;
            is_hit = true;
            if (face) *face = bvh->order[i];
        }
    }
    return is_hit ? best : INFINITY;
}
