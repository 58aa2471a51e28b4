/* The sides of the cube as squares of leaves. The inside part of a square is a convex polygon or two: corners that are
 * inside, those of smaller cells along its edges as well, and vertices of the surface, which meets the square there.
 * Without a vertex on any side the inside is all of the sides or nothing, and the surface is closed by itself. */
#include "mesh/poisson/poisson_sides.h"

#include "mesh/poisson/poisson_octree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A point on the way around a square: a corner by its place, or a vertex of the surface. */
typedef struct side_point {
    uint64_t corner; /* coordinates in cells of the deepest level, 16 bits each */
    uint32_t vertex; /* of the mesh; NONE: a corner */
} side_point;

/* Polygons of all squares, in turn. */
typedef struct side_list {
    side_point *points;   /* [n_points] */
    uint32_t *sizes;      /* [n_polygons]: points of each */
    size_t n_points, n_polygons, point_capacity, polygon_capacity;
    size_t n_vertices;    /* points that are vertices of the surface */
    bool is_short;        /* no memory */
} side_list;

enum { MOST_POINTS = 512 }; /* of a square; leaves are graded, so that a handful is usual */

typedef struct way_around {
    side_point points[MOST_POINTS];
    size_t n;
    bool is_short;
} way_around;

static void put_point(way_around *way, uint64_t corner, uint32_t vertex)
{
    if (way->n == MOST_POINTS) {
        way->is_short = true;
        return;
    }
    way->points[way->n++] = (side_point){corner, vertex};
}

static uint64_t corner_place(const poisson_octree *tree, int d, uint32_t cell, int corner)
{
    int coordinates[3];
    uint64_t place = 0;
    poisson_cell_coordinates(&tree->level[d], cell, coordinates);
    for (int a = 0; a < 3; a++)
        place |= (uint64_t)(coordinates[a] + (corner >> a & 1)) << (tree->n_levels - 1 - d) << 16 * a;
    return place;
}

static void put_corner(const poisson_shape *s, int d, uint32_t cell, int corner, way_around *way)
{
    if (poisson_is_inside(s, d, cell, corner)) put_point(way, corner_place(s->tree, d, cell, corner), POISSON_NONE);
}

/* The way along an edge, up its axis or down, without its ends. */
static void walk_edge(const poisson_shape *s, int d, uint32_t cell, int corner, int axis, bool is_up, way_around *way)
{
    int start;
    uint32_t child = poisson_edge_child(s->tree, d, cell, corner, axis, &start);
    if (child == POISSON_NONE) {
        uint32_t vertex = s->edge[d][poisson_corner(&s->tree->level[d], cell, corner)][axis];
        bool is_crossed = poisson_is_inside(s, d, cell, corner) != poisson_is_inside(s, d, cell, corner | 1 << axis);
        if (is_crossed) put_point(way, 0, vertex - 1);
        return;
    }
    uint32_t halves[2] = {child, child + (1u << axis)};
    walk_edge(s, d + 1, halves[!is_up], start, axis, is_up, way);
    put_corner(s, d + 1, child, start | 1 << axis, way);
    walk_edge(s, d + 1, halves[is_up], start, axis, is_up, way);
}

static void *make_room(void *items, size_t n, size_t more, size_t size, size_t *capacity)
{
    if (n + more <= *capacity) return items;
    size_t wanted = 2 * *capacity + more + 256;
    void *larger = realloc(items, wanted * size);
    if (larger) *capacity = wanted;
    return larger;
}

/* Points [first, first + n) of the way, which starts again at its end. */
static void put_polygon(const way_around *way, size_t first, size_t n, side_list *list)
{
    void *points = make_room(list->points, list->n_points, n, sizeof *list->points, &list->point_capacity);
    if (points) list->points = points;
    void *sizes = make_room(list->sizes, list->n_polygons, 1, sizeof *list->sizes, &list->polygon_capacity);
    if (sizes) list->sizes = sizes;
    if (!points || !sizes) {
        list->is_short = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const side_point *point = &way->points[(first + i) % way->n];
        list->n_vertices += point->vertex != POISSON_NONE;
        list->points[list->n_points++] = *point;
    }
    list->sizes[list->n_polygons++] = (uint32_t)n;
}

/* A square on a side of the cube, which is a side of a leaf. */
static void add_square(const poisson_shape *s, int d, uint32_t cell, int axis, int bit, side_list *list)
{
    int b = (axis + 1) % 3, c = (axis + 2) % 3, base = bit << axis, n_crossings = 0;
    /* counter-clockwise seen from outside the cube */
    int corner[4] = {base, base | 1 << (bit ? b : c), base | 1 << b | 1 << c, base | 1 << (bit ? c : b)};
    float value[4];
    way_around way = {.n = 0};
    for (int k = 0; k < 4; k++) {
        int next = corner[(k + 1) & 3], along = corner[k] ^ next;
        value[k] = poisson_value_at(s, d, cell, corner[k]);
        put_corner(s, d, cell, corner[k], &way);
        walk_edge(s, d, cell, corner[k] & next, along == 1 ? 0 : along == 2 ? 1 : 2, next > corner[k], &way);
    }
    list->is_short |= way.is_short;
    for (size_t i = 0; i < way.n; i++) n_crossings += way.points[i].vertex != POISSON_NONE;
    if (n_crossings < 4 || poisson_is_joined(value)) {
        if (way.n) put_polygon(&way, 0, way.n, list);
        return;
    }
    for (size_t i = 0; i < way.n; i++) { /* from a vertex to the next one, with corners between: an inside part */
        size_t n = 1;
        if (way.points[i].vertex == POISSON_NONE || way.points[(i + 1) % way.n].vertex != POISSON_NONE) continue;
        while (way.points[(i + n) % way.n].vertex == POISSON_NONE) n++;
        put_polygon(&way, i, n + 1, list);
    }
}

static void add_squares(const poisson_shape *s, side_list *list)
{
    for (int d = 0; d < s->tree->n_levels; d++) {
        const poisson_level *level = &s->tree->level[d];
        for (uint32_t cell = 0; cell < level->n_cells; cell++) {
            int coordinates[3];
            if (level->child[cell] != POISSON_NONE) continue;
            poisson_cell_coordinates(level, cell, coordinates);
            for (int side = 0; side < 6; side++)
                if (coordinates[side >> 1] == (side & 1 ? (1 << d) - 1 : 0))
                    add_square(s, d, cell, side >> 1, side & 1, list);
        }
    }
}

/* ---------------------------------------------------------------- into the mesh */

static int compare_places(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Corners by place, each once. *places: malloc'd. */
static bool sort_corners(const side_list *list, uint64_t **places, size_t *n)
{
    size_t n_all = 0, n_kept = 0;
    uint64_t *all = malloc((list->n_points + 1) * sizeof *all);
    *places = all;
    if (!all) return false;
    for (size_t i = 0; i < list->n_points; i++)
        if (list->points[i].vertex == POISSON_NONE) all[n_all++] = list->points[i].corner;
    qsort(all, n_all, sizeof *all, compare_places);
    for (size_t i = 0; i < n_all; i++)
        if (i == 0 || all[i] != all[i - 1]) all[n_kept++] = all[i];
    *n = n_kept;
    return true;
}

/* A polygon of 3 points is a face, of 4 corners two; others are fans around their middle. */
static bool is_fan(const side_point *points, size_t n)
{
    size_t n_corners = 0;
    for (size_t i = 0; i < n; i++) n_corners += points[i].vertex == POISSON_NONE;
    return n > 3 && !(n == 4 && n_corners == 4);
}

static void put_face(splat_mesh *mesh, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t *face = mesh->faces + 3 * mesh->n_faces++;
    face[0] = a;
    face[1] = b;
    face[2] = c;
}

/* numbers: of the n points of a polygon. */
static void put_faces(splat_mesh *mesh, const uint32_t *numbers, size_t n, bool is_fan)
{
    if (!is_fan) {
        for (size_t i = 2; i < n; i++) put_face(mesh, numbers[0], numbers[i - 1], numbers[i]);
        return;
    }
    uint32_t middle = (uint32_t)mesh->n_vertices++;
    for (size_t a = 0; a < 3; a++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)mesh->vertices[3 * (size_t)numbers[i] + a];
        mesh->vertices[3 * (size_t)middle + a] = (float)(sum / (double)n);
    }
    for (size_t i = 0; i < n; i++) put_face(mesh, numbers[i], numbers[(i + 1) % n], middle);
}

static void put_polygons(const poisson_shape *s, const side_list *list, const uint64_t *places, size_t n_places)
{
    splat_mesh *mesh = s->mesh;
    size_t first_corner = mesh->n_vertices;
    for (size_t i = 0; i < n_places; i++)
        for (int a = 0; a < 3; a++)
            mesh->vertices[3 * (first_corner + i) + (size_t)a] =
                ldexpf((float)(places[i] >> 16 * a & 0xffff), 1 - s->tree->n_levels);
    mesh->n_vertices += n_places;
    const side_point *point = list->points;
    for (size_t i = 0; i < list->n_polygons; point += list->sizes[i++]) {
        uint32_t numbers[MOST_POINTS];
        for (size_t k = 0; k < list->sizes[i]; k++) {
            const uint64_t *place = NULL;
            if (point[k].vertex == POISSON_NONE)
                place = bsearch(&point[k].corner, places, n_places, sizeof *places, compare_places);
            numbers[k] = place ? (uint32_t)(first_corner + (size_t)(place - places)) : point[k].vertex;
        }
        put_faces(mesh, numbers, list->sizes[i], is_fan(point, list->sizes[i]));
    }
}

static splat_status add_to_mesh(const poisson_shape *s, const side_list *list)
{
    splat_mesh *mesh = s->mesh;
    uint64_t *places = NULL;
    size_t n_places = 0, n_faces = 0, n_middles = 0, at = 0;
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < list->n_polygons; at += list->sizes[i++]) {
        bool fan = is_fan(list->points + at, list->sizes[i]);
        n_middles += fan;
        n_faces += fan ? list->sizes[i] : list->sizes[i] - 2u;
    }
    if (list->is_short || !sort_corners(list, &places, &n_places))
        status = splat_fail(s->job->error, SPLAT_ERROR_MEMORY, "no memory to close the sides of the Poisson surface");
    size_t n_vertices = mesh->n_vertices + n_places + n_middles;
    if (status == SPLAT_OK) status = poisson_count(s->job, 12 * (n_places + n_middles + n_faces));
    if (status == SPLAT_OK) status = splat_mesh_reserve(mesh, n_vertices, mesh->n_faces + n_faces, s->job->error);
    if (status == SPLAT_OK) put_polygons(s, list, places, n_places);
    free(places);
    return status;
}

splat_status poisson_sides_close(const poisson_shape *s)
{
    side_list list = {.n_points = 0};
    splat_status status = SPLAT_OK;
    add_squares(s, &list);
    if (list.n_vertices || list.is_short) status = add_to_mesh(s, &list);
    free(list.points);
    free(list.sizes);
    return status;
}
