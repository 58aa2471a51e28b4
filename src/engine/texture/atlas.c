/* Chart atlases: densities, charts, layout, the size of the pages. */
#include "texture/atlas.h"
#include "texture/pack.h"

#include "texture/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SIDE = 64, MAX_MIP_LEVELS = 5, FIT_ROUNDS = 8 };
/* A connected piece that would use less of the smallest chart than this gets no chart of its own. */
static const double small_piece = 0.0625;
/* All faces together get so much of the smallest chart for each that is saved, up to so many times what they want. */
static const double given_back = 0.5, most_texels = 2.0;

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

/* The value of rank n / 2, byte by byte: positive floats are in the order of their bits. n is above 0. */
static float median_of(const float *values, size_t n)
{
    uint32_t found = 0;
    size_t rank = n / 2;
    for (int shift = 24; shift >= 0; shift -= 8) {
        size_t counts[256] = {0};
        uint32_t byte = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            if ((uint64_t)bits >> (shift + 8) == (uint64_t)found >> (shift + 8)) counts[bits >> shift & 255]++;
        }
        for (; rank >= counts[byte]; byte++) rank -= counts[byte];
        found |= byte << shift;
    }
    float median;
    memcpy(&median, &found, sizeof median);
    return median;
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
    float median = n_known ? median_of(settled, n_known) : 1.0f, least = 0.25f * median;
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

/* The texels that a chart of a point takes. */
static double least_chart(const splat_layout_rules *rules)
{
    double side = (2 * rules->margin / rules->block + 1) * rules->block;
    return side * side;
}

/* The rounds of a layout share these. */
typedef struct atlas_work {
    splat_mesh *mesh;
    const splat_atlas_options *options;
    const float *densities; /* [n_faces] */
    double wanted;          /* texels of all faces at factor 1 */
    splat_layout_rules rules;
    splat_charts charts;
    splat_piece *pieces;
    size_t n_pieces;        /* as many as charts, once these are laid out */
    packing pages;
} atlas_work;

/* Gives pieces that would be mostly gutter no charts of their own. factor: of the densities. */
static splat_status join_small(atlas_work *w, double factor, splat_error *error)
{
    w->rules.least = small_piece * least_chart(&w->rules) / (factor * factor);
    return splat_charts_absorb(w->mesh, &w->charts, w->densities, w->rules.least, error);
}

static splat_status lay_out(atlas_work *w, double factor, splat_error *error)
{
    splat_pieces_free(w->pieces, w->n_pieces);
    w->pieces = NULL;
    SPLAT_TRY(splat_layout_charts(w->mesh, &w->charts, w->densities, factor, &w->rules, &w->pieces, error));
    w->n_pieces = w->charts.n;
    return SPLAT_OK;
}

/* Lays out and packs on as many pages as needed. */
static splat_status fill_pages(atlas_work *w, double factor, splat_error *error)
{
    const splat_atlas_options *o = w->options;
    int blocks = o->max_texture / w->rules.block;
    bool fits;
    SPLAT_TRY(lay_out(w, factor, error));
    SPLAT_TRY(pack_pages(w->pieces, w->n_pieces, blocks, &w->pages, &fits, error));
    if (fits) return SPLAT_OK;
    double need = (double)splat_pieces_blocks(w->pieces, w->n_pieces) / (0.75 * (double)blocks * (double)blocks);
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the texture needs about %.0f pages of %d x %d texels, and %d "
                      "are possible; lower `texel_density` to %.3g or less, or raise `max_texture`", need,
                      o->max_texture, o->max_texture, SPLAT_MESH_MAX_PAGES,
                      o->texel_density * sqrt(SPLAT_MESH_MAX_PAGES / need) * 0.9);
}

/* Pages of the density that the options ask for, or of more: a small piece has texels to spare in a chart of its own,
 * and some of them go to all faces when it joins another. A mesh that does not fit then is laid out at the density that
 * was asked for, so errors name a density for the options. */
static splat_status fit_density(atlas_work *w, splat_error *error)
{
    const double factor = w->options->texel_density;
    size_t n_charts = w->charts.n;
    SPLAT_TRY(join_small(w, factor, error));
    double back = given_back * least_chart(&w->rules) * (double)(n_charts - w->charts.n) / (factor * factor);
    if (!(back > 0.0)) return fill_pages(w, factor, error);
    splat_status status = fill_pages(w, factor * sqrt(fmin(1.0 + back / w->wanted, most_texels)), error);
    if (status != SPLAT_ERROR_ARGUMENT) return status;
    if (error) *error = (splat_error){0};
    splat_charts_free(&w->charts); /* the layout has cut them */
    SPLAT_TRY(splat_charts_grow(w->mesh, w->options->threads, &w->charts, error));
    SPLAT_TRY(join_small(w, factor, error));
    return fill_pages(w, factor, error);
}

/* Lays out and packs, again with another factor where the one page of texture_size is not full or too small. */
static splat_status fit_size(atlas_work *w, splat_error *error)
{
    const int size = w->options->texture_size, blocks = size / w->rules.block;
    double factor = w->wanted > 0.0 ? size * sqrt(0.65 / w->wanted) : 1.0, too_large = HUGE_VAL, fitting = 0.0;
    w->pages.columns = blocks;
    for (int round = 0; round < 4 * FIT_ROUNDS; round++) {
        double used = 1.5;
        bool fits = false;
        SPLAT_TRY(join_small(w, factor, error));
        splat_status status = lay_out(w, factor, error);
        if (status == SPLAT_ERROR_ARGUMENT) { /* a face larger than the page */
            if (error) *error = (splat_error){0};
        } else {
            SPLAT_TRY(status);
            SPLAT_TRY(splat_pieces_pack(w->pieces, w->n_pieces, blocks, blocks, 1, w->pages.heights,
                                        &w->pages.n_pages, &fits, error));
            used = fits ? (double)w->pages.heights[0] / blocks : 1.08;
        }
        if (fits && (used > 0.97 || round >= FIT_ROUNDS || too_large / factor < 1.005)) return SPLAT_OK;
        if (fits) fitting = factor;
        else too_large = factor;
        factor *= fits ? sqrt(0.99 / used) : round >= FIT_ROUNDS ? 0.9 : 1.0 / sqrt(used);
        if (factor >= too_large || factor <= fitting)
            factor = fitting > 0.0 && isfinite(too_large) ? 0.5 * (fitting + too_large) : 0.97 * too_large;
    }
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the %zu charts of the mesh and their gutters do not fit into a "
                      "texture of %d x %d texels; raise `texture_size`, or simplify the mesh", w->charts.n, size, size);
}

splat_status splat_atlas_charts(splat_mesh *mesh, const splat_atlas_options *options, const float *densities,
                                splat_atlas *atlas, splat_error *error)
{
    float *settled = NULL;
    splat_status status;
    SPLAT_TRY(check_options(mesh, options, error));
    int block = 1 << options->mip_levels, side = options->texture_size ? options->texture_size : options->max_texture;
    atlas_work w = {.mesh = mesh, .options = options};
    w.rules = (splat_layout_rules){.block = block, .margin = splat_atlas_margin(block),
                                   .max_side = side / block * block};
    *atlas = (splat_atlas){.gutter = block};
    splat_mesh_drop_texture(mesh);
    SPLAT_TRY_GOTO(status, done, splat_mesh_require_uvs(mesh, error));
    SPLAT_TRY_GOTO(status, done, settle_densities(mesh->n_faces, densities, &settled, error));
    w.densities = settled;
    for (size_t f = 0; f < mesh->n_faces; f++)
        w.wanted += splat_mesh_face_area(mesh, f) * (double)settled[f] * (double)settled[f];
    SPLAT_TRY_GOTO(status, done, splat_charts_grow(mesh, options->threads, &w.charts, error));
    SPLAT_TRY_GOTO(status, done, options->texture_size ? fit_size(&w, error) : fit_density(&w, error));
    atlas->n_pages = w.pages.n_pages;
    atlas->n_charts = w.charts.n;
    if (atlas->n_pages > 1) SPLAT_TRY_GOTO(status, done, splat_mesh_require_face_pages(mesh, error));
    for (size_t i = 0; i < atlas->n_pages; i++) {
        atlas->pages[i].width = options->texture_size ? options->texture_size : w.pages.columns * block;
        atlas->pages[i].height = options->texture_size ? options->texture_size : w.pages.heights[i] * block;
    }
    place_faces(mesh, &w.charts, w.pieces, block, atlas, options->threads);
    splat_atlas_measure(mesh, atlas);
done:
    splat_pieces_free(w.pieces, w.n_pieces);
    splat_charts_free(&w.charts);
    free(settled);
    if (status != SPLAT_OK) splat_mesh_drop_texture(mesh);
    return status;
}
