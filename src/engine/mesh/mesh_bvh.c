/* Building the tree from its root, and the search through it. */
#include "mesh/mesh_bvh.h"

#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 4 };    /* primitives in a leaf at most */
enum { MANY = 4096 }; /* primitives of a node that another thread may take */

/* A primitive while the tree is made. */
typedef struct item { float box[6]; uint32_t index; } item;

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

static void add_box(float box[6], const float other[6])
{
    for (int c = 0; c < 3; c++) {
        if (other[c] < box[c]) box[c] = other[c];
        if (other[3 + c] > box[3 + c]) box[3 + c] = other[3 + c];
    }
}

static void bounds_of(const item *items, size_t n, float box[6])
{
    memcpy(box, items[0].box, 6 * sizeof *box);
    for (size_t i = 1; i < n; i++) add_box(box, items[i].box);
}

static double half_area(const float box[6])
{
    double x = (double)box[3] - (double)box[0], y = (double)box[4] - (double)box[1];
    double z = (double)box[5] - (double)box[2];
    return x * y + y * z + z * x;
}

/* By the middles of their boxes along an axis. */
static bool is_before(const item *a, const item *b, int axis)
{
    float p = a->box[axis] + a->box[axis + 3], q = b->box[axis] + b->box[axis + 3];
    return p < q || (p == q && a->index < b->index);
}

/* Moves the `middle` items that come first along an axis before the others (Hoare 1961). */
static void part_at(item *items, size_t n, size_t middle, int axis)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const item pivot = items[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (is_before(&items[i], &pivot, axis)) i++;
            while (is_before(&pivot, &items[j], axis)) j--;
            if (i >= j) break;
            const item swapped = items[i];
            items[i++] = items[j];
            items[j--] = swapped;
        }
        if (j < middle)
            low = j + 1;
        else
            high = j;
    }
}

static size_t leaf_start(const splat_mesh_bvh *bvh, size_t leaf) { return leaf * bvh->n / bvh->n_leaves; }

/* The items of a node whose first leaf is `first` and that has `leaves` of them. Both children have as many leaves, and
 * the axis is the one at which their boxes' areas, by which rays meet boxes, have the least sum (MacDonald and Booth
 * 1990). */
static void make_node(splat_mesh_bvh *bvh, item *all, size_t node, size_t first, size_t leaves)
{
    const size_t begin = leaf_start(bvh, first), end = leaf_start(bvh, first + leaves), n = end - begin;
    item *items = all + begin;
    bounds_of(items, n, bvh->boxes[node]);
    if (leaves == 1) {
        for (size_t i = 0; i < n; i++) bvh->order[begin + i] = items[i].index;
        return;
    }
    const size_t middle = leaf_start(bvh, first + leaves / 2) - begin;
    double least = INFINITY;
    int best = 0;
    for (int axis = 0; axis < 3; axis++) {
        float left[6], right[6];
        part_at(items, n, middle, axis);
        bounds_of(items, middle, left);
        bounds_of(items + middle, n - middle, right);
        double cost = half_area(left) + half_area(right);
        if (cost < least) {
            least = cost;
            best = axis;
        }
    }
    if (best < 2) part_at(items, n, middle, best); /* the last axis is the one that was parted last */
#pragma omp task if (n > MANY)
    make_node(bvh, all, 2 * node, first, leaves / 2);
    make_node(bvh, all, 2 * node + 1, first + leaves / 2, leaves / 2);
#pragma omp taskwait
}

splat_status splat_mesh_bvh_make(const splat_mesh *mesh, int threads, splat_mesh_bvh *bvh, splat_error *error)
{
    size_t n = mesh->n_faces ? mesh->n_faces : mesh->n_vertices, n_leaves = 1;
    memset(bvh, 0, sizeof *bvh);
    if (n == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "distances to an empty mesh do not exist");
    while (n_leaves * LEAF < n) n_leaves *= 2;
    item *items = malloc(n * sizeof *items);
    *bvh = (splat_mesh_bvh){.mesh = mesh,
                            .n = n,
                            .n_leaves = n_leaves,
                            .order = malloc(n * sizeof *bvh->order),
                            .boxes = malloc(2 * n_leaves * sizeof *bvh->boxes)};
    splat_status status = SPLAT_OK;
    if (items && bvh->order && bvh->boxes) {
        for (size_t i = 0; i < n; i++) {
            primitive_box(mesh, i, items[i].box);
            items[i].index = (uint32_t)i;
        }
#pragma omp parallel num_threads(threads)
#pragma omp single
        make_node(bvh, items, 1, 0, n_leaves);
    } else {
        splat_mesh_bvh_free(bvh);
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to search a mesh of %zu faces or points", n);
    }
    free(items);
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
        const size_t leaf = node - bvh->n_leaves, end = leaf_start(bvh, leaf + 1);
        for (size_t i = leaf_start(bvh, leaf); i < end; i++) {
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

/* The place at which a ray enters a box; INFINITY: not before `limit`. */
static double enter_box(const float box[6], const double origin[3], const double inverse[3], double limit)
{
    double enter = 0.0, leave = limit;
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
        const size_t leaf = node - bvh->n_leaves, end = leaf_start(bvh, leaf + 1);
        for (size_t i = leaf_start(bvh, leaf); i < end; i++) {
            double t = hit_triangle(bvh->mesh, bvh->order[i], origin, direction);
            if (!(t < best)) continue;
            best = t;
            is_hit = true;
            if (face) *face = bvh->order[i];
        }
    }
    return is_hit ? best : INFINITY;
}
