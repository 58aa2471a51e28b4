/* Chooses the first camera of the viewer's page, from the splat and its scene. */
#include "viewer/start_view.h"

#include "base/compare.h"
#include "io/json.h"
#include "model/files.h"
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>

static json_t *numbers(const float *values, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) splat_json_append(&array, json_real(isfinite(values[i]) ? (double)values[i] : 0));
    return array;
}

#define SAMPLES 20000

/* Points in space, `stride` bytes from one to the next. */
typedef struct places {
    const void *first;
    size_t n, stride;
} places;

static const float *place(const places *p, size_t i)
{
    return (const float *)(const void *)((const char *)p->first + i * p->stride);
}

/* From at most SAMPLES of the places, evenly spread over the list; half of them lie within the radius, doubled. */
static void measure_places(const places *p, float *storage, float center[3], float *radius)
{
    const size_t step = p->n / SAMPLES + 1;
    size_t n = 0;
    for (int k = 0; k < 3; k++) {
        n = 0;
        for (size_t i = 0; i < p->n; i += step)
            if (isfinite(place(p, i)[k])) storage[n++] = place(p, i)[k];
        qsort(storage, n, sizeof *storage, splat_compare_floats);
        center[k] = n ? storage[n / 2] : 0;
    }
    n = 0;
    for (size_t i = 0; i < p->n; i += step) {
        const float *m = place(p, i);
        const float distance = sqrtf((m[0] - center[0]) * (m[0] - center[0]) + (m[1] - center[1]) * (m[1] - center[1]) +
                                     (m[2] - center[2]) * (m[2] - center[2]));
        if (isfinite(distance)) storage[n++] = distance;
    }
    qsort(storage, n, sizeof *storage, splat_compare_floats);
    *radius = n && storage[n / 2] > 0 ? 2 * storage[n / 2] : 1;
}

/* Measures the splat or mesh, or without one the scene's points, so that a splat in training needs no copy of
 * itself. */
static splat_status measure(const splat_model *model, const splat_mesh *mesh, const splat_scene *scene, float center[3],
                            float *radius, splat_error *error)
{
    splat_cloud cloud = {0};
    places p = {0};
    float *storage = malloc(SAMPLES * sizeof *storage);
    if (!storage) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the viewer");
    splat_status status = model ? splat_model_download(model, &cloud, error) : SPLAT_OK;
    if (model)
        p = (places){cloud.means, cloud.n, 3 * sizeof *cloud.means};
    else if (mesh)
        p = (places){mesh->vertices, mesh->n_vertices, 3 * sizeof *mesh->vertices};
    else if (scene && scene->dataset.n_points)
        p = (places){scene->dataset.points[0].position, scene->dataset.n_points, sizeof *scene->dataset.points};
    if (status == SPLAT_OK) measure_places(&p, storage, center, radius);
    if (status == SPLAT_OK && model) splat_cloud_free(&cloud);
    free(storage);
    return status;
}

static json_t *view_json(const splat_dataset_view *view)
{
    const splat_camera *c = &view->camera;
    json_t *object = json_object();
    splat_json_set(&object, "name", splat_json_text(view->name));
    splat_json_set(&object, "test", json_boolean(view->is_test));
    splat_json_set(&object, "position", numbers(c->center, 3));
    splat_json_set(&object, "rotation", numbers(c->rotation, 9));
    const double half_height = 0.5 * c->height / (double)c->fy;
    splat_json_set(&object, "fov_y", json_real(360 * atan(half_height) / 3.14159265358979323846));
    splat_json_set(&object, "width", json_integer(c->width));
    splat_json_set(&object, "height", json_integer(c->height));
    return object;
}

static json_t *views_json(const splat_scene *scene)
{
    json_t *views = json_array();
    for (size_t i = 0; scene && i < scene->dataset.n_views; i++)
        splat_json_append(&views, view_json(&scene->dataset.views[i]));
    return views;
}

/* Besides those of photos, which need views. */
static json_t *mesh_kinds_json(void)
{
    static const char *const kinds[] = {"color", "depth", "normal", "shaded"};
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) splat_json_append(&array, json_string(kinds[i]));
    return array;
}

splat_status splat_start_view_json(const splat_viewer_content *content, char **text, splat_error *error)
{
    const splat_model *model = content->model;
    const splat_mesh *mesh = content->mesh;
    const splat_scene *scene = content->scene;
    float center[3] = {0, 0, 0}, radius = 1, up[3] = {0, 0, 0};
    *text = NULL;
    SPLAT_TRY(measure(model, mesh, scene, center, &radius, error));
    if (scene) splat_scene_up(scene, up);
    json_t *root = json_object();
    splat_json_set(&root, "title", splat_json_text(content->title));
    if (model) splat_json_set(&root, content->is_points ? "points" : "gaussians", json_integer(model->gaussians.n));
    if (mesh) splat_json_set(&root, "faces", json_integer((json_int_t)mesh->n_faces));
    if (mesh) splat_json_set(&root, "kinds", mesh_kinds_json());
    splat_json_set(&root, "center", numbers(center, 3));
    splat_json_set(&root, "radius", json_real((double)radius));
    splat_json_set(&root, "up", numbers(up, 3));
    splat_json_set(&root, "views", views_json(scene));
    *text = splat_json_print(root, JSON_COMPACT);
    json_decref(root);
    return *text ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the viewer");
}
