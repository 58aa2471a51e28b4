/* The box and the resolution of an extraction, and its progress. */
#include "surface/extract/extraction.h"

#include "base/error.h"
#include "base/options.h"
#include "io/option_text.h"
#include "scene/dataset.h"
#include "scene/scene.h"
#include "splatsmith/mesh.h"

#include <math.h>

/* ---------------------------------------------------------------- options */

#define SPLAT_ROW_MESH_METHOD(type, name, field)                                                                       \
    SPLAT_ROW_CHOICE(type, name, field, splat_mesh_method, SPLAT_WORDS_MESH_METHOD)
#define SPLAT_ROW_MESH_POINT_SOURCE(type, name, field)                                                                 \
    SPLAT_ROW_CHOICE(type, name, field, splat_mesh_point_source, SPLAT_WORDS_MESH_POINT_SOURCE)
#define SPLAT_ROW_MESH_SURFACE(type, name, field)                                                                      \
    SPLAT_ROW_CHOICE(type, name, field, splat_mesh_surface, SPLAT_WORDS_MESH_SURFACE)

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, range)                                                                        \
    SPLAT_OPTION_OF(splat_mesh_extract_options, field, kind, start, range)
#include "splatsmith/mesh_options.def"
};
static const splat_option_table table = SPLAT_OPTION_TABLE(splat_mesh_extract_options, rows);

void splat_mesh_extract_options_init_sized(splat_mesh_extract_options *options, size_t size)
{
    splat_mesh_extract_options defaults;
    splat_option_defaults(&table, &defaults, sizeof defaults);
    defaults.levels[0] = 0.3f;
    defaults.n_levels = 1;
    splat_options_give(options, size, &defaults, sizeof defaults);
}

splat_status splat_mesh_extract_options_set(splat_mesh_extract_options *options, const char *name, const char *text,
                                            splat_error *error)
{
    return splat_option_set_text(&table, options, name, text, error);
}

static bool has_levels(const splat_mesh_extract_options *o)
{
    return o->method == SPLAT_MESH_MARCHING_CUBES ||
           (o->method == SPLAT_MESH_POISSON && o->points == SPLAT_MESH_POINTS_LEVEL);
}

size_t splat_mesh_extract_count(const splat_mesh_extract_options *options)
{
    return has_levels(options) ? options->n_levels : 1;
}

static splat_status check_levels(const splat_mesh_extract_options *o, splat_error *error)
{
    if (o->n_levels < 1 || o->n_levels > SPLAT_MESH_LEVELS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "1 to %d surface levels are possible, not %zu",
                          SPLAT_MESH_LEVELS, o->n_levels);
    for (size_t i = 0; i < o->n_levels; i++) {
        if (!(o->levels[i] > 0 && o->levels[i] < 1))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a surface level must be above 0 and below 1, not %g",
                              (double)o->levels[i]);
        for (size_t k = 0; k < i; k++)
            if (o->levels[k] == o->levels[i])
                return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the surface level %g is given twice",
                                  (double)o->levels[i]);
    }
    return SPLAT_OK;
}

splat_status splat_mesh_extract_options_check(const splat_mesh_extract_options *o, splat_error *error)
{
    splat_mesh_extract_options own;
    splat_mesh_extract_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, o, "splat_mesh_extract_options", error));
    o = &own;
    SPLAT_TRY(splat_option_check_all(&table, o, error));
    if (has_levels(o)) SPLAT_TRY(check_levels(o, error));
    if (o->surface == SPLAT_MESH_CLOSED && o->method != SPLAT_MESH_POISSON)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`surface` closed needs `method` poisson; a mesh of %s ends where the views end",
                          o->method == SPLAT_MESH_TSDF ? "tsdf" : "marching_cubes");
    if (o->collider_faces && o->method != SPLAT_MESH_POISSON)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`collider` needs `method` poisson, which closes a surface");
    for (int k = 0; k < 3; k++)
        if (o->has_bbox && !(o->bbox_low[k] < o->bbox_high[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box is empty: bboxmin must be below bboxmax");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- box */

#define DEFAULT_VOXELS 320.0 /* along the box */

splat_surface_box splat_surface_box_make(const splat_scene *scene, const splat_mesh_extract_options *options)
{
    const splat_dataset *dataset = &scene->dataset;
    splat_surface_box box;
    double center[3] = {0, 0, 0}, extent = (double)dataset->extent;
    for (size_t i = 0; i < dataset->n_train; i++)
        for (int k = 0; k < 3; k++)
            center[k] += (double)dataset->views[dataset->train[i]].camera.center[k] / (double)dataset->n_train;
    for (int k = 0; k < 3; k++) { /* a box that the user gave is never shifted */
        box.low[k] = options->has_bbox ? options->bbox_low[k] : center[k] - extent;
        box.high[k] = options->has_bbox ? options->bbox_high[k] : center[k] + extent;
    }
    return box;
}

bool splat_surface_is_inside(const float p[3], const double low[3], const double high[3])
{
    for (int k = 0; k < 3; k++)
        if (!((double)p[k] > low[k] && (double)p[k] < high[k])) return false;
    return true;
}

splat_status splat_surface_go_on(const splat_mesh_extract_options *options, const char *stage, double fraction,
                                 splat_error *error)
{
    if (!options->progress || options->progress(options->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while %s", stage);
}

double splat_extract_voxel(const splat_extraction *e)
{
    double side = 0;
    for (int k = 0; k < 3; k++) side = fmax(side, e->box.high[k] - e->box.low[k]);
    return e->options->voxel_size > 0 ? e->options->voxel_size : side / DEFAULT_VOXELS;
}
