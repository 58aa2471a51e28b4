/* Triangles and points of a GLB file, where the nodes of its scene place them (glTF 2.0, chapters 3.5 and 3.7).
 * Of materials the picture of the base colour is read; skins, morph targets and animations are passed over. */
#include "mesh/files/mesh_glb_read.h"

#include "base/array.h"
#include "io/json.h"
#include "math/color.h"
#include "mesh/files/glb_texture.h"
#include "mesh/mesh_clean_vertices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x' = m x + t: the first three rows of a glTF matrix. */
typedef struct placement {
    double m[3][3], t[3];
} placement;

/* A node that is still to be visited, and where its parent lies. */
typedef struct pending {
    size_t node;
    placement parent;
} pending;

/* The arrays of the primitive before: primitives of a mesh often share theirs. */
typedef struct shared_vertices {
    const uint8_t *position, *normal, *color;
    size_t first, n;
} shared_vertices;

typedef struct walk {
    splat_glb_file file;
    splat_mesh *mesh;
    splat_page_reader pages;
    int16_t *face_pages; /* [faces so far], -1: no picture */
    size_t face_capacity;
    size_t budget;   /* vertices and corners that may still be added */
    pending *stack;  /* room for every node once */
    size_t n_stack;
    bool *reached;   /* [nodes] */
} walk;

static const placement identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};

static splat_status bad(const walk *w, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, w->file.path, SPLAT_NO_OFFSET, "the GLB file is damaged: %s",
                         what);
}

/* Nodes may repeat a mesh, and a few bytes could so ask for any memory. */
static splat_status spend(walk *w, size_t n, splat_error *error)
{
    if (n > w->budget)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, w->file.path, SPLAT_NO_OFFSET,
                             "the nodes of the file repeat its meshes so often that they are many times as large as "
                             "the file; export it without instances");
    w->budget -= n;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- vertices */

static uint8_t byte_of(double value)
{
    return value >= 1.0 ? 255 : value > 0.0 ? (uint8_t)(255.0 * value + 0.5) : 0; /* NaN: 0 */
}

/* Linear to sRGB. */
static uint8_t srgb_byte(double x)
{
    if (!(x > 0)) return 0; /* NaN too */
    return byte_of(splat_srgb_encode(x < 1.0 ? x : 1.0));
}

/* By the inverse transpose of m, whose direction is that of its cofactors; turned with the faces when m mirrors. */
static void place_normal(const placement *p, double sign, const double n[3], float out[3])
{
    double v[3], length = 0;
    for (int r = 0; r < 3; r++) {
        const double *a = p->m[(r + 1) % 3], *b = p->m[(r + 2) % 3];
        v[r] = sign * ((a[1] * b[2] - a[2] * b[1]) * n[0] + (a[2] * b[0] - a[0] * b[2]) * n[1] +
                       (a[0] * b[1] - a[1] * b[0]) * n[2]);
        length += v[r] * v[r];
    }
    length = sqrt(length);
    for (int r = 0; r < 3; r++) out[r] = length > 0 && isfinite(length) ? (float)(v[r] / length) : 0.0f;
}

static double determinant(const placement *p)
{
    const double(*m)[3] = p->m;
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

static splat_status add_vertex(walk *w, const placement *p, const splat_glb_accessor *position, size_t row,
                               const uint8_t color[4], splat_error *error)
{
    float out[3];
    for (int r = 0; r < 3; r++) {
        double sum = p->t[r];
        for (int c = 0; c < 3; c++) sum += p->m[r][c] * splat_glb_value(position, row, c);
        out[r] = (float)sum;
        if (!isfinite(out[r])) return bad(w, "a coordinate is not finite", error);
    }
    return splat_mesh_add_vertex(w->mesh, out, color, error);
}

/* Positions, normals and colours; data is NULL where there are none. */
static splat_status find_vertices(walk *w, const json_t *attributes, splat_glb_accessor a[3], splat_error *error)
{
    static const char *const names[3] = {"POSITION", "NORMAL", "COLOR_0"};
    for (int i = 0; i < 3; i++) {
        SPLAT_TRY(splat_glb_find(&w->file, attributes, names[i], &a[i], error));
        if (!a[0].data) return SPLAT_OK; /* without positions there is nothing to draw */
        if (!a[i].data) continue;
        if (a[i].channels != 3 && !(i == 2 && a[i].channels == 4))
            return bad(w, "an attribute of a mesh has the wrong number of components", error);
        if (a[i].n != a[0].n) return bad(w, "the attributes of a mesh have different lengths", error);
    }
    return SPLAT_OK;
}

/* Appends the vertices of a primitive, unless those of the one before were the same. */
static splat_status add_vertices(walk *w, const placement *p, const splat_glb_accessor a[3], shared_vertices *last,
                                 splat_error *error)
{
    const splat_glb_accessor *position = &a[0], *normal = &a[1], *color = &a[2];
    splat_mesh *mesh = w->mesh;
    if (last->position == position->data && last->normal == normal->data && last->color == color->data &&
        last->n == position->n)
        return SPLAT_OK;
    SPLAT_TRY(spend(w, position->n, error));
    *last = (shared_vertices){position->data, normal->data, color->data, mesh->n_vertices, position->n};
    if (normal->data) SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    if (color->data) SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    double sign = determinant(p) < 0 ? -1.0 : 1.0;
    bool turned = memcmp(p->m, identity.m, sizeof p->m) != 0; /* else normals are taken as they are */
    for (size_t i = 0; i < position->n; i++) {
        uint8_t rgba[4] = {255, 255, 255, 255};
        for (int c = 0; color->data && c < color->channels; c++)
            rgba[c] = c < 3 ? srgb_byte(splat_glb_value(color, i, c)) : byte_of(splat_glb_value(color, i, c));
        SPLAT_TRY(add_vertex(w, p, position, i, rgba, error));
        if (!normal->data) continue;
        const double n[3] = {splat_glb_value(normal, i, 0), splat_glb_value(normal, i, 1),
                             splat_glb_value(normal, i, 2)};
        float *out = mesh->normals + 3 * (mesh->n_vertices - 1);
        for (int c = 0; c < 3; c++) out[c] = (float)n[c];
        if (turned) place_normal(p, sign, n, out);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- faces */

/* The newest face's corners on the page of its material. */
static splat_status add_face_texture(walk *w, const splat_glb_texture *texture, const size_t corners[3],
                                     splat_error *error)
{
    size_t face = w->mesh->n_faces - 1;
    int16_t *grown = splat_array_grow(w->face_pages, &w->face_capacity, face, sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the texture of a GLB file");
    w->face_pages = grown;
    grown[face] = texture->coords.data ? (int16_t)texture->page : -1;
    if (!texture->coords.data) return SPLAT_OK;
    SPLAT_TRY(splat_mesh_require_uvs(w->mesh, error));
    for (size_t k = 0; k < 3; k++) splat_glb_texture_coords(texture, corners[k], w->mesh->uvs + 6 * face + 2 * k);
    return SPLAT_OK;
}

static splat_status add_faces(walk *w, bool mirrored, const splat_glb_accessor *indices, const shared_vertices *v,
                              const splat_glb_texture *texture, splat_error *error)
{
    size_t n = indices->data ? indices->n : v->n;
    if (n % 3 != 0) return bad(w, "a mesh of triangles has a number of corners that is no multiple of 3", error);
    if (indices->data && (indices->channels != 1 || indices->normalized ||
                          (indices->component != SPLAT_GLB_UINT8 && indices->component != SPLAT_GLB_UINT16 &&
                           indices->component != SPLAT_GLB_UINT32)))
        return bad(w, "the indices of a mesh are not of an unsigned type", error);
    SPLAT_TRY(spend(w, n, error));
    for (size_t i = 0; i < n; i += 3) {
        size_t corners[3];
        for (size_t k = 0; k < 3; k++) {
            size_t at = i + (mirrored ? (3 - k) % 3 : k);
            corners[k] = indices->data ? (size_t)splat_glb_value(indices, at, 0) : at;
            if (corners[k] >= v->n) return bad(w, "a face names a vertex that does not exist", error);
        }
        SPLAT_TRY(splat_mesh_add_face(w->mesh, (uint32_t)(v->first + corners[0]), (uint32_t)(v->first + corners[1]),
                                      (uint32_t)(v->first + corners[2]), error));
        SPLAT_TRY(add_face_texture(w, texture, corners, error));
    }
    return SPLAT_OK;
}

static splat_status add_primitive(walk *w, const placement *p, const json_t *primitive, shared_vertices *last,
                                  splat_error *error)
{
    static const char *const modes[] = {"points", "lines", "line loops", "line strips", "triangles", "triangle strips",
                                        "triangle fans"};
    splat_glb_accessor vertices[3], indices;
    splat_glb_texture texture;
    size_t mode = SPLAT_GLB_TRIANGLES;
    SPLAT_TRY(splat_glb_number(&w->file, primitive, "mode", &mode, error));
    if (mode > 6) return bad(w, "a primitive is of an unknown kind", error);
    if (mode != SPLAT_GLB_TRIANGLES && mode != SPLAT_GLB_POINTS)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, w->file.path, SPLAT_NO_OFFSET,
                             "the file has a mesh of %s, which is not supported; export triangles", modes[mode]);
    SPLAT_TRY(find_vertices(w, json_object_get(primitive, "attributes"), vertices, error));
    if (!vertices[0].data) return SPLAT_OK;
    SPLAT_TRY(add_vertices(w, p, vertices, last, error));
    if (mode == SPLAT_GLB_POINTS) return SPLAT_OK;
    SPLAT_TRY(splat_glb_find(&w->file, primitive, "indices", &indices, error));
    SPLAT_TRY(splat_glb_find_texture(&w->file, &w->pages, primitive, vertices[0].n, &texture, error));
    return add_faces(w, determinant(p) < 0, &indices, last, &texture, error);
}

static splat_status add_mesh(walk *w, const placement *p, size_t index, splat_error *error)
{
    const json_t *mesh, *primitives = NULL;
    shared_vertices last = {0};
    SPLAT_TRY(splat_glb_item(&w->file, "meshes", index, &mesh, error));
    SPLAT_TRY(splat_json_get_array(mesh, "primitives", w->file.path, &primitives, error));
    for (size_t i = 0; i < json_array_size(primitives); i++)
        SPLAT_TRY(add_primitive(w, p, json_array_get(primitives, i), &last, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- nodes */

/* n numbers of a list; they stay as they were where the key is absent. */
static splat_status read_list(const walk *w, const json_t *node, const char *key, double *values, size_t n,
                              splat_error *error)
{
    const json_t *list = NULL;
    SPLAT_TRY(splat_json_get_array(node, key, w->file.path, &list, error));
    if (!list) return SPLAT_OK;
    for (size_t i = 0; i < n; i++) {
        if (json_array_size(list) != n || !json_is_number(json_array_get(list, i)))
            return bad(w, "a matrix, rotation, scale or translation has the wrong numbers", error);
        values[i] = json_number_value(json_array_get(list, i));
    }
    return SPLAT_OK;
}

/* `matrix`, or translation, rotation (x y z w) and scale; nothing where our own files turn the mesh for viewers. */
static splat_status read_placement(const walk *w, const json_t *node, placement *p, splat_error *error)
{
    double matrix[16], q[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1}, t[3] = {0, 0, 0};
    SPLAT_TRY(read_list(w, node, "translation", t, 3, error));
    SPLAT_TRY(read_list(w, node, "rotation", q, 4, error));
    SPLAT_TRY(read_list(w, node, "scale", s, 3, error));
    double x = q[0], y = q[1], z = q[2], r = q[3], length = sqrt(x * x + y * y + z * z + r * r);
    if (!(length > 0)) return bad(w, "a rotation is zero", error);
    x /= length, y /= length, z /= length, r /= length;
    const double rotation[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * r), 2 * (x * z + y * r)},
                                   {2 * (x * y + z * r), 1 - 2 * (x * x + z * z), 2 * (y * z - x * r)},
                                   {2 * (x * z - y * r), 2 * (y * z + x * r), 1 - 2 * (x * x + y * y)}};
    for (int i = 0; i < 3; i++) /* column-major, as glTF's */
        for (int c = 0; c < 3; c++) matrix[4 * c + i] = rotation[i][c] * s[c];
    memcpy(matrix + 12, t, sizeof t);
    SPLAT_TRY(read_list(w, node, "matrix", matrix, 16, error));
    if (json_is_true(json_object_get(json_object_get(node, "extras"), SPLAT_GLB_SCENE_COORDINATES))) return SPLAT_OK;
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < 3; c++) p->m[i][c] = matrix[4 * c + i];
        p->t[i] = matrix[12 + i];
    }
    return SPLAT_OK;
}

static placement compose(const placement *a, const placement *b)
{
    placement out;
    for (int i = 0; i < 3; i++) {
        out.t[i] = a->t[i];
        for (int k = 0; k < 3; k++) out.t[i] += a->m[i][k] * b->t[k];
        for (int c = 0; c < 3; c++)
            out.m[i][c] = a->m[i][0] * b->m[0][c] + a->m[i][1] * b->m[1][c] + a->m[i][2] * b->m[2][c];
    }
    return out;
}

/* Puts the nodes of a list on the stack, the first on top. Nodes form trees: one that is reached twice would make a
 * circle, or the work grow without bound. */
static splat_status push_nodes(walk *w, const json_t *holder, const char *key, const placement *parent,
                               splat_error *error)
{
    const json_t *list = NULL, *node;
    SPLAT_TRY(splat_json_get_array(holder, key, w->file.path, &list, error));
    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *number = json_array_get(list, i);
        json_int_t index = json_integer_value(number);
        if (!json_is_integer(number) || index < 0) return bad(w, "a node is named by what is no number", error);
        SPLAT_TRY(splat_glb_item(&w->file, "nodes", (size_t)index, &node, error));
        if (w->reached[index]) return bad(w, "a node is reached twice", error);
        w->reached[index] = true;
        w->stack[w->n_stack++] = (pending){(size_t)index, *parent};
    }
    return SPLAT_OK;
}

static splat_status visit(walk *w, const pending *at, splat_error *error)
{
    const json_t *node;
    placement local = identity;
    size_t mesh = 0;
    SPLAT_TRY(splat_glb_item(&w->file, "nodes", at->node, &node, error));
    if (json_is_true(json_object_get(json_object_get(node, "extras"), SPLAT_GLB_SKY))) return SPLAT_OK;
    SPLAT_TRY(read_placement(w, node, &local, error));
    placement placed = compose(&at->parent, &local);
    if (json_object_get(node, "mesh")) {
        SPLAT_TRY(splat_glb_number(&w->file, node, "mesh", &mesh, error));
        SPLAT_TRY(add_mesh(w, &placed, mesh, error));
    }
    return push_nodes(w, node, "children", &placed, error);
}

/* The scene that the file names, else its first; a file without scenes is a library of meshes, and all are taken. */
static splat_status read_scene(walk *w, splat_error *error)
{
    const json_t *scene;
    size_t number = 0, n_nodes = json_array_size(json_object_get(w->file.root, "nodes"));
    if (json_array_size(json_object_get(w->file.root, "scenes")) == 0) {
        size_t n = json_array_size(json_object_get(w->file.root, "meshes"));
        for (size_t i = 0; i < n; i++) SPLAT_TRY(add_mesh(w, &identity, i, error));
        return SPLAT_OK;
    }
    SPLAT_TRY(splat_glb_number(&w->file, w->file.root, "scene", &number, error));
    SPLAT_TRY(splat_glb_item(&w->file, "scenes", number, &scene, error));
    w->stack = malloc((n_nodes + 1) * sizeof *w->stack);
    w->reached = calloc(n_nodes + 1, sizeof *w->reached);
    if (!w->stack || !w->reached)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the %zu nodes of a GLB file", n_nodes);
    SPLAT_TRY(push_nodes(w, scene, "nodes", &identity, error));
    while (w->n_stack > 0) {
        pending at = w->stack[--w->n_stack];
        SPLAT_TRY(visit(w, &at, error));
    }
    return SPLAT_OK;
}

/* glTF has vertices once for each of their texture coordinates; here faces have these, and a vertex is one again. */
static splat_status close_seams(splat_mesh *mesh, splat_error *error)
{
    size_t n_double = 0, n_unused = 0;
    SPLAT_TRY(splat_mesh_merge_vertices(mesh, 0, 1, &n_double, error));
    return n_double ? splat_mesh_remove_unreferenced(mesh, 1, &n_unused, error) : SPLAT_OK;
}

splat_status splat_mesh_read_glb(const char *path, splat_mesh *mesh, splat_error *error)
{
    walk w = {.mesh = mesh};
    memset(mesh, 0, sizeof *mesh);
    SPLAT_TRY(splat_glb_open(&w.file, path, error));
    splat_page_reader_init(&w.pages, mesh, path);
    w.budget = 16 * w.file.size + (1 << 24);
    splat_status status = read_scene(&w, error);
    if (status == SPLAT_OK && mesh->n_vertices == 0) status = bad(&w, "its scene has no mesh", error);
    if (status == SPLAT_OK && mesh->uvs) status = close_seams(mesh, error);
    if (status == SPLAT_OK) status = splat_page_reader_finish(&w.pages, w.face_pages, true, error);
    splat_page_reader_free(&w.pages);
    free(w.face_pages);
    free(w.stack);
    free(w.reached);
    splat_glb_close(&w.file);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}
