/* SuGaR's packing of a texture: pairs of faces in squares (docs/method.md; the published corners). */
#include "texture/squares.h"

#include "texture/atlas.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_SQUARE = 5 };

/* Squares along the side of a page that holds n of them: as published, int(sqrt(n) + 1). */
static size_t squares_along(size_t n)
{
    return (size_t)(sqrt((double)n) + 1.0);
}

/* Pages that all faces need when squares have a side of q texels. */
static size_t count_pages(size_t n_squares, int q, int max_texture)
{
    size_t along = (size_t)(max_texture / q);
    if (squares_along(n_squares) <= along) return 1;
    return (n_squares + along * along - 1) / (along * along);
}

static splat_status check(size_t n_squares, int q, int max_texture, splat_error *error)
{
    if (max_texture < MIN_SQUARE || max_texture > SPLAT_IMAGE_MAX_SIDE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`max_texture` must be %d to %d", MIN_SQUARE,
                          SPLAT_IMAGE_MAX_SIDE);
    if (q < MIN_SQUARE || q > max_texture)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`square_size` must be %d (in less, a triangle has no area) to "
                          "`max_texture`, %d", MIN_SQUARE, max_texture);
    if (count_pages(n_squares, q, max_texture) <= SPLAT_MESH_MAX_PAGES) return SPLAT_OK;
    int fits = q;
    while (fits >= MIN_SQUARE && count_pages(n_squares, fits, max_texture) > SPLAT_MESH_MAX_PAGES) fits--;
    if (fits < MIN_SQUARE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the %zu faces do not fit into %d pages of `max_texture` %d, in "
                          "squares of no size; raise `max_texture` or simplify the mesh", 2 * n_squares,
                          SPLAT_MESH_MAX_PAGES, max_texture);
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the faces do not fit into %d pages of `max_texture` %d with a "
                      "`square_size` of %d; %d fits", SPLAT_MESH_MAX_PAGES, max_texture, q, fits);
}

splat_status splat_atlas_squares(splat_mesh *mesh, int square_size, int max_texture, splat_atlas *atlas,
                                 splat_error *error)
{
    const int q = square_size;
    /* texels from the square's left and lower edge: v counts upward, as published */
    const int corners[2][3][2] = {{{q - 2, 1}, {2, 1}, {q - 2, q - 3}}, {{1, q - 1}, {1, 3}, {q - 3, q - 1}}};
    size_t n_squares = mesh->n_faces / 2 + 1;
    if (mesh->n_faces == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a mesh without faces has no atlas");
    SPLAT_TRY(check(n_squares, q, max_texture, error));
    size_t n_pages = count_pages(n_squares, q, max_texture);
    size_t along = n_pages == 1 ? squares_along(n_squares) : (size_t)(max_texture / q);
    int side = (int)along * q;
    splat_mesh_drop_texture(mesh);
    SPLAT_TRY(splat_mesh_require_uvs(mesh, error));
    if (n_pages > 1) SPLAT_TRY(splat_mesh_require_face_pages(mesh, error));
    *atlas = (splat_atlas){.n_pages = n_pages, .gutter = 2};
    for (size_t i = 0; i < n_pages; i++) atlas->pages[i].width = atlas->pages[i].height = side;
    for (size_t f = 0; f < mesh->n_faces; f++) {
        size_t square = f / 2 % (along * along), column = square / along, row = square % along;
        for (size_t k = 0; k < 3; k++) {
            mesh->uvs[6 * f + 2 * k] = (float)(((double)(column * (size_t)q) + corners[f % 2][k][0]) / side);
            mesh->uvs[6 * f + 2 * k + 1] = (float)(1.0 - ((double)(row * (size_t)q) + corners[f % 2][k][1]) / side);
        }
        if (mesh->face_pages) mesh->face_pages[f] = (uint8_t)(f / 2 / (along * along));
    }
    splat_atlas_measure(mesh, atlas);
    return SPLAT_OK;
}
