/* Refinement begins with a mesh: what it needs, and the Gaussians in its triangles (SuGaR, section 4.3). Before that,
 * whether the mesh belongs to the scene, and colours for a mesh that has none. */
#include "base/options.h"
#include "io/splat/cloud.h"
#include "math/camera.h"
#include "mesh/files/mesh_io.h"
#include "mesh/mesh_raster.h"
#include "scene/scene.h"
#include "splatsmith/refine.h"
#include "surface/bound/bound.h"
#include "surface/refine/refine.h"
#include "surface/refine/refine_colors.h"
#include "surface/refine/refine_rest.h"
#include "train/parts/bound_rows.h"
#include "train/start.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the mesh in the views of the scene */

#define VIEWS 24       /* evenly over the training views; all of them when these see nothing */
#define SIDE 160       /* pixels of a view's longer side */
#define FEW 0.03       /* of the pixels */

typedef struct coverage {
    const splat_trainer *t;
    const splat_mesh *mesh;
    splat_mesh_raster_options options;
    splat_mesh_raster_maps maps;
    size_t n_pixels, n_covered;
} coverage;

static splat_status add_view(coverage *c, size_t number, splat_error *error)
{
    const splat_dataset *dataset = &c->t->scene->dataset;
    splat_camera camera = dataset->views[dataset->train[number]].camera;
    int longer = camera.width > camera.height ? camera.width : camera.height;
    int width = camera.width * SIDE / longer, height = camera.height * SIDE / longer;
    if (longer > SIDE) camera = splat_camera_resized(&camera, width > 0 ? width : 1, height > 0 ? height : 1);
    SPLAT_TRY(splat_mesh_rasterize(c->mesh, &camera, &c->options, &c->maps, error));
    size_t n = splat_camera_pixels(&camera);
    c->n_pixels += n;
    for (size_t i = 0; i < n; i++) c->n_covered += c->maps.faces[i] != 0;
    return SPLAT_OK;
}

static splat_status add_views(coverage *c, size_t n_views, splat_error *error)
{
    size_t n_train = c->t->scene->dataset.n_train;
    for (size_t i = 0; i < n_views; i++) SPLAT_TRY(add_view(c, i * n_train / n_views, error));
    if (c->n_covered > 0 || n_views == n_train) return SPLAT_OK;
    return add_views(c, n_train, error);
}

static splat_status judge(const coverage *c, const char *path, splat_error *error)
{
    const char *scene = c->t->scene->options.source_path;
    double share = (double)c->n_covered / (double)c->n_pixels;
    if (c->n_covered == 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "no training view of %s sees this mesh; was it made from this scene?", scene);
    if (share < FEW)
        splat_log(c->t->context, SPLAT_LOG_WARNING,
                  "the mesh fills %.1f %% of the training views of %s; was it made from this scene?", 100 * share,
                  scene);
    return SPLAT_OK;
}

/* The share of the training views' pixels that show the mesh; warns when it is small. Errors: FORMAT (no view sees it),
 * MEMORY. */
static splat_status check_coverage(const splat_trainer *t, const splat_mesh *mesh, const char *path, splat_error *error)
{
    coverage c = {.t = t, .mesh = mesh};
    size_t n_train = t->scene->dataset.n_train;
    splat_mesh_raster_options_init(&c.options);
    c.options.threads = t->context->threads;
    c.maps = (splat_mesh_raster_maps){.faces = malloc((size_t)SIDE * SIDE * sizeof *c.maps.faces),
                                      .depth = malloc((size_t)SIDE * SIDE * sizeof *c.maps.depth)};
    splat_status status = c.maps.faces && c.maps.depth
                              ? add_views(&c, n_train < VIEWS ? n_train : VIEWS, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of the mesh");
    if (status == SPLAT_OK) status = judge(&c, path, error);
    free(c.maps.faces);
    free(c.maps.depth);
    return status;
}

/* ---------------------------------------------------------------- colours of a mesh without any */

/* Those of the nearest Gaussians of the lender; grey without one. */
static splat_status color_mesh(const splat_trainer *t, const splat_color_lender *lender, splat_mesh *mesh,
                               splat_error *error)
{
    SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    if (lender) return splat_color_lender_color(lender, t->context->threads, mesh, error);
    splat_log(t->context, SPLAT_LOG_NOTICE,
              "the mesh has no colours and begins grey; a splat, `gs_output_dir`, would lend it its own");
    for (size_t i = 0; i < 4 * mesh->n_vertices; i++) mesh->colors[i] = i % 4 == 3 ? 255 : 128;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the mesh */

static splat_status check_mesh(const char *path, int per_face, const splat_mesh *mesh, splat_error *error)
{
    if (!splat_bound_is_per_face(per_face))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gaussians_per_triangle` must be 1, 3, 4 or 6, not %d",
                          per_face);
    if (mesh->n_faces == 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             mesh->n_vertices ? "it has points but no triangles; make a mesh of the splat first"
                                              : "the mesh is empty");
    if (mesh->n_faces > UINT32_MAX / 2 / (size_t)per_face)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "%zu triangles with %d Gaussians each are more than 2^31; simplify the mesh",
                             mesh->n_faces, per_face);
    return SPLAT_OK;
}

/* A mesh file that can be refined; the caller frees the mesh. */
static splat_status read_mesh(const char *path, int per_face, splat_mesh *mesh, splat_error *error)
{
    SPLAT_TRY(splat_mesh_read(path, mesh, error));
    splat_mesh_drop_texture(mesh);
    splat_status status = check_mesh(path, per_face, mesh, error);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

splat_status splat_refine_describe(const char *path, int per_face, splat_refine_info *info, splat_error *error)
{
    splat_mesh mesh;
    SPLAT_TRY(read_mesh(path, per_face, &mesh, error));
    *info = (splat_refine_info){.n_vertices = mesh.n_vertices,
                                .n_faces = mesh.n_faces,
                                .n_gaussians = mesh.n_faces * (size_t)per_face,
                                .most_free = splat_bound_most_free(mesh.n_faces * (size_t)per_face),
                                .has_colors = mesh.colors != NULL};
    splat_mesh_free(&mesh);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- memory */

/* Memory of the place where the arrays will lie: the device's, on the CPU the host's. */
static size_t device_bytes(const splat_backend *backend)
{
    return backend->device_bytes ? backend->device_bytes
                                 : (size_t)sysconf(_SC_PAGESIZE) * (size_t)sysconf(_SC_PHYS_PAGES);
}

/* Before anything is allocated: a mesh of many million triangles is soon made. */
static splat_status check_memory(const splat_trainer *t, const splat_mesh *mesh, bool keep_rest, const char *path,
                                 splat_error *error)
{
    char need[32], have[32];
    splat_plan plan;
    splat_plan_options options;
    size_t device = device_bytes(t->backend);
    splat_plan_options_init(&options);
    splat_plan_init(&plan);
    options.n_gaussians = mesh->n_faces * (size_t)t->options.refine.gaussians_per_triangle;
    if (keep_rest) options.n_gaussians += splat_bound_most_free(options.n_gaussians);
    options.n_vertices = mesh->n_vertices;
    options.limit_bytes = (size_t)1 << 50; /* only the figure is wanted */
    SPLAT_TRY(splat_plan_make(t->context, t->scene, &t->options, &options, NULL, &plan, error));
    splat_bytes_format(plan.total_bytes, need, sizeof need);
    splat_log(t->context, SPLAT_LOG_NOTICE, "%zu triangles with %zu Gaussians: training will hold about %s",
              mesh->n_faces, options.n_gaussians, need);
    if (plan.total_bytes <= device) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET,
                         "to refine %zu triangles with %zu Gaussians takes %s, and there are %s; simplify the mesh, or "
                         "give a `vram_limit`",
                         mesh->n_faces, options.n_gaussians, need,
                         splat_bytes_format(device, have, sizeof have));
}

/* ---------------------------------------------------------------- the Gaussians */

/* Writes the rest behind the bound Gaussians. Both have the trainer's degree. */
static void append_rest(const splat_cloud *rest, splat_cloud *cloud)
{
    const size_t first = cloud->n - rest->n;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (rest->n)                                                                                                       \
        memcpy(cloud->name + first * splat_tensor_channels(SPLAT_TENSOR_##name, cloud->sh_degree), rest->name,         \
               rest->n * splat_tensor_channels(SPLAT_TENSOR_##name, cloud->sh_degree) * sizeof *cloud->name);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

/* Colours and opacities are not bound. */
static splat_status begin_free(splat_trainer *t, const splat_mesh *mesh, const splat_color_lender *lender,
                               const splat_bound_start *start, const splat_cloud *rest, const char *path,
                               splat_error *error)
{
    const int per_face = t->options.refine.gaussians_per_triangle;
    splat_cloud cloud;
    SPLAT_TRY(splat_cloud_make(&cloud, start->n + rest->n, t->options.sh_degree, false, error));
    memcpy(cloud.opacities, start->opacities, start->n * sizeof *cloud.opacities);
    memcpy(cloud.sh_dc, start->sh_dc, 3 * start->n * sizeof *cloud.sh_dc);
    for (size_t i = 0; i < start->n; i++) cloud.rotations[4 * i] = 1;
    if (lender) splat_color_lender_give_bands(lender, mesh, per_face, t->context->threads, &cloud);
    append_rest(rest, &cloud);
    splat_status status = splat_trainer_begin_with(t, &cloud, path, 0, error);
    splat_cloud_free(&cloud);
    return status;
}

static splat_status upload_array(splat_trainer *t, int array, const void *host, splat_error *error)
{
    size_t words = (size_t)t->bound.rows[array] * t->options.binding->arrays[array].words;
    return splat_backend_upload_and_wait(t->backend, t->bound.arrays[array].data, host, 4 * words, error);
}

/* The Gaussians that are not bound yet, then what they follow from, then they follow. */
static splat_status take(splat_trainer *t, const splat_mesh *mesh, const splat_color_lender *lender,
                         const splat_bound_start *start, const splat_cloud *rest, const char *path, splat_error *error)
{
    uint32_t rows[SPLAT_N_REFINE_ARRAYS] = {[SPLAT_BOUND_vertices] = (uint32_t)mesh->n_vertices,
                                            [SPLAT_BOUND_plane_scales] = (uint32_t)start->n,
                                            [SPLAT_BOUND_plane_rotations] = (uint32_t)start->n,
                                            [SPLAT_REFINE_FACES] = (uint32_t)mesh->n_faces};
    SPLAT_TRY(splat_bound_resize(t, rows, error));
    SPLAT_TRY(begin_free(t, mesh, lender, start, rest, path, error)); /* all state becomes zero here */
    SPLAT_TRY(upload_array(t, SPLAT_BOUND_vertices, mesh->vertices, error));
    SPLAT_TRY(upload_array(t, SPLAT_BOUND_plane_scales, start->plane_scales, error));
    SPLAT_TRY(upload_array(t, SPLAT_BOUND_plane_rotations, start->plane_rotations, error));
    SPLAT_TRY(upload_array(t, SPLAT_REFINE_FACES, mesh->faces, error));
    SPLAT_TRY(splat_refine_restored(t, error));
    return splat_refine_follow(t, error);
}

static splat_status bind(splat_trainer *t, const splat_mesh *mesh, const splat_color_lender *lender,
                         const splat_cloud *rest, const char *path, splat_error *error)
{
    splat_bound_start start;
    SPLAT_TRY(splat_bound_initialize(mesh, t->options.refine.gaussians_per_triangle, &start, error));
    splat_status status = take(t, mesh, lender, &start, rest, path, error);
    splat_bound_start_free(&start);
    return status;
}

void splat_refine_input_init_sized(splat_refine_input *input, size_t size)
{
    const splat_refine_input defaults = {0};
    splat_options_give(input, size, &defaults, sizeof defaults);
}

/* lender: NULL, or what lends its colours. */
static splat_status start_with(splat_trainer *t, const splat_refine_input *input, const splat_color_lender *lender,
                               const splat_cloud *rest, splat_mesh *mesh, splat_error *error)
{
    const bool is_mip = input->render_mode == SPLAT_RENDER_MIP;
    if (!mesh->colors) SPLAT_TRY(color_mesh(t, lender, mesh, error));
    SPLAT_TRY(splat_model_set_render_mode(t->model, is_mip ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC,
                                          is_mip ? t->options.kernel_size : 0, error));
    return bind(t, mesh, lender, rest, input->mesh_path, error);
}

static splat_status start(splat_trainer *t, const splat_refine_input *input, const splat_cloud *rest, splat_mesh *mesh,
                          splat_error *error)
{
    splat_color_lender lender;
    const bool wants_lender = !mesh->colors || t->options.sh_degree > 0;
    if (!input->splat_path || !wants_lender) return start_with(t, input, NULL, rest, mesh, error);
    SPLAT_TRY(splat_color_lender_open(input->splat_path, t->options.sh_degree, t->context->threads, &lender, error));
    splat_status status = start_with(t, input, &lender, rest, mesh, error);
    splat_color_lender_free(&lender);
    return status;
}

static splat_status find_rest(splat_trainer *t, const splat_refine_input *input, const splat_mesh *mesh,
                              splat_cloud *rest, splat_error *error)
{
    const size_t n_bound = mesh->n_faces * (size_t)t->options.refine.gaussians_per_triangle;
    *rest = (splat_cloud){0};
    if (!input->keep_rest) return SPLAT_OK;
    SPLAT_TRY(splat_refine_rest_find(t->context, t->scene, input, mesh, splat_bound_most_free(n_bound),
                                     rest, error));
    if (rest->n) SPLAT_TRY(splat_cloud_set_degree(rest, t->options.sh_degree, error));
    splat_log(t->context, SPLAT_LOG_NOTICE, "%zu Gaussians of the splat stay free: the mesh does not represent them",
              rest->n);
    return SPLAT_OK;
}

static splat_status check_and_start(splat_trainer *t, const splat_refine_input *input, splat_mesh *mesh,
                                    splat_error *error)
{
    splat_cloud rest;
    SPLAT_TRY(check_memory(t, mesh, input->keep_rest, input->mesh_path, error));
    SPLAT_TRY(check_coverage(t, mesh, input->mesh_path, error));
    splat_status status = find_rest(t, input, mesh, &rest, error);
    if (status == SPLAT_OK) status = start(t, input, &rest, mesh, error);
    splat_cloud_free(&rest);
    return status;
}

splat_status splat_trainer_start_refine(splat_trainer *t, const splat_refine_input *input, splat_error *error)
{
    splat_mesh mesh;
    splat_refine_input own;
    splat_refine_input_init(&own);
    SPLAT_TRY(splat_options_take(&own, input, "splat_refine_input", error));
    if (t->options.binding != &splat_refine_binding)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the trainer was made without options of a refinement");
    if (own.keep_rest && !own.splat_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`keep_rest` needs a splat, `gs_output_dir`");
    if (!own.mesh_path) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a refinement needs a mesh");
    SPLAT_TRY(read_mesh(own.mesh_path, t->options.refine.gaussians_per_triangle, &mesh, error));
    splat_status status = check_and_start(t, &own, &mesh, error);
    splat_mesh_free(&mesh);
    return status;
}
