/* Growing, copying and checking meshes and their textures; areas, volumes and normals. */
#include "mesh/mesh.h"

#include "io/picture/image_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void splat_mesh_free(splat_mesh *mesh)
{
    free(mesh->vertices);
    free(mesh->normals);
    free(mesh->colors);
    free(mesh->faces);
    splat_mesh_drop_texture(mesh);
    free(mesh->notice);
    memset(mesh, 0, sizeof *mesh);
}

static splat_status no_memory(size_t n, const char *what, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu %s", n, what);
}

/* ---------------------------------------------------------------- texture */

void splat_mesh_drop_texture(splat_mesh *mesh)
{
    for (size_t i = 0; i < mesh->n_pages; i++) splat_image_free(&mesh->pages[i]);
    free(mesh->pages);
    free(mesh->uvs);
    free(mesh->face_pages);
    mesh->pages = NULL;
    mesh->uvs = NULL;
    mesh->face_pages = NULL;
    mesh->n_pages = 0;
}

static bool grow_texture(splat_mesh *mesh, size_t n)
{
    if (mesh->uvs) {
        float *grown = realloc(mesh->uvs, 6 * n * sizeof *grown);
        if (!grown) return false;
        mesh->uvs = grown;
    }
    if (mesh->face_pages) {
        uint8_t *grown = realloc(mesh->face_pages, n);
        if (!grown) return false;
        mesh->face_pages = grown;
    }
    return true;
}

splat_status splat_mesh_require_uvs(splat_mesh *mesh, splat_error *error)
{
    if (mesh->uvs) return SPLAT_OK;
    mesh->uvs = calloc(mesh->face_capacity ? mesh->face_capacity : 1, 6 * sizeof *mesh->uvs);
    return mesh->uvs ? SPLAT_OK : no_memory(mesh->n_faces, "textured faces", error);
}

splat_status splat_mesh_require_face_pages(splat_mesh *mesh, splat_error *error)
{
    if (mesh->face_pages) return SPLAT_OK;
    mesh->face_pages = calloc(mesh->face_capacity ? mesh->face_capacity : 1, 1);
    return mesh->face_pages ? SPLAT_OK : no_memory(mesh->n_faces, "textured faces", error);
}

splat_status splat_mesh_add_page(splat_mesh *mesh, splat_image *page, splat_error *error)
{
    if (page->channels != 3 || page->width < 1 || page->height < 1 || !page->pixels)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a page of a texture must be a picture of RGB");
    if (mesh->n_pages >= SPLAT_MESH_MAX_PAGES)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the texture of a mesh has at most %d pages; make them larger",
                          SPLAT_MESH_MAX_PAGES);
    splat_image *grown = realloc(mesh->pages, (mesh->n_pages + 1) * sizeof *grown);
    if (!grown) return no_memory(mesh->n_faces, "textured faces", error);
    mesh->pages = grown;
    mesh->pages[mesh->n_pages++] = *page;
    *page = (splat_image){0};
    return SPLAT_OK;
}

static splat_status add_copy(splat_mesh *mesh, const splat_image *page, splat_error *error)
{
    splat_image copy = *page;
    size_t size = (size_t)page->width * (size_t)page->height * 3;
    copy.pixels = malloc(size ? size : 1);
    if (!copy.pixels) return no_memory(mesh->n_faces, "textured faces", error);
    memcpy(copy.pixels, page->pixels, size);
    splat_status status = splat_mesh_add_page(mesh, &copy, error);
    splat_image_free(&copy);
    return status;
}

void splat_mesh_move_face(splat_mesh *mesh, size_t to, size_t from)
{
    memmove(mesh->faces + 3 * to, mesh->faces + 3 * from, 12);
    if (mesh->uvs) memmove(mesh->uvs + 6 * to, mesh->uvs + 6 * from, 24);
    if (mesh->face_pages) mesh->face_pages[to] = mesh->face_pages[from];
}

void splat_mesh_turn_face(splat_mesh *mesh, size_t face)
{
    uint32_t *corner = mesh->faces + 3 * face, b = corner[1];
    corner[1] = corner[2];
    corner[2] = b;
    for (size_t c = 0; mesh->uvs && c < 2; c++) {
        float *uv = mesh->uvs + 6 * face, keep = uv[2 + c];
        uv[2 + c] = uv[4 + c];
        uv[4 + c] = keep;
    }
}

/* Finds or makes the page of faces without a page, in a mesh with pages. */
static splat_status white_page(splat_mesh *mesh, size_t *page, splat_error *error)
{
    uint8_t white[3] = {255, 255, 255};
    *page = mesh->n_pages;
    return add_copy(mesh, &(splat_image){.width = 1, .height = 1, .channels = 3, .pixels = white}, error);
}

static splat_status append_texture(splat_mesh *mesh, const splat_mesh *other, splat_error *error)
{
    size_t n = mesh->n_faces, m = other->n_faces, base = mesh->n_pages, first = 0, second = mesh->n_pages;
    if (!mesh->uvs && !other->uvs) return SPLAT_OK;
    SPLAT_TRY(splat_mesh_require_uvs(mesh, error));
    if (base + other->n_pages > 0 || other->face_pages) SPLAT_TRY(splat_mesh_require_face_pages(mesh, error));
    for (size_t i = 0; i < other->n_pages; i++) SPLAT_TRY(add_copy(mesh, &other->pages[i], error));
    if (base == 0 && other->n_pages > 0 && n > 0) {
        SPLAT_TRY(white_page(mesh, &first, error));
        memset(mesh->face_pages, (int)first, n);
    }
    if (base > 0 && other->n_pages == 0 && m > 0) SPLAT_TRY(white_page(mesh, &second, error));
    if (other->uvs) memcpy(mesh->uvs + 6 * n, other->uvs, 24 * m);
    else memset(mesh->uvs + 6 * n, 0, 24 * m);
    for (size_t i = 0; mesh->face_pages && i < m; i++)
        mesh->face_pages[n + i] = (uint8_t)(second + (other->face_pages ? other->face_pages[i] : 0));
    return SPLAT_OK;
}

static splat_status check_texture(const splat_mesh *mesh, splat_error *error)
{
    if (!mesh->uvs && mesh->n_pages > 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the mesh has a texture, but no texture coordinates");
    for (size_t i = 0; i < mesh->n_pages; i++) {
        const splat_image *page = &mesh->pages[i];
        if (page->channels != 3 || page->width < 1 || page->height < 1 || !page->pixels)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "page %zu of the mesh's texture is no picture of RGB", i);
    }
    for (size_t i = 0; mesh->n_pages && mesh->face_pages && i < mesh->n_faces; i++)
        if (mesh->face_pages[i] >= mesh->n_pages)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "face %zu of the mesh names page %u of its texture, which "
                              "has %zu", i, (unsigned)mesh->face_pages[i], mesh->n_pages);
    for (size_t i = 0; mesh->uvs && i < 6 * mesh->n_faces; i++)
        if (!isfinite(mesh->uvs[i]))
            return splat_fail(error, SPLAT_ERROR_NUMERIC, "a texture coordinate of face %zu of the mesh is not finite",
                              i / 6);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- growing */

/* Counts fit 32 bits, so a row of at most 24 bytes never overflows a size of 64. */
static bool grow_floats(float **array, size_t n)
{
    float *grown = realloc(*array, 3 * n * sizeof *grown);
    if (grown) *array = grown;
    return grown != NULL;
}

static bool grow_vertices(splat_mesh *mesh, size_t n)
{
    if (!grow_floats(&mesh->vertices, n) || (mesh->normals && !grow_floats(&mesh->normals, n))) return false;
    if (!mesh->colors) return true;
    uint8_t *grown = realloc(mesh->colors, 4 * n);
    if (grown) mesh->colors = grown;
    return grown != NULL;
}

static bool grow_faces(splat_mesh *mesh, size_t n)
{
    uint32_t *grown = realloc(mesh->faces, 3 * n * sizeof *grown);
    if (grown) mesh->faces = grown;
    return grown != NULL && grow_texture(mesh, n);
}

splat_status splat_mesh_reserve(splat_mesh *mesh, size_t n_vertices, size_t n_faces, splat_error *error)
{
    if (n_vertices > mesh->vertex_capacity) {
        if (n_vertices > UINT32_MAX || !grow_vertices(mesh, n_vertices))
            return no_memory(n_vertices, "vertices", error);
        mesh->vertex_capacity = n_vertices;
    }
    if (n_faces > mesh->face_capacity) {
        if (n_faces > UINT32_MAX || !grow_faces(mesh, n_faces))
            return no_memory(n_faces, "faces", error);
        mesh->face_capacity = n_faces;
    }
    return SPLAT_OK;
}

static size_t doubled(size_t n)
{
    size_t grown = n < 16 ? 32 : 2 * n;
    return grown > UINT32_MAX && n < UINT32_MAX ? UINT32_MAX : grown;
}

splat_status splat_mesh_add_vertex(splat_mesh *mesh, const float position[3], const uint8_t color[4],
                                   splat_error *error)
{
    static const uint8_t white[4] = {255, 255, 255, 255};
    size_t i = mesh->n_vertices;
    if (i == mesh->vertex_capacity) SPLAT_TRY(splat_mesh_reserve(mesh, doubled(i), 0, error));
    memcpy(mesh->vertices + 3 * i, position, 12);
    if (mesh->normals) memset(mesh->normals + 3 * i, 0, 12);
    if (mesh->colors) memcpy(mesh->colors + 4 * i, color ? color : white, 4);
    mesh->n_vertices++;
    return SPLAT_OK;
}

splat_status splat_mesh_add_face(splat_mesh *mesh, uint32_t a, uint32_t b, uint32_t c, splat_error *error)
{
    size_t i = mesh->n_faces;
    if (i == mesh->face_capacity) SPLAT_TRY(splat_mesh_reserve(mesh, 0, doubled(i), error));
    const uint32_t corners[3] = {a, b, c};
    memcpy(mesh->faces + 3 * i, corners, 12);
    if (mesh->uvs) memset(mesh->uvs + 6 * i, 0, 24);
    if (mesh->face_pages) mesh->face_pages[i] = 0;
    mesh->n_faces++;
    return SPLAT_OK;
}

splat_status splat_mesh_require_normals(splat_mesh *mesh, splat_error *error)
{
    if (mesh->normals) return SPLAT_OK;
    mesh->normals = calloc(mesh->vertex_capacity ? mesh->vertex_capacity : 1, 12);
    return mesh->normals ? SPLAT_OK : no_memory(mesh->vertex_capacity, "normals", error);
}

splat_status splat_mesh_require_colors(splat_mesh *mesh, splat_error *error)
{
    if (mesh->colors) return SPLAT_OK;
    size_t size = 4 * (mesh->vertex_capacity ? mesh->vertex_capacity : 1);
    mesh->colors = malloc(size);
    if (!mesh->colors) return no_memory(mesh->vertex_capacity, "colours", error);
    memset(mesh->colors, 255, size);
    return SPLAT_OK;
}

splat_status splat_mesh_append(splat_mesh *mesh, const splat_mesh *other, splat_error *error)
{
    size_t n = mesh->n_vertices, m = mesh->n_faces;
    if (other->normals) SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    if (other->colors) SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    SPLAT_TRY(splat_mesh_reserve(mesh, n + other->n_vertices, m + other->n_faces, error));
    SPLAT_TRY(append_texture(mesh, other, error));
    if (other->n_vertices) memcpy(mesh->vertices + 3 * n, other->vertices, 12 * other->n_vertices);
    if (mesh->normals && other->normals) memcpy(mesh->normals + 3 * n, other->normals, 12 * other->n_vertices);
    if (mesh->normals && !other->normals) memset(mesh->normals + 3 * n, 0, 12 * other->n_vertices);
    if (mesh->colors && other->colors) memcpy(mesh->colors + 4 * n, other->colors, 4 * other->n_vertices);
    if (mesh->colors && !other->colors) memset(mesh->colors + 4 * n, 255, 4 * other->n_vertices);
    for (size_t i = 0; i < 3 * other->n_faces; i++) mesh->faces[3 * m + i] = other->faces[i] + (uint32_t)n;
    mesh->n_vertices += other->n_vertices;
    mesh->n_faces += other->n_faces;
    return SPLAT_OK;
}

splat_status splat_mesh_copy(const splat_mesh *mesh, splat_mesh *copy, splat_error *error)
{
    memset(copy, 0, sizeof *copy);
    splat_status status = splat_mesh_append(copy, mesh, error);
    if (status != SPLAT_OK) splat_mesh_free(copy);
    return status;
}

splat_status splat_mesh_check(const splat_mesh *mesh, splat_error *error)
{
    for (size_t i = 0; i < 3 * mesh->n_faces; i++)
        if (mesh->faces[i] >= mesh->n_vertices)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "face %zu of the mesh names vertex %u, but it has %zu",
                              i / 3, (unsigned)mesh->faces[i], mesh->n_vertices);
    for (size_t i = 0; i < 3 * mesh->n_vertices; i++)
        if (!isfinite(mesh->vertices[i]))
            return splat_fail(error, SPLAT_ERROR_NUMERIC, "a coordinate of vertex %zu of the mesh is not finite",
                              i / 3);
    return check_texture(mesh, error);
}

void splat_mesh_bounds(const splat_mesh *mesh, float low[3], float high[3])
{
    for (size_t c = 0; c < 3; c++) low[c] = high[c] = mesh->n_vertices ? mesh->vertices[c] : 0.0f;
    for (size_t i = 1; i < mesh->n_vertices; i++) {
        for (size_t c = 0; c < 3; c++) {
            float x = mesh->vertices[3 * i + c];
            if (x < low[c]) low[c] = x;
            if (x > high[c]) high[c] = x;
        }
    }
}

void splat_mesh_face_cross(const splat_mesh *mesh, size_t face, double cross[3])
{
    const uint32_t *corner = mesh->faces + 3 * face;
    const float *a = mesh->vertices + 3 * (size_t)corner[0], *b = mesh->vertices + 3 * (size_t)corner[1],
                *c = mesh->vertices + 3 * (size_t)corner[2];
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
    }
    cross[0] = u[1] * v[2] - u[2] * v[1];
    cross[1] = u[2] * v[0] - u[0] * v[2];
    cross[2] = u[0] * v[1] - u[1] * v[0];
}

double splat_mesh_face_area(const splat_mesh *mesh, size_t face)
{
    double n[3];
    splat_mesh_face_cross(mesh, face, n);
    return 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

double splat_mesh_area(const splat_mesh *mesh)
{
    double sum = 0.0;
    for (size_t i = 0; i < mesh->n_faces; i++) sum += splat_mesh_face_area(mesh, i);
    return sum;
}

double splat_mesh_volume(const splat_mesh *mesh)
{
    float low[3], high[3];
    double sum = 0.0;
    splat_mesh_bounds(mesh, low, high); /* tetrahedra to a corner of the box: less cancellation than to the origin */
    for (size_t i = 0; i < mesh->n_faces; i++) {
        double n[3];
        const float *a = mesh->vertices + 3 * (size_t)mesh->faces[3 * i];
        splat_mesh_face_cross(mesh, i, n);
        for (int k = 0; k < 3; k++) sum += n[k] * ((double)a[k] - (double)low[k]);
    }
    return sum / 6.0;
}

/* The normals of vertices [low, high), whose sums[high - low][3] are zero. Faces add in their order. */
static void compute_normals_of(splat_mesh *mesh, size_t low, size_t high, double *sums)
{
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const uint32_t *f = mesh->faces + 3 * i;
        double n[3];
        bool is_own[3];
        for (int j = 0; j < 3; j++) is_own[j] = f[j] >= low && f[j] < high;
        if (!(is_own[0] | is_own[1] | is_own[2])) continue;
        splat_mesh_face_cross(mesh, i, n); /* its length is the weight */
        for (int j = 0; j < 3; j++)
            for (size_t k = 0; k < 3 && is_own[j]; k++) sums[3 * (f[j] - low) + k] += n[k];
    }
    for (size_t i = low; i < high; i++) {
        const double *n = sums + 3 * (i - low);
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (size_t k = 0; k < 3; k++) mesh->normals[3 * i + k] = length > 0.0 ? (float)(n[k] / length) : 0.0f;
    }
}

splat_status splat_mesh_compute_normals(splat_mesh *mesh, int threads, splat_error *error)
{
    size_t n = mesh->n_vertices, n_parts = threads < 1 ? 1 : threads < 16 ? (size_t)threads : 16;
    SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    double *sums = calloc(n ? n : 1, 3 * sizeof *sums);
    if (!sums) return no_memory(n, "normals", error);
    /* each thread goes through all faces for vertices of its own: that is quicker than lists of faces around them */
#pragma omp parallel for num_threads((int)n_parts) schedule(static, 1)
    for (size_t part = 0; part < n_parts; part++) {
        size_t low = n * part / n_parts, high = n * (part + 1) / n_parts;
        compute_normals_of(mesh, low, high, sums + 3 * low);
    }
    free(sums);
    return SPLAT_OK;
}

void splat_mesh_flip(splat_mesh *mesh)
{
    for (size_t i = 0; i < mesh->n_faces; i++) splat_mesh_turn_face(mesh, i);
    for (size_t i = 0; mesh->normals && i < 3 * mesh->n_vertices; i++) mesh->normals[i] = -mesh->normals[i];
}
