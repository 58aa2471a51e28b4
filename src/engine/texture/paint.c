/* Painting a mesh: what its views see of it, an atlas, the pages. */
#include "texture/paint.h"

#include "io/picture/image_read.h"
#include "texture/bake_exposure.h"
#include "texture/bake_fill.h"
#include "texture/bake_gaussians.h"
#include "texture/bake_labels.h"
#include "texture/bake_outliers.h"
#include "texture/bake_pages.h"
#include "texture/bake_polish.h"
#include "texture/bake_quality.h"
#include "texture/bake_rim.h"
#include "texture/bake_seams.h"
#include "texture/bake_view.h"
#include "texture/squares.h"

#include "backend/threads.h"
#include "base/both.h"
#include "base/options.h"
#include "ops/work.h"
#include "texture/bake_device.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BAND ((size_t)1 << 16)  /* texels in work at a time, whatever the limit */
#define USUAL_BAND ((size_t)6 << 20)
/* Bytes of a texel of a band on the host, in addition to its share of the device. */
#define BAND_HOST_BYTES (4 + 8 + 4 + 16)

/* Bytes of a face while charts grow, and while labels are chosen at the same time. */
#define CHART_FACE_BYTES 44
#define LABEL_FACE_BYTES 26

typedef struct texturing {
    splat_bake bake;
    splat_texture_options options;
    splat_mesh *mesh;
    splat_bake_room room;
    splat_bake_gaussians gaussians;
    splat_atlas atlas;
    splat_image pages[SPLAT_MESH_MAX_PAGES];
    uint8_t *valid[SPLAT_MESH_MAX_PAGES];
    size_t band_texels;
    uint64_t kept_bytes; /* of faces and a view */
} texturing;

static splat_status prepare_mesh(splat_mesh *mesh, int threads, splat_error *error)
{
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the mesh has no faces, so there is nothing to paint");
    SPLAT_TRY(splat_mesh_check(mesh, error));
    splat_mesh_drop_texture(mesh);
    free(mesh->colors); /* a texture multiplies them */
    mesh->colors = NULL;
    return splat_mesh_compute_normals(mesh, threads, error);
}

/* ---------------------------------------------------------------- memory */

static splat_status plan_memory(texturing *t, uint64_t *needed, splat_error *error)
{
    const uint64_t n = t->mesh->n_faces, limit = t->options.max_host_bytes;
    const uint64_t per_face = SPLAT_TEXTURE_CANDIDATES * (sizeof(splat_bake_candidate) + 2) + 4 + 2 + 4 +
                              CHART_FACE_BYTES + LABEL_FACE_BYTES;
    const uint64_t n_gaussians = t->bake.model ? t->bake.model->gaussians.n : 0;
    uint64_t mesh = n * (12 + 24) + t->mesh->n_vertices * 24;
    uint64_t faces = n * per_face + mesh + n_gaussians * 2 * SPLAT_BAKE_GAUSSIAN_BYTES;
    uint64_t view = 2 * splat_bake_room_bytes(&t->bake), texel = SPLAT_BAKE_TEXEL_BYTES + BAND_HOST_BYTES;
    t->band_texels = USUAL_BAND;
    if (limit && faces + view + texel * LEAST_BAND <= limit) {
        uint64_t fits = (limit - faces - view) / texel;
        if (fits / 2 < t->band_texels) t->band_texels = splat_larger((size_t)fits / 2, LEAST_BAND); /* room for pages */
    } else if (limit) {
        t->band_texels = LEAST_BAND;
    }
    uint64_t band = texel * t->band_texels;
    *needed = faces + view + band;
    t->kept_bytes = faces + view;
    char text[5][32];
    if (limit && *needed > limit)
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "this texture may need %s of host memory, and the limit is %s; allow more with "
                          "`max_host_memory`, or use a mesh of fewer faces or a lower `resolution`",
                          splat_bytes_format(*needed, text[0], sizeof text[0]),
                          splat_bytes_format(limit, text[1], sizeof text[1]));
    splat_log(t->bake.context, SPLAT_LOG_NOTICE, "host memory: up to %s (faces %s, a view %s, a band of texels %s), "
              "and the pages", splat_bytes_format(*needed, text[0], sizeof text[0]),
              splat_bytes_format(faces, text[1], sizeof text[1]), splat_bytes_format(view, text[2], sizeof text[2]),
              splat_bytes_format(band, text[3], sizeof text[3]));
    return SPLAT_OK;
}

/* With the pages, whose size the atlas tells. What does not leave room for the polish goes without it. */
static splat_status plan_pages(texturing *t, uint64_t *needed, splat_error *error)
{
    const uint64_t limit = t->options.max_host_bytes;
    int width, height;
    uint64_t n = 0, largest = 0;
    char text[3][32];
    for (size_t i = 0; i < t->atlas.n_pages; i++) {
        uint64_t texels = (uint64_t)t->atlas.pages[i].width * (uint64_t)t->atlas.pages[i].height;
        n += texels;
        if (texels > largest) largest = texels;
    }
    splat_scene_largest_view(t->bake.scene, &width, &height);
    uint64_t pages = 4 * n + largest * 16 / 3, filled = t->kept_bytes + pages;
    uint64_t polish = n * SPLAT_BAKE_POLISH_TEXEL_BYTES +
                      (uint64_t)width * (uint64_t)height * (SPLAT_BAKE_POLISH_PIXEL_BYTES + 36);
    if (limit && *needed + pages > limit)
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "a texture of %zu pages, %d x %d texels, takes host memory to %s, and the limit is %s; allow "
                          "more with `max_host_memory`, or use a lower `texel_density` or a `texture_size`",
                          t->atlas.n_pages, t->atlas.pages[0].width, t->atlas.pages[0].height,
                          splat_bytes_format(*needed + pages, text[0], sizeof text[0]),
                          splat_bytes_format(limit, text[1], sizeof text[1]));
    *needed += pages;
    if (t->options.bake != SPLAT_BAKE_PHOTOS || t->options.polish_steps == 0) return SPLAT_OK;
    splat_log(t->bake.context, SPLAT_LOG_NOTICE, "the pages take %s, polishing them %s",
              splat_bytes_format(pages, text[0], sizeof text[0]), splat_bytes_format(polish, text[1], sizeof text[1]));
    if (limit && filled + polish > limit) {
        splat_log(t->bake.context, SPLAT_LOG_NOTICE, "they are not polished: the limit of host memory is %s",
                  splat_bytes_format(limit, text[2], sizeof text[2]));
        t->options.polish_steps = 0;
    } else if (filled + polish > *needed) {
        *needed = filled + polish;
    }
    return SPLAT_OK;
}

static splat_status make_faces(texturing *t, splat_error *error)
{
    splat_bake *b = &t->bake;
    size_t n = t->mesh->n_faces;
    b->views = calloc(b->n_views, sizeof *b->views);
    b->candidates = malloc(n * SPLAT_TEXTURE_CANDIDATES * sizeof *b->candidates);
    b->lists = malloc(n * SPLAT_TEXTURE_CANDIDATES * sizeof *b->lists);
    b->densities = malloc(n * sizeof *b->densities);
    if (!b->views || !b->candidates || !b->lists || !b->densities)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to paint a mesh of %zu faces", n);
    const splat_dataset *dataset = &b->scene->dataset;
    for (size_t v = 0; v < b->n_views; v++) {
        b->views[v].shares_photo = dataset->views[dataset->train[v]].crop > 0;
        for (int c = 0; c < 3; c++) b->views[v].gain[c] = 1;
    }
    return SPLAT_OK;
}

static void close_texturing(texturing *t)
{
    splat_bake *b = &t->bake;
    free(b->views);
    free(b->candidates);
    free(b->lists);
    free(b->densities);
    free(b->labels);
    free(b->face_colors);
    free(b->vertex_labels);
    splat_bake_room_free(&t->room);
    splat_bake_gaussians_free(&t->gaussians);
    for (size_t i = 0; i < SPLAT_MESH_MAX_PAGES; i++) {
        splat_image_free(&t->pages[i]);
        free(t->valid[i]);
    }
}

/* ---------------------------------------------------------------- the work */

static splat_status make_atlas(void *user, splat_error *error)
{
    texturing *t = user;
    const splat_texture_options *o = &t->options;
    splat_atlas_options options;
    if (o->square_size) return splat_atlas_squares(t->mesh, o->square_size, o->max_texture, &t->atlas, error);
    splat_atlas_options_init(&options);
    options.texel_density = o->texel_density;
    options.texture_size = o->texture_size;
    options.max_texture = o->max_texture;
    options.threads = t->bake.context->threads;
    return splat_atlas_charts(t->mesh, &options, t->bake.densities, &t->atlas, error);
}

static void fill_info(const texturing *t, const splat_bake_counts *counts, splat_texture_info *info)
{
    const splat_bake *b = &t->bake;
    double n = counts->n_texels ? (double)counts->n_texels : 1;
    info->n_faces = t->mesh->n_faces;
    info->n_charts = t->atlas.n_charts;
    info->n_pages = t->atlas.n_pages;
    info->width = t->atlas.pages[0].width;
    info->height = t->atlas.pages[0].height;
    info->used = t->atlas.used;
    info->n_texels = counts->n_texels;
    if (t->options.bake == SPLAT_BAKE_PHOTOS) info->from_photos = (double)counts->n_from_views / n;
    info->from_gaussians = (double)counts->n_from_gaussians / n;
    if (t->options.bake == SPLAT_BAKE_GAUSSIANS) info->from_gaussians += (double)counts->n_from_views / n;
    info->filled = (double)(counts->n_texels - counts->n_from_views - counts->n_from_gaussians) / n;
    for (size_t f = 0; f < t->mesh->n_faces; f++) info->n_faces_seen += b->densities[f] > 0;
    for (size_t i = 0; i < t->mesh->n_faces * SPLAT_TEXTURE_CANDIDATES; i++) {
        if (b->candidates[i].view == SPLAT_TEXTURE_NO_VIEW) continue;
        info->n_candidates++;
        info->n_outliers += b->candidates[i].is_outlier;
    }
}

/* Photos only: a face's outliers, exposure, and where details come from. */
static splat_status choose_from_photos(texturing *t, splat_error *error)
{
    const splat_texture_options *o = &t->options;
    SPLAT_TRY(splat_bake_go_on(&t->bake, "choosing", 0, error));
    if (o->reject_outliers) splat_bake_reject(&t->bake);
    SPLAT_TRY(splat_bake_make_lists(&t->bake, error));
    if (!t->bake.gaussians) SPLAT_TRY(splat_bake_color_faces(&t->bake, error));
    if (o->level_exposure) SPLAT_TRY(splat_bake_level(&t->bake, error));
    return o->two_bands ? splat_bake_label(&t->bake, error) : SPLAT_OK;
}

static splat_status choose_views(void *user, splat_error *error)
{
    texturing *t = user;
    if (t->options.bake != SPLAT_BAKE_GAUSSIANS) SPLAT_TRY(choose_from_photos(t, error));
    return splat_bake_go_on(&t->bake, "unfolding", 0, error); /* which goes on, or begins */
}

/* Views are chosen by what was seen, and charts by the mesh. Both have long parts of one thread, so they are done at
 * the same time where the system lets as many threads as that start. */
static splat_status choose_and_unfold(texturing *t, splat_error *error)
{
    const int both = 2 * t->bake.context->threads;
    if (both > 2 && splat_startable_threads(both) == both)
        return splat_do_both((splat_piece_of_work){choose_views, t}, (splat_piece_of_work){make_atlas, t}, error);
    SPLAT_TRY(choose_views(t, error));
    return make_atlas(t, error);
}

/* The bound Gaussians, and the faces that they say are none. */
static splat_status open_gaussians(texturing *t, splat_texture_info *info, splat_error *error)
{
    const splat_texture_options *o = &t->options;
    if (!t->bake.model) return SPLAT_OK;
    SPLAT_TRY(splat_bake_gaussians_open(t->bake.model, t->mesh, o->gaussians_per_triangle, &t->gaussians, error));
    t->bake.gaussians = &t->gaussians;
    info->gaussians_per_triangle = t->gaussians.per_face;
    if (!o->postprocess_mesh) return SPLAT_OK;
    SPLAT_TRY(splat_bake_remove_rim(t->mesh, &t->gaussians, o->postprocess_iterations,
                                    (double)o->postprocess_density_threshold, &info->n_rim_faces, error));
    return splat_mesh_compute_normals(t->mesh, t->bake.context->threads, error);
}

static splat_status paint(texturing *t, splat_texture_info *info, splat_error *error)
{
    splat_bake_counts counts;
    SPLAT_TRY(plan_memory(t, &info->host_bytes, error));
    SPLAT_TRY(open_gaussians(t, info, error));
    SPLAT_TRY(make_faces(t, error));
    SPLAT_TRY(splat_bake_room_make(&t->bake, &t->room, error));
    SPLAT_TRY(splat_bake_quality(&t->bake, &t->room, error));
    SPLAT_TRY(choose_and_unfold(t, error));
    SPLAT_TRY(plan_pages(t, &info->host_bytes, error));
    SPLAT_TRY(splat_bake_pages(&t->bake, &t->atlas, &t->room, t->band_texels, t->pages, t->valid, &counts,
                               error));
    SPLAT_TRY(splat_bake_go_on(&t->bake, "comparing seams", 0, error));
    SPLAT_TRY(splat_bake_seams(&t->bake, t->pages, &info->seams[0], error));
    info->seams[1] = info->seams[0];
    if (t->options.polish_steps > 0 && t->options.bake == SPLAT_BAKE_PHOTOS) {
        SPLAT_TRY(splat_bake_polish(&t->bake, &t->atlas, &t->room, t->pages, t->valid, info->polish_losses, error));
        SPLAT_TRY(splat_bake_seams(&t->bake, t->pages, &info->seams[1], error));
    }
    fill_info(t, &counts, info);
    for (size_t i = 0; i < t->atlas.n_pages; i++) {
        SPLAT_TRY(splat_mesh_add_page(t->mesh, &t->pages[i], error));
        memset(&t->pages[i], 0, sizeof t->pages[i]);
    }
    return SPLAT_OK;
}

splat_status splat_texture_paint(splat_context *context, splat_scene *scene, splat_mesh *mesh, splat_model *model,
                                 const splat_texture_options *options, splat_texture_info *info, splat_error *error)
{
    memset(info, 0, sizeof *info);
    SPLAT_TRY(splat_texture_options_check(options, error));
    if (scene->dataset.n_train < 1)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a texture needs training views, and the scene has none");
    if (options->bake == SPLAT_BAKE_GAUSSIANS && !model)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a texture from Gaussians needs the splat that is bound to the mesh");
    if (options->postprocess_mesh && !model)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`postprocess_mesh` asks the Gaussians that are bound to the mesh; name their splat");
    SPLAT_TRY(prepare_mesh(mesh, context->threads, error));
    texturing *t = calloc(1, sizeof *t);
    if (!t) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to paint a mesh");
    splat_texture_options_init(&t->options);
    splat_status status = splat_options_take(&t->options, options, "splat_texture_options", error);
    t->mesh = mesh;
    t->bake = (splat_bake){.context = context, .backend = context->backend, .scene = scene, .model = model,
                           .options = &t->options, .mesh = mesh, .n_views = scene->dataset.n_train};
    if (status == SPLAT_OK) status = paint(t, info, error);
    close_texturing(t);
    free(t);
    return status;
}
