/* Coarser levels of a textured mesh: their names, their options, their faces. */
#include "texture/lods.h"

#include "base/file.h"
#include "mesh/files/texture_files.h"
#include "mesh/mesh_holes.h"
#include "mesh/mesh_simplify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FACES_KEPT 4   /* one of so many */
#define LEAST_SIDE 64  /* of a texture_size */
#define MOST_TEXELS 8  /* that collapses move the surface, texels of the level before. Without a limit the target is met
                          at any price: many small pieces, which stay, cost the walls around them */
#define HOLE_TEXELS 16 /* diagonal of the largest holes that are closed, texels of the level before */

/* ---------------------------------------------------------------- names and options */

char *splat_lod_name(const char *path, int level)
{
    char *stem = splat_path_with_ending(splat_basename(path), "");
    char *name = stem ? splat_format("%s_LOD%d", stem, level) : NULL;
    free(stem);
    return name;
}

char *splat_lod_path(const char *path, int level)
{
    char *name = splat_lod_name(path, level), *dot = strrchr(splat_basename(path), '.');
    char *file = name ? splat_format("%s%s", name, dot ? dot : "") : NULL;
    char *beside = file ? splat_path_beside(path, file) : NULL;
    free(name);
    free(file);
    return beside;
}

void splat_lod_next_options(splat_texture_options *options)
{
    options->texel_density /= 2;
    if (options->texture_size)
        options->texture_size = options->texture_size > 2 * LEAST_SIDE ? options->texture_size / 2 : LEAST_SIDE;
}

uint64_t splat_lod_bytes(size_t n_vertices, size_t n_faces)
{
    return n_vertices * (24 + sizeof(float)) + n_faces * 12 + splat_mesh_simplify_bytes(n_vertices, n_faces);
}

/* ---------------------------------------------------------------- faces */

/* Sides of the texels on a face, scene units; 0: it has none. */
static double texel_side(const splat_mesh *mesh, size_t face)
{
    const float *uv = mesh->uvs + 6 * face;
    const splat_image *page = &mesh->pages[mesh->face_pages ? mesh->face_pages[face] : 0];
    const double a[2] = {(double)uv[2] - (double)uv[0], (double)uv[3] - (double)uv[1]};
    const double b[2] = {(double)uv[4] - (double)uv[0], (double)uv[5] - (double)uv[1]};
    const double texels = 0.5 * fabs(a[0] * b[1] - a[1] * b[0]) * page->width * page->height;
    return texels > 0 ? sqrt(splat_mesh_face_area(mesh, face) / texels) : 0;
}

/* The smallest texels at each vertex, scene units: pixels of the best photo are about as wide. */
static void find_sizes(const splat_mesh *mesh, float *sizes)
{
    float largest = 0;
    memset(sizes, 0, mesh->n_vertices * sizeof *sizes);
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) {
        float *size = &sizes[mesh->faces[i]];
        const float side = (float)texel_side(mesh, i / 3);
        if (!(side > 0)) continue;
        if (*size == 0 || side < *size) *size = side;
        largest = fmaxf(largest, side);
    }
    for (size_t i = 0; i < mesh->n_vertices; i++)
        if (sizes[i] == 0) sizes[i] = largest > 0 ? largest : 1;
}

static splat_status simplify(splat_mesh *mesh, size_t n_faces, const splat_texture_options *options, int threads,
                             splat_error *error)
{
    splat_mesh_simplify_options simplify_options;
    size_t n_holes;
    float *sizes = malloc((mesh->n_vertices + 1) * sizeof *sizes);
    if (!sizes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to simplify %zu vertices", mesh->n_vertices);
    find_sizes(mesh, sizes);
    splat_mesh_drop_texture(mesh);
    splat_mesh_simplify_options_init(&simplify_options);
    simplify_options.target_faces = n_faces;
    simplify_options.max_sizes = MOST_TEXELS;
    simplify_options.threads = threads;
    simplify_options.progress = options->progress;
    simplify_options.progress_user = options->progress_user;
    splat_status status = splat_mesh_close_holes(mesh, HOLE_TEXELS, threads, &sizes, &n_holes, error);
    simplify_options.sizes = sizes;
    if (status == SPLAT_OK) status = splat_mesh_simplify(mesh, &simplify_options, NULL, error);
    free(sizes);
    return status;
}

splat_status splat_lod_coarsen(splat_mesh *mesh, const splat_texture_options *options, int threads, char **why,
                               splat_error *error)
{
    const size_t n = mesh->n_faces, wanted = n / FACES_KEPT;
    *why = NULL;
    if (wanted < SPLAT_LOD_LEAST_FACES) {
        *why = splat_format("a quarter of %zu faces is less than %d", n, SPLAT_LOD_LEAST_FACES);
    } else {
        SPLAT_TRY(simplify(mesh, wanted, options, threads, error));
        if (mesh->n_faces <= n / 2) return SPLAT_OK;
        *why = splat_format("its shape, pieces and holes need %zu of %zu faces", mesh->n_faces, n);
    }
    return *why ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a sentence");
}
