/* A chart's projection, its smallest box, its overlaps, and the blocks that it needs. */
#include "texture/layout.h"

#include "base/array.h"
#include "texture/texel_triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct point2 { double x, y; } point2;

enum { UNREACHED, REACHED, TAKEN, LEFT };

/* Working memory of one thread, for one chart after the other. */
typedef struct layout {
    splat_mesh *mesh;
    splat_charts *charts;
    const splat_layout_rules *rules;
    const float *densities;
    double factor;
    uint32_t *queue, *order;  /* room for the faces of a chart, a part of what all threads share */
    uint8_t *states;          /* [n_faces]: of a walk over a chart; else UNREACHED; all threads share it */
    point2 *points, *hull;    /* corners of a chart, and their hull */
    size_t point_capacity;
    uint8_t *claimed;         /* texels of a chart's box */
    size_t claimed_capacity;
    splat_chart_cuts cuts;
    splat_status status;      /* of the first chart that failed, `failed` its number */
    splat_error error;
    size_t failed;
} layout;

static splat_status no_memory(const layout *l, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to lay out the charts of a mesh of %zu faces",
                      l->mesh->n_faces);
}

/* ---------------------------------------------------------------- projection */

/* Axes of a plane seen from its outside, x to the right and y down. */
static void plane_axes(const double n[3], double x[3], double y[3])
{
    int least = 0;
    double length = 0.0;
    for (int c = 1; c < 3; c++)
        if (fabs(n[c]) < fabs(n[least])) least = c;
    const double pole[3] = {least == 0, least == 1, least == 2};
    for (int c = 0; c < 3; c++) {
        x[c] = pole[(c + 1) % 3] * n[(c + 2) % 3] - pole[(c + 2) % 3] * n[(c + 1) % 3];
        length += x[c] * x[c];
    }
    for (int c = 0; c < 3; c++) x[c] /= sqrt(length);
    for (int c = 0; c < 3; c++) /* -(n x x): up the other way round */
        y[c] = n[(c + 2) % 3] * x[(c + 1) % 3] - n[(c + 1) % 3] * x[(c + 2) % 3];
}

static int compare_points(const void *a, const void *b)
{
    const point2 *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static double turn_of(point2 a, point2 b, point2 c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

enum { HULL_STRIPS = 256 };

/* Keeps of many points the highest and the lowest in each of HULL_STRIPS strips along x: their hull is that of all
 * points, except for corners between them within a strip. Returns their number; they now come first. */
static size_t thin_out(point2 *points, size_t n)
{
    point2 ends[2 * HULL_STRIPS];
    double low = HUGE_VAL, high = -HUGE_VAL;
    size_t m = 0;
    if (n <= 4 * HULL_STRIPS) return n;
    for (size_t i = 0; i < n; i++) low = fmin(low, points[i].x), high = fmax(high, points[i].x);
    double scale = high > low ? (HULL_STRIPS - 1e-6) / (high - low) : 0.0;
    for (size_t k = 0; k < HULL_STRIPS; k++) ends[2 * k].y = HUGE_VAL, ends[2 * k + 1].y = -HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        point2 *strip = ends + 2 * (size_t)((points[i].x - low) * scale);
        if (points[i].y < strip[0].y) strip[0] = points[i];
        if (points[i].y > strip[1].y) strip[1] = points[i];
    }
    for (size_t k = 0; k < 2 * HULL_STRIPS; k++)
        if (isfinite(ends[k].y)) points[m++] = ends[k];
    return m;
}

/* The convex hull (Andrew's monotone chain) of points, which are sorted. Returns the number of its corners. */
static size_t find_hull(point2 *points, size_t n, point2 *hull)
{
    size_t m = 0;
    qsort(points, n, sizeof *points, compare_points);
    for (size_t i = 0; i < n; i++) {
        while (m >= 2 && turn_of(hull[m - 2], hull[m - 1], points[i]) <= 0.0) m--;
        hull[m++] = points[i];
    }
    for (size_t i = n - 1, lower = m + 1; i-- > 0;) {
        while (m >= lower && turn_of(hull[m - 2], hull[m - 1], points[i]) <= 0.0) m--;
        hull[m++] = points[i];
    }
    return m > 1 ? m - 1 : m;
}

/* The direction (cosine, sine) of the hull's edge along which the box is smallest. Of long hulls 64 edges are tried. */
static point2 best_direction(const point2 *hull, size_t n)
{
    point2 best = {1.0, 0.0};
    double least = HUGE_VAL;
    size_t step = n > 64 ? n / 64 : 1;
    for (size_t i = 0; i < n; i += step) {
        point2 a = hull[i], b = hull[(i + 1) % n];
        double length = hypot(b.x - a.x, b.y - a.y);
        if (!(length > 0.0)) continue;
        point2 d = {(b.x - a.x) / length, (b.y - a.y) / length};
        double low_x = HUGE_VAL, high_x = -HUGE_VAL, low_y = HUGE_VAL, high_y = -HUGE_VAL;
        for (size_t k = 0; k < n; k++) {
            double x = hull[k].x * d.x + hull[k].y * d.y, y = hull[k].y * d.x - hull[k].x * d.y;
            low_x = fmin(low_x, x), high_x = fmax(high_x, x);
            low_y = fmin(low_y, y), high_y = fmax(high_y, y);
        }
        double area = (high_x - low_x) * (high_y - low_y);
        if (area >= least) continue;
        least = area;
        best = d;
    }
    return best;
}

static splat_status require_points(layout *l, size_t n, splat_error *error)
{
    if (n <= l->point_capacity) return SPLAT_OK;
    point2 *points = realloc(l->points, n * sizeof *points);
    if (points) l->points = points;
    point2 *hull = realloc(l->hull, (n + 1) * 2 * sizeof *hull);
    if (hull) l->hull = hull;
    if (!points || !hull) return no_memory(l, error);
    l->point_capacity = n;
    return SPLAT_OK;
}

static void project(const layout *l, splat_chart at, const double x[3], const double y[3], double scale, point2 *points)
{
    for (uint32_t i = 0; i < at.n; i++) {
        const uint32_t *corner = l->mesh->faces + 3 * (size_t)l->charts->faces[at.first + i];
        for (size_t k = 0; k < 3; k++) {
            const float *v = l->mesh->vertices + 3 * (size_t)corner[k];
            point2 p = {0.0, 0.0};
            for (int c = 0; c < 3; c++) {
                p.x += (double)v[c] * x[c];
                p.y += (double)v[c] * y[c];
            }
            points[3 * (size_t)i + k] = (point2){p.x * scale, p.y * scale};
        }
    }
}

/* Texel coordinates of the chart's corners in its own box: whole numbers of 1/256, the least ones at the margin. sides:
 * of the box, in texels. Sizes that no page holds are not rounded: false. */
static splat_status place_corners(layout *l, splat_chart at, const double normal[3], double scale, int sides[2],
                                  bool *is_placed, splat_error *error)
{
    double x[3], y[3], low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {0.0, 0.0};
    size_t n = 3 * (size_t)at.n;
    plane_axes(normal, x, y);
    SPLAT_TRY(require_points(l, n, error));
    project(l, at, x, y, scale, l->points);
    point2 d = best_direction(l->hull, find_hull(l->points, thin_out(l->points, n), l->hull));
    project(l, at, x, y, scale, l->points); /* the hull has moved them */
    for (size_t i = 0; i < n; i++) {
        point2 p = l->points[i];
        l->points[i] = (point2){p.x * d.x + p.y * d.y, p.y * d.x - p.x * d.y};
        low[0] = fmin(low[0], l->points[i].x);
        low[1] = fmin(low[1], l->points[i].y);
    }
    for (size_t i = 0; i < n; i++) {
        double out[2] = {l->points[i].x - low[0], l->points[i].y - low[1]};
        float *uv = l->mesh->uvs + 6 * (size_t)l->charts->faces[at.first + i / 3] + 2 * (i % 3);
        for (int c = 0; c < 2; c++) {
            double t = floor(out[c] * SPLAT_TEXEL_UNITS + 0.5) / SPLAT_TEXEL_UNITS;
            high[c] = fmax(high[c], t);
            uv[c] = (float)(t + l->rules->margin);
        }
    }
    *is_placed = true;
    for (int c = 0; c < 2; c++) {
        double blocks = ceil((high[c] + 2.0 * l->rules->margin) / l->rules->block);
        if (!(blocks * l->rules->block < 1e6)) {
            *is_placed = false;
            blocks = 0.0;
        }
        sides[c] = (int)blocks * l->rules->block;
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- overlaps */

static splat_texel_triangle triangle_of(const splat_mesh *mesh, uint32_t face)
{
    int64_t corners[3][2];
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++)
            corners[k][c] = (int64_t)floor((double)mesh->uvs[6 * (size_t)face + 2 * (size_t)k + (size_t)c] *
                                           SPLAT_TEXEL_UNITS + 0.5);
    return splat_texel_triangle_make(corners);
}

/* Undoes what a claim took before it came to a texel. */
static void give_back(layout *l, const splat_texel_triangle *t, int columns, int end_row, int end_column)
{
    int64_t e[3];
    for (int row = t->first_row; row <= end_row; row++)
        for (int column = t->first_column; column < (row < end_row ? t->end_column : end_column); column++)
            if (splat_texel_triangle_has(t, column, row, e))
                l->claimed[(size_t)row * (size_t)columns + (size_t)column] = 0;
}

/* Takes the texels of a face, unless another face has one of them or some lie beyond the sides. Faces that rounding
 * has turned over (is_turned tells: proper ones run clockwise with y down) take none. */
static bool claim(layout *l, uint32_t face, int columns, int rows)
{
    splat_texel_triangle t = triangle_of(l->mesh, face);
    int64_t e[3];
    if (t.area == 0 || !t.is_turned) return true;
    if (t.end_column > columns || t.end_row > rows) return false;
    for (int row = t.first_row; row < t.end_row; row++)
        for (int column = t.first_column; column < t.end_column; column++) {
            uint8_t *texel = &l->claimed[(size_t)row * (size_t)columns + (size_t)column];
            if (!splat_texel_triangle_has(&t, column, row, e)) continue;
            if (*texel) {
                give_back(l, &t, columns, row, column);
                return false;
            }
            *texel = 1;
        }
    return true;
}

/* Puts the n faces of `order` first in a chart's list, and behind them those from number `from` on that are not TAKEN.
 * All of these become UNREACHED. */
static void list_taken(layout *l, splat_chart at, uint32_t from, uint32_t n)
{
    uint32_t *faces = l->charts->faces + at.first;
    for (uint32_t i = from; i < at.n; i++) {
        if (l->states[faces[i]] != TAKEN) l->order[n++] = faces[i];
        l->states[faces[i]] = UNREACHED;
    }
    memcpy(faces, l->order, at.n * sizeof *faces);
}

/* Walks the chart, from its first face that faces the plane, over faces that do so and overlap none of those taken, and
 * puts these first in its list. Returns how many: all when nothing overlaps, 0 when no face faces the plane. */
static uint32_t take_faces(layout *l, size_t number, const double normal[3], int columns, int rows)
{
    splat_chart at = l->charts->charts[number];
    uint32_t *faces = l->charts->faces + at.first, n_queued = 0, n = 0, start = 0;
    while (start < at.n && splat_chart_cosine(l->charts, faces[start], normal) <= SPLAT_CHART_MIN_COSINE) start++;
    if (start == at.n) return 0;
    l->queue[n_queued++] = faces[start];
    l->states[faces[start]] = REACHED;
    for (uint32_t i = 0; i < n_queued; i++) {
        uint32_t face = l->queue[i];
        bool fits = splat_chart_cosine(l->charts, face, normal) > SPLAT_CHART_MIN_COSINE &&
                    claim(l, face, columns, rows);
        if (!fits) continue;
        l->order[n++] = face;
        l->states[face] = TAKEN;
        for (size_t k = 0; k < 3; k++) {
            uint32_t other = l->charts->opposite[3 * (size_t)face + k];
            if (other == UINT32_MAX || !splat_chart_has(l->charts, number, other / 3)) continue;
            if (l->states[other / 3]) continue;
            l->states[other / 3] = REACHED;
            l->queue[n_queued++] = other / 3;
        }
    }
    list_taken(l, at, 0, n);
    return n;
}

/* ---------------------------------------------------------------- small pieces */

/* Marks faces of connected pieces of less than rules->least texels REACHED, the others UNREACHED. False: there are
 * none. */
static bool find_small(layout *l, size_t number, const uint32_t *faces, uint32_t n)
{
    bool any = false;
    for (uint32_t i = 0; i < n; i++) l->states[faces[i]] = LEFT;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_queued = 0;
        double texels = 0.0;
        if (l->states[faces[i]] != LEFT) continue;
        l->queue[n_queued++] = faces[i];
        l->states[faces[i]] = REACHED;
        for (uint32_t k = 0; k < n_queued; k++) {
            texels += splat_chart_face_texels(l->charts, l->queue[k], (double)l->densities[l->queue[k]]);
            for (size_t side = 0; side < 3; side++) {
                uint32_t other = l->charts->opposite[3 * (size_t)l->queue[k] + side];
                if (other == UINT32_MAX || !splat_chart_has(l->charts, number, other / 3)) continue;
                if (l->states[other / 3] != LEFT) continue;
                l->states[other / 3] = REACHED;
                l->queue[n_queued++] = other / 3;
            }
        }
        if (texels < l->rules->least) any = true;
        else for (uint32_t k = 0; k < n_queued; k++) l->states[l->queue[k]] = UNREACHED;
    }
    return any;
}

/* The corner across from a side of a face in the plane of the side: along it as a fraction of its length, and away from
 * it in units of the mesh. */
static point2 apex_of(const splat_mesh *mesh, uint32_t face, size_t side)
{
    const uint32_t *corner = mesh->faces + 3 * (size_t)face;
    const float *a = mesh->vertices + 3 * (size_t)corner[side];
    const float *b = mesh->vertices + 3 * (size_t)corner[(side + 1) % 3];
    const float *c = mesh->vertices + 3 * (size_t)corner[(side + 2) % 3];
    double along = 0.0, length = 0.0, slant = 0.0;
    for (int k = 0; k < 3; k++) {
        double u = (double)b[k] - (double)a[k], v = (double)c[k] - (double)a[k];
        along += u * v;
        length += u * u;
        slant += v * v;
    }
    if (!(length > 0.0)) return (point2){0.0, 0.0};
    return (point2){along / length, sqrt(fmax(slant - along * along / length, 0.0))};
}

/* Unfolds a face along its half-edge `edge`, whose opposite belongs to a face that has its place. Where texels are
 * taken, or lie beyond the sides, it is folded flat: the corner across comes to the nearer end of the edge. */
static void unfold(layout *l, uint32_t edge, double scale, const int sides[2])
{
    uint32_t face = edge / 3, opposite = l->charts->opposite[edge];
    const size_t a = edge % 3, b = (a + 1) % 3, c = (a + 2) % 3;
    const float *there = l->mesh->uvs + 6 * (size_t)(opposite / 3), *from = there + 2 * ((opposite % 3 + 1) % 3),
                *to = there + 2 * (opposite % 3);
    float *uv = l->mesh->uvs + 6 * (size_t)face;
    double along[2] = {(double)to[0] - (double)from[0], (double)to[1] - (double)from[1]};
    double length = hypot(along[0], along[1]);
    point2 apex = apex_of(l->mesh, face, a);
    const double away[2] = {along[1], -along[0]}; /* out of the other face: to the left, as seen with v down */
    bool fits = length > 0.0;
    memcpy(uv + 2 * a, from, 2 * sizeof *uv);
    memcpy(uv + 2 * b, to, 2 * sizeof *uv);
    for (size_t k = 0; k < 2 && fits; k++) {
        double x = (double)from[k] + apex.x * along[k] + scale * apex.y * away[k] / length;
        x = floor(x * SPLAT_TEXEL_UNITS + 0.5) / SPLAT_TEXEL_UNITS;
        fits = x >= l->rules->margin && x <= sides[k] - l->rules->margin;
        uv[2 * c + k] = (float)x;
    }
    if (!fits || !claim(l, face, sides[0], sides[1])) memcpy(uv + 2 * c, apex.x < 0.5 ? from : to, 2 * sizeof *uv);
}

/* Unfolds the small pieces among the faces that take_faces has left, from number n of the chart's list on. It works
 * breadth first from the faces that have their places, and puts the others behind these. Returns how many faces the
 * chart has then. */
static uint32_t unfold_small(layout *l, size_t number, uint32_t n, double scale, const int sides[2])
{
    splat_chart at = l->charts->charts[number];
    const uint32_t *faces = l->charts->faces + at.first, first = n;
    if (!find_small(l, number, faces + n, at.n - n)) return n;
    memcpy(l->order, faces, n * sizeof *faces);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            uint32_t edge = l->charts->opposite[3 * (size_t)l->order[i] + k];
            if (edge == UINT32_MAX || !splat_chart_has(l->charts, number, edge / 3)) continue;
            if (l->states[edge / 3] != REACHED) continue;
            unfold(l, edge, scale, sides);
            l->states[edge / 3] = TAKEN;
            l->order[n++] = edge / 3;
        }
    list_taken(l, at, first, n);
    return n;
}

/* The faces whose corners lie in the first max_side texels of the box come first in the list. */
static uint32_t take_window(layout *l, size_t number, int max_side)
{
    splat_chart at = l->charts->charts[number];
    uint32_t *faces = l->charts->faces + at.first, n = 0, n_left = 0;
    for (uint32_t i = 0; i < at.n; i++) {
        const float *uv = l->mesh->uvs + 6 * (size_t)faces[i];
        bool is_inside = true;
        for (int k = 0; k < 6; k++) is_inside = is_inside && uv[k] <= (float)(max_side - l->rules->margin);
        if (is_inside) faces[n++] = faces[i];
        else l->order[n_left++] = faces[i];
    }
    memcpy(faces + n, l->order, n_left * sizeof *faces);
    return n;
}

static splat_status fail_size(const layout *l, double scale, const double normal[3], splat_chart at,
                              splat_error *error)
{
    int sides[2];
    double low = 0.0, high = scale; /* the largest scale at which the face fits */
    for (int i = 0; i < 40; i++) {
        bool is_placed;
        double middle = 0.5 * (low + high);
        SPLAT_TRY(place_corners((layout *)l, at, normal, middle, sides, &is_placed, error));
        if (is_placed && sides[0] <= l->rules->max_side && sides[1] <= l->rules->max_side) low = middle;
        else high = middle;
    }
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "face %u of the mesh alone would need more than a page of %d "
                      "texels; lower `texel_density` to %.3g or less", (unsigned)l->charts->faces[at.first],
                      l->rules->max_side, l->factor * low / scale);
}

/* ---------------------------------------------------------------- blocks */

static void widen(uint16_t *low, uint16_t *high, double from, double to, int block, int n)
{
    int a = (int)floor(from / block), b = (int)ceil(to / block);
    if (a < 0) a = 0;
    if (b > n) b = n;
    if (a < (int)*low) *low = (uint16_t)a;
    if (b > (int)*high) *high = (uint16_t)b;
}

/* The blocks of every column (axis 0) or row (axis 1) that a triangle with its margin touches. */
static void mark_triangle(const float *uv, int axis, const splat_layout_rules *rules, uint16_t *low, uint16_t *high,
                          int n_along, int n_across)
{
    double a[3], b[3], least = HUGE_VAL, most = -HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        a[k] = (double)uv[2 * k + axis];
        b[k] = (double)uv[2 * k + 1 - axis];
        least = fmin(least, a[k]);
        most = fmax(most, a[k]);
    }
    int first = (int)floor((least - rules->margin) / rules->block);
    int last = (int)floor((most + rules->margin) / rules->block);
    for (int i = first < 0 ? 0 : first; i <= last && i < n_along; i++) {
        double from = i * rules->block - rules->margin, to = (i + 1) * rules->block + rules->margin;
        double bottom = HUGE_VAL, top = -HUGE_VAL; /* of the part of the triangle between from and to */
        for (int k = 0; k < 3; k++) {
            int next = (k + 1) % 3;
            if (a[k] >= from && a[k] <= to) bottom = fmin(bottom, b[k]), top = fmax(top, b[k]);
            const double cuts[2] = {from, to};
            for (int c = 0; c < 2; c++) {
                if ((a[k] < cuts[c]) == (a[next] < cuts[c])) continue;
                double y = b[k] + (b[next] - b[k]) * ((cuts[c] - a[k]) / (a[next] - a[k]));
                bottom = fmin(bottom, y), top = fmax(top, y);
            }
        }
        if (bottom <= top)
            widen(&low[i], &high[i], bottom - rules->margin, top + rules->margin, rules->block, n_across);
    }
}

static splat_status make_piece(const layout *l, splat_chart at, const int sides[2], splat_piece *piece,
                               splat_error *error)
{
    size_t columns = (size_t)(sides[0] / l->rules->block), rows = (size_t)(sides[1] / l->rules->block);
    *piece = (splat_piece){.columns = (int)columns, .rows = (int)rows};
    piece->top = malloc(2 * (columns + rows) * sizeof *piece->top);
    if (!piece->top) return no_memory(l, error);
    piece->bottom = piece->top + columns;
    piece->left = piece->bottom + columns;
    piece->right = piece->left + rows;
    memset(piece->top, 255, columns * sizeof *piece->top);
    memset(piece->bottom, 0, columns * sizeof *piece->top);
    memset(piece->left, 255, rows * sizeof *piece->top);
    memset(piece->right, 0, rows * sizeof *piece->top);
    for (uint32_t i = 0; i < at.n; i++) {
        const float *uv = l->mesh->uvs + 6 * (size_t)l->charts->faces[at.first + i];
        mark_triangle(uv, 0, l->rules, piece->top, piece->bottom, piece->columns, piece->rows);
        mark_triangle(uv, 1, l->rules, piece->left, piece->right, piece->rows, piece->columns);
    }
    return SPLAT_OK;
}

void splat_pieces_free(splat_piece *pieces, size_t n)
{
    for (size_t i = 0; pieces && i < n; i++) free(pieces[i].top);
    free(pieces);
}

/* ---------------------------------------------------------------- one chart */

/* sqrt(sum of area density^2 / sum of area). */
static double chart_density(const splat_charts *charts, splat_chart at, const float *densities)
{
    double weighted = 0.0, area = 0.0;
    for (uint32_t i = 0; i < at.n; i++) {
        uint32_t face = charts->faces[at.first + i];
        const float *n = charts->crosses + 3 * (size_t)face;
        double a = sqrt((double)n[0] * (double)n[0] + (double)n[1] * (double)n[1] + (double)n[2] * (double)n[2]);
        double d = (double)densities[face];
        weighted += a * d * d;
        area += a;
    }
    return area > 0.0 ? sqrt(weighted / area) : (double)densities[charts->faces[at.first]];
}

/* Until nothing of the chart overlaps: a chart that was cut is laid out again, in a smaller box. */
static splat_status lay_out(layout *l, size_t number, splat_piece *piece, splat_error *error)
{
    for (;;) {
        splat_chart at = l->charts->charts[number];
        double normal[3], scale = l->factor * chart_density(l->charts, at, l->densities);
        int sides[2], max_side = l->rules->max_side;
        bool is_placed;
        uint32_t n;
        splat_chart_normal(l->charts, number, normal);
        SPLAT_TRY(place_corners(l, at, normal, scale, sides, &is_placed, error));
        if (!is_placed || sides[0] > max_side || sides[1] > max_side) {
            if (at.n == 1) return fail_size(l, scale, normal, at, error);
            n = take_window(l, number, max_side);
            if (n == 0 || n == at.n) n = at.n / 2;
        } else {
            size_t size = (size_t)sides[0] * (size_t)sides[1];
            if (size > l->claimed_capacity) {
                free(l->claimed);
                l->claimed_capacity = 0;
                l->claimed = malloc(size);
                if (!l->claimed) return no_memory(l, error);
                l->claimed_capacity = size;
            }
            memset(l->claimed, 0, size);
            n = take_faces(l, number, normal, sides[0], sides[1]);
            if (n == 0) n = 1; /* the normals cancel out: alone, the first face has its own */
            else if (n < at.n) n = unfold_small(l, number, n, scale, sides);
        }
        if (n == at.n) return make_piece(l, at, sides, piece, error);
        SPLAT_TRY(splat_charts_cut(l->charts, number, n, l->queue, &l->cuts, error));
    }
}

/* ---------------------------------------------------------------- all charts */

/* The work on charts that are there at one time: memory that all threads share. */
typedef struct generation {
    layout *workers;          /* [threads] */
    uint32_t *queue, *order, *turns; /* [n_faces] */
    uint8_t *states;
    int threads;
} generation;

/* 0 for the largest charts; each of the next ones has half the faces. */
static int size_class(splat_chart chart)
{
    int bits = 0;
    for (uint32_t n = chart.n; n > 0; n /= 2) bits++;
    return 32 - bits;
}

/* Lists charts [first, charts->n), those of many faces first, so that no thread begins one when the others end. */
static void find_turns(const splat_charts *charts, size_t first, uint32_t *turns)
{
    uint32_t ends[33] = {0};
    for (size_t c = first; c < charts->n; c++) ends[size_class(charts->charts[c])]++;
    for (int k = 1; k < 33; k++) ends[k] += ends[k - 1];
    for (size_t c = charts->n; c-- > first;) turns[--ends[size_class(charts->charts[c])]] = (uint32_t)c;
}

/* Lays charts out, with all threads; the parts that they cut off become charts afterwards. A failure keeps no thread
 * from its other charts: so the charts that are left do not depend on the threads. */
static splat_status lay_out_generation(const generation *g, splat_charts *charts, size_t first, splat_piece *pieces,
                                       splat_error *error)
{
    const size_t n = charts->n - first;
    size_t next = 0;
    find_turns(charts, first, g->turns);
#pragma omp parallel for schedule(static, 1) num_threads(g->threads)
    for (int thread = 0; thread < g->threads; thread++) {
        layout *l = &g->workers[thread];
        for (;;) {
            size_t turn = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (turn >= n) break;
            size_t c = g->turns[turn];
            splat_error own;
            l->queue = g->queue + charts->charts[c].first;
            l->order = g->order + charts->charts[c].first;
            splat_status status = lay_out(l, c, &pieces[c], &own);
            if (status == SPLAT_OK || (l->status != SPLAT_OK && l->failed < c)) continue;
            l->status = status;
            l->error = own;
            l->failed = c;
        }
    }
    const layout *worst = NULL;
    splat_chart_cuts *cuts = calloc((size_t)g->threads, sizeof *cuts);
    if (!cuts) return no_memory(&g->workers[0], error);
    for (int i = 0; i < g->threads; i++) {
        const layout *l = &g->workers[i];
        cuts[i] = l->cuts;
        if (l->status != SPLAT_OK && (!worst || l->failed < worst->failed)) worst = l;
    }
    splat_status status = splat_charts_add_cuts(charts, first, cuts, g->threads, error);
    for (int i = 0; i < g->threads; i++) g->workers[i].cuts.n = 0;
    free(cuts);
    if (!worst) return status;
    if (error) *error = worst->error;
    return worst->status;
}

/* Charts that were there, then those that were cut off these, and so on: the order in which one thread comes to
 * them. */
static splat_status lay_out_all(const generation *g, splat_charts *charts, splat_piece **pieces, size_t *n_pieces,
                                splat_error *error)
{
    for (size_t first = 0; first < charts->n;) {
        size_t n = charts->n;
        splat_piece *grown = realloc(*pieces, n * sizeof *grown);
        if (!grown) return no_memory(&g->workers[0], error);
        memset(grown + first, 0, (n - first) * sizeof *grown);
        *pieces = grown;
        *n_pieces = n;
        SPLAT_TRY(lay_out_generation(g, charts, first, grown, error));
        first = n;
    }
    return SPLAT_OK;
}

static void free_generation(generation *g)
{
    for (int i = 0; g->workers && i < g->threads; i++) {
        free(g->workers[i].points);
        free(g->workers[i].hull);
        free(g->workers[i].claimed);
        free(g->workers[i].cuts.items);
    }
    free(g->workers);
    free(g->queue);
    free(g->order);
    free(g->turns);
    free(g->states);
}

splat_status splat_layout_charts(splat_mesh *mesh, splat_charts *charts, const float *densities, double factor,
                                 const splat_layout_rules *rules, splat_piece **pieces, splat_error *error)
{
    const layout model = {.mesh = mesh, .charts = charts, .rules = rules, .densities = densities, .factor = factor};
    size_t n = mesh->n_faces, n_pieces = 0;
    generation g = {.threads = charts->threads};
    *pieces = NULL;
    g.workers = calloc((size_t)g.threads, sizeof *g.workers);
    g.queue = malloc((n + 1) * sizeof *g.queue);
    g.order = malloc((n + 1) * sizeof *g.order);
    g.turns = malloc((n + 1) * sizeof *g.turns);
    g.states = calloc(n + 1, sizeof *g.states);
    bool good = g.workers && g.queue && g.order && g.turns && g.states;
    for (int i = 0; good && i < g.threads; i++) {
        g.workers[i] = model;
        g.workers[i].states = g.states;
    }
    splat_status status = good ? lay_out_all(&g, charts, pieces, &n_pieces, error) : no_memory(&model, error);
    if (status != SPLAT_OK) {
        splat_pieces_free(*pieces, n_pieces);
        *pieces = NULL;
    }
    free_generation(&g);
    return status;
}
