/* The training views of a splat as depth, normals and plain colours; and points taken from them. */
#include "sugar/extract.h"

#include "base/rng.h"
#include "io/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- views */

typedef struct view_buffers {
    float *maps; /* depth, normal (3 planes), alpha */
    float *render;
    uint8_t *rgb;
} view_buffers;

static void free_buffers(view_buffers *b)
{
    free(b->maps);
    free(b->render);
    free(b->rgb);
}

static splat_status make_buffers(const splat_scene *scene, view_buffers *b, splat_error *error)
{
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    size_t n = (size_t)width * (size_t)height;
    *b = (view_buffers){malloc(5 * n * sizeof *b->maps), malloc(3 * n * sizeof *b->render), malloc(3 * n)};
    if (b->maps && b->render && b->rgb) return SPLAT_OK;
    free_buffers(b);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of %d x %d pixels", width, height);
}

static splat_status see(splat_model *model, const splat_camera *camera, float min_alpha, view_buffers *b,
                        splat_surface_view *view, splat_error *error)
{
    const float black[3] = {0, 0, 0};
    size_t n = (size_t)camera->width * (size_t)camera->height;
    float *depth = b->maps, *normal = depth + n, *alpha = depth + 4 * n;
    splat_geometry_maps maps = {.median = depth, .normal = normal, .alpha = alpha};
    SPLAT_TRY(splat_model_render_geometry(model, camera, &maps, error));
    int degree = model->gaussians.active_sh_degree;
    model->gaussians.active_sh_degree = 0; /* the colour that all directions share */
    splat_status status = splat_model_render(model, camera, black, b->render, error);
    model->gaussians.active_sh_degree = degree;
    if (status != SPLAT_OK) return status;
    for (size_t i = 0; i < n; i++) {
        if (!(alpha[i] >= min_alpha)) depth[i] = 0;
        float inverse = alpha[i] > 1e-3f ? 1.0f / alpha[i] : 0.0f; /* what is seen, without the black behind it */
        for (size_t c = 0; c < 3; c++) b->rgb[3 * i + c] = splat_image_byte(b->render[c * n + i] * inverse);
    }
    view->camera = camera;
    view->depth = depth;
    view->normal = normal;
    view->alpha = alpha;
    view->rgb = b->rgb;
    return SPLAT_OK;
}

splat_status splat_surface_views(splat_scene *scene, splat_model *model, float min_alpha, splat_surface_function use,
                                 void *user, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    view_buffers buffers;
    SPLAT_TRY(make_buffers(scene, &buffers, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < dataset->n_train && status == SPLAT_OK; i++) {
        splat_surface_view view = {.index = dataset->train[i]};
        status = see(model, &dataset->views[view.index].camera, min_alpha, &buffers, &view, error);
        if (status == SPLAT_OK) status = use(user, &view, error);
    }
    free_buffers(&buffers);
    return status;
}

/* ---------------------------------------------------------------- points */

#define GRAZING 0.1f /* cosine: surfaces seen at a flatter angle have uncertain depth and normals */

void splat_surface_points_free(splat_surface_points *points)
{
    free(points->positions);
    free(points->normals);
    free(points->colors);
    memset(points, 0, sizeof *points);
}

static splat_status reserve(splat_surface_points *points, size_t n, splat_error *error)
{
    if (n <= points->capacity) return SPLAT_OK;
    size_t capacity = n + n / 2;
    float *positions = realloc(points->positions, 3 * capacity * sizeof *positions);
    if (positions) points->positions = positions;
    float *normals = realloc(points->normals, 3 * capacity * sizeof *normals);
    if (normals) points->normals = normals;
    uint8_t *colors = realloc(points->colors, 4 * capacity);
    if (colors) points->colors = colors;
    if (!positions || !normals || !colors)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu surface points", capacity);
    points->capacity = capacity;
    return SPLAT_OK;
}

typedef struct collector {
    splat_surface_points *points;
    size_t n_views, n_wanted; /* all in all */
    uint64_t seed;
} collector;

/* The point behind the centre of a pixel, its distance's share along the axis taken out; the cosine at which the
 * surface is seen. */
static float point_of(const splat_surface_view *view, int x, int y, float position[3], float normal[3])
{
    const splat_camera *c = view->camera;
    size_t n = (size_t)c->width * (size_t)c->height, i = (size_t)y * (size_t)c->width + (size_t)x;
    float z = view->depth[i];
    const float local[3] = {((float)x + 0.5f - c->cx) / c->fx * z, ((float)y + 0.5f - c->cy) / c->fy * z, z};
    float length = 0, along = 0;
    for (int k = 0; k < 3; k++) {
        float offset = c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] + c->rotation[6 + k] * local[2];
        position[k] = c->center[k] + offset;
        normal[k] = view->normal[(size_t)k * n + i];
        length += offset * offset;
        along -= offset * normal[k];
    }
    return along / sqrtf(length);
}

static splat_status collect(void *user, const splat_surface_view *view, splat_error *error)
{
    collector *c = user;
    splat_surface_points *points = c->points;
    const splat_camera *camera = view->camera;
    size_t n = (size_t)camera->width * (size_t)camera->height, n_seen = 0;
    for (size_t i = 0; i < n; i++) n_seen += view->depth[i] > 0;
    if (n_seen == 0) return SPLAT_OK;
    float share = (float)c->n_wanted / (float)c->n_views / (float)n_seen;
    SPLAT_TRY(reserve(points, points->n + n_seen, error));
    for (size_t i = 0; i < n; i++) {
        if (!(view->depth[i] > 0)) continue;
        splat_random4 r = splat_random(c->seed, SPLAT_STREAM_SURFACE_POINTS, view->index, (uint32_t)i);
        if (!(splat_uniform(r.x[0]) < share)) continue;
        float *position = points->positions + 3 * points->n, *normal = points->normals + 3 * points->n;
        int x = (int)(i % (size_t)camera->width), y = (int)(i / (size_t)camera->width);
        if (!(point_of(view, x, y, position, normal) > GRAZING)) continue;
        uint8_t *color = points->colors + 4 * points->n++;
        memcpy(color, view->rgb + 3 * i, 3);
        color[3] = 255;
    }
    return SPLAT_OK;
}

splat_status splat_surface_points_collect(splat_scene *scene, splat_model *model,
                                          const splat_mesh_extract_options *options, splat_surface_points *points,
                                          splat_error *error)
{
    memset(points, 0, sizeof *points);
    collector c = {points, scene->dataset.n_train, options->n_points, options->seed};
    splat_status status = splat_surface_views(scene, model, options->min_alpha, collect, &c, error);
    if (status == SPLAT_OK && points->n == 0)
        status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                            "no training view sees a surface of this splat (alpha of %g or more); is it a splat of "
                            "this scene?", (double)options->min_alpha);
    if (status != SPLAT_OK) splat_surface_points_free(points);
    return status;
}
