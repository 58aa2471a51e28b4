/* Chart atlases: densities, charts, layout, the size of the pages. */
#include "texture/atlas.h"
#include "texture/pack.h"

#include "texture/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SIDE = 64, MAX_MIP_LEVELS = 5, FIT_ROUNDS = 8 };

void splat_atlas_options_init(splat_atlas_options *options)
{
    *options = (splat_atlas_options){.texel_density = 1.0, .max_texture = 8192, .mip_levels = 2, .threads = 1};
}

void splat_atlas_of_mesh(const splat_mesh *mesh, splat_atlas *atlas)
{
    *atlas = (splat_atlas){.n_pages = mesh->n_pages};
    for (size_t i = 0; i < mesh->n_pages; i++) {
        atlas->pages[i].width = mesh->pages[i].width;
        atlas->pages[i].height = mesh->pages[i].height;
    }
    splat_atlas_measure(mesh, atlas);
}

static splat_status check_options(const splat_mesh *mesh, const splat_atlas_options *o, splat_error *error)
{
    const char *what = NULL;
    if (!(o->texel_density > 0.0 && isfinite(o->texel_density))) what = "`texel_density` must be above 0";
    if (o->texture_size != 0 && (o->texture_size < MIN_SIDE || o->texture_size > SPLAT_IMAGE_MAX_SIDE))
        what = "`texture_size` must be 64 to 65500";
    if (o->max_texture < MIN_SIDE || o->max_texture > SPLAT_IMAGE_MAX_SIDE)
        what = "`max_texture` must be 64 to 65500";
    if (o->mip_levels < 0 || o->mip_levels > MAX_MIP_LEVELS) what = "the mip levels of an atlas are 0 to 5";
    if (o->threads < 1) what = "an atlas needs a thread";
    if (mesh->n_faces == 0) what = "a mesh without faces has no atlas";
    return what ? splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s", what) : SPLAT_OK;
}

/* ---------------------------------------------------------------- densities */

static int compare_floats(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Every face's density: known ones clamped to [1/4, 4] of their median, the others, which nobody has seen, at the
 * least. */
static splat_status settle_densities(size_t n, const float *densities, float **out, splat_error *error)
{
    float *settled = malloc((n + 1) * sizeof *settled);
    size_t n_known = 0;
    if (!settled) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the densities of %zu faces", n);
    for (size_t i = 0; densities && i < n; i++)
        if (densities[i] > 0.0f && isfinite(densities[i])) settled[n_known++] = densities[i];
    qsort(settled, n_known, sizeof *settled, compare_floats);
    float median = n_known ? settled[n_known / 2] : 1.0f, least = 0.25f * median;
    for (size_t i = 0; i < n; i++) {
        float d = densities ? densities[i] : median;
        settled[i] = d > 0.0f && isfinite(d) ? fminf(fmaxf(d, least), 4.0f * median) : least;
    }
    *out = settled;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- pages */

typedef struct packing {
    int columns, heights[SPLAT_MESH_MAX_PAGES]; /* blocks */
    size_t n_pages;
} packing;

/* One page about as high as wide if it fits into max_blocks; else pages of max_blocks. */
static splat_status pack_pages(splat_piece *pieces, size_t n, int max_blocks, packing *out, bool *fits,
                               splat_error *error)
{
    int widest = 1;
    double width = sqrt((double)splat_pieces_blocks(pieces, n) / 0.85);
    for (size_t i = 0; i < n; i++) {
        int least = pieces[i].columns < pieces[i].rows ? pieces[i].columns : pieces[i].rows;
        if (least > widest) widest = least;
    }
    for (int attempt = 0; attempt < 6 && width < max_blocks; attempt++) {
        out->columns = (int)ceil(width) > widest ? (int)ceil(width) : widest;
        SPLAT_TRY(splat_pieces_pack(pieces, n, out->columns, max_blocks, 1, out->heights, &out->n_pages, fits, error));
        if (*fits && out->heights[0] <= out->columns + out->columns / 16 + 1) return SPLAT_OK;
        width = (*fits ? 1.01 * sqrt(width * out->heights[0]) : 1.1 * width) + 1.0;
    }
    out->columns = max_blocks;
    return splat_pieces_pack(pieces, n, max_blocks, max_blocks, SPLAT_MESH_MAX_PAGES, out->heights, &out->n_pages,
                             fits, error);
}

/* ---------------------------------------------------------------- coordinates */

/* From the box of its chart to the page, 0 .. 1. */
static void place_faces(splat_mesh *mesh, const splat_charts *charts, const splat_piece *pieces, int block,
                        const splat_atlas *atlas, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t f = 0; f < (int64_t)mesh->n_faces; f++) {
        const splat_piece *p = &pieces[charts->of_face[f]];
        float columns = (float)(p->columns * block), rows = (float)(p->rows * block);
        double width = atlas->pages[p->page].width, height = atlas->pages[p->page].height;
        for (size_t k = 0; k < 3; k++) {
            float *uv = mesh->uvs + 6 * (size_t)f + 2 * k, x = uv[0], y = uv[1];
            switch (p->turn) {
            case 1: uv[0] = rows - y, uv[1] = x; break;
            case 2: uv[0] = columns - x, uv[1] = rows - y; break;
            case 3: uv[0] = y, uv[1] = columns - x; break;
            default: break;
            }
            uv[0] = (float)(((double)uv[0] + (double)p->column * block) / width);
            uv[1] = (float)(((double)uv[1] + (double)p->row * block) / height);
        }
        if (mesh->face_pages) mesh->face_pages[f] = (uint8_t)p->page;
    }
}

void splat_atlas_measure(const splat_mesh *mesh, splat_atlas *atlas)
{
    double texels = 0.0, area = 0.0, all = 0.0;
    for (size_t i = 0; i < atlas->n_pages; i++) all += (double)atlas->pages[i].width * atlas->pages[i].height;
    for (size_t f = 0; mesh->uvs && f < mesh->n_faces; f++) {
        const float *uv = mesh->uvs + 6 * f;
        size_t page = mesh->face_pages ? mesh->face_pages[f] : 0;
        if (page >= atlas->n_pages) continue;
        double cross = ((double)uv[2] - (double)uv[0]) * ((double)uv[5] - (double)uv[1]) -
                       ((double)uv[3] - (double)uv[1]) * ((double)uv[4] - (double)uv[0]);
        texels += 0.5 * fabs(cross) * atlas->pages[page].width * atlas->pages[page].height;
        area += splat_mesh_face_area(mesh, f);
    }
    atlas->used = all > 0.0 ? texels / all : 0.0;
    atlas->texel_density = area > 0.0 ? sqrt(texels / area) : 0.0;
}

/* ---------------------------------------------------------------- the whole */

/* Lays out and packs, again with another factor where the one page of texture_size is not full or too small. */
static splat_status fit_pages(splat_mesh *mesh, splat_charts *charts, const float *densities,
                              const splat_atlas_options *o, const splat_layout_rules *rules, splat_piece **pieces,
                              packing *pages, splat_error *error)
{
    double factor = o->texel_density, too_large = HUGE_VAL, fitting = 0.0;
    bool fits;
    int blocks = (o->texture_size ? o->texture_size : o->max_texture) / rules->block;
    if (!o->texture_size) {
        SPLAT_TRY(splat_layout_charts(mesh, charts, densities, factor, rules, pieces, error));
        SPLAT_TRY(pack_pages(*pieces, charts->n, blocks, pages, &fits, error));
        if (fits) return SPLAT_OK;
        double need = (double)splat_pieces_blocks(*pieces, charts->n) / (0.75 * (double)blocks * (double)blocks);
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the texture needs about %.0f pages of %d x %d texels, and %d "
                          "are possible; lower `texel_density` to %.3g or less, or raise `max_texture`", need,
                          o->max_texture, o->max_texture, SPLAT_MESH_MAX_PAGES,
                          factor * sqrt(SPLAT_MESH_MAX_PAGES / need) * 0.9);
    }
    double wanted = 0.0; /* texels at factor 1 */
    for (size_t f = 0; f < mesh->n_faces; f++)
        wanted += splat_mesh_face_area(mesh, f) * (double)densities[f] * (double)densities[f];
    factor = wanted > 0.0 ? o->texture_size * sqrt(0.65 / wanted) : 1.0;
    for (int round = 0; round < 4 * FIT_ROUNDS; round++) {
        double used = 1.5;
        splat_pieces_free(*pieces, *pieces ? charts->n : 0);
        *pieces = NULL;
        splat_status status = splat_layout_charts(mesh, charts, densities, factor, rules, pieces, error);
        if (status == SPLAT_ERROR_ARGUMENT) { /* a face larger than the page */
            if (error) *error = (splat_error){0};
            fits = false;
        } else {
            SPLAT_TRY(status);
            SPLAT_TRY(splat_pieces_pack(*pieces, charts->n, blocks, blocks, 1, pages->heights, &pages->n_pages, &fits,
                                        error));
            used = fits ? (double)pages->heights[0] / blocks : 1.08;
        }
        pages->columns = blocks;
        if (fits && (used > 0.97 || round >= FIT_ROUNDS || too_large / factor < 1.005)) return SPLAT_OK;
        if (fits) fitting = factor;
        else too_large = factor;
        factor *= fits ? sqrt(0.99 / used) : round >= FIT_ROUNDS ? 0.9 : 1.0 / sqrt(used);
        if (factor >= too_large || factor <= fitting)
            factor = fitting > 0.0 && isfinite(too_large) ? 0.5 * (fitting + too_large) : 0.97 * too_large;
    }
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the %zu charts of the mesh and their gutters do not fit into a "
                      "texture of %d x %d texels; raise `texture_size`, or simplify the mesh", charts->n,
                      o->texture_size, o->texture_size);
}

splat_status splat_atlas_charts(splat_mesh *mesh, const splat_atlas_options *options, const float *densities,
                                splat_atlas *atlas, splat_error *error)
{
    splat_charts charts = {0};
    splat_piece *pieces = NULL;
    packing pages = {0};
    float *settled = NULL;
    splat_status status;
    SPLAT_TRY(check_options(mesh, options, error));
    int block = 1 << options->mip_levels, side = options->texture_size ? options->texture_size : options->max_texture;
    splat_layout_rules rules = {block, splat_atlas_margin(block), side / block * block};
    *atlas = (splat_atlas){.gutter = block};
    splat_mesh_drop_texture(mesh);
    SPLAT_TRY_GOTO(status, done, splat_mesh_require_uvs(mesh, error));
    SPLAT_TRY_GOTO(status, done, settle_densities(mesh->n_faces, densities, &settled, error));
    SPLAT_TRY_GOTO(status, done, splat_charts_grow(mesh, &charts, error));
    SPLAT_TRY_GOTO(status, done, fit_pages(mesh, &charts, settled, options, &rules, &pieces, &pages, error));
    if (pages.n_pages > 1) SPLAT_TRY_GOTO(status, done, splat_mesh_require_face_pages(mesh, error));
    atlas->n_pages = pages.n_pages;
    atlas->n_charts = charts.n;
    for (size_t i = 0; i < pages.n_pages; i++) {
        atlas->pages[i].width = options->texture_size ? options->texture_size : pages.columns * block;
        atlas->pages[i].height = options->texture_size ? options->texture_size : pages.heights[i] * block;
    }
    place_faces(mesh, &charts, pieces, block, atlas, options->threads);
    splat_atlas_measure(mesh, atlas);
done:
    splat_pieces_free(pieces, charts.n);
    splat_charts_free(&charts);
    free(settled);
    if (status != SPLAT_OK) splat_mesh_drop_texture(mesh);
    return status;
}
