/* Fusion of the training views' depth maps, in levels that reach as far as the views see. */
#include "surface/extract/extract_fusion.h"

#include "base/context.h"
#include "mesh/tsdf_levels.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_views.h"

#define HELD 0.999    /* of the pixels: the outermost level holds so many; the rest is sky and floaters far away */
#define GROWTH 1.4142 /* of voxels that do not fit: half the blocks */
enum { MOST_GROWTHS = 16 };

typedef struct fusion {
    const splat_mesh_extract_options *options;
    splat_tsdf_levels levels;
    size_t n_views;
    bool fuses;    /* else plans */
} fusion;

static splat_status fuse_view(void *user, const splat_surface_view *view, splat_error *error)
{
    fusion *f = user;
    const splat_tsdf_frame frame = {*view->camera, view->depth, view->alpha, view->rgb};
    SPLAT_TRY(splat_surface_go_on(f->options, f->fuses ? "fusing depth" : "looking at depth",
                                  (double)view->number / (double)f->n_views, error));
    return f->fuses ? splat_tsdf_levels_fuse(&f->levels, &frame, error)
                    : splat_tsdf_levels_plan(&f->levels, &frame, error);
}

/* Plans all views. Voxels of the usual size grow until they fit; those that were asked for do not. */
static splat_status plan(const splat_extraction *e, fusion *f, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    size_t limit = e->octree_bytes ? (size_t)e->octree_bytes : SIZE_MAX;
    size_t n_levels = o->has_bbox ? 1 : SPLAT_TSDF_LEVELS;
    double voxel = splat_extract_voxel(e);
    splat_status status;
    for (int growths = 0;; growths++, voxel *= GROWTH) {
        SPLAT_TRY(splat_tsdf_levels_init(&f->levels, e->box.low, e->box.high, voxel, n_levels, limit,
                                         (float)o->max_depth, e->threads, error));
        status = splat_surface_views(e->scene, e->model, o, fuse_view, f, error);
        if (status == SPLAT_OK && splat_tsdf_levels_blocks(&f->levels) == 0)
            status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                                "no training view sees a surface inside the box; move it with `bboxmin` and `bboxmax`");
        if (status != SPLAT_ERROR_MEMORY || o->voxel_size > 0 || limit == SIZE_MAX || growths == MOST_GROWTHS) break;
        splat_tsdf_levels_free(&f->levels);
        splat_log(e->model->context, SPLAT_LOG_NOTICE, "voxels of %.4g need too much memory; taking %.4g", voxel,
                  voxel * GROWTH);
    }
    if (status != SPLAT_OK) splat_tsdf_levels_free(&f->levels);
    return status;
}

splat_status splat_extract_fusion(const splat_extraction *e, splat_mesh *mesh, splat_error *error)
{
    fusion f = {.options = e->options, .n_views = e->scene->dataset.n_train};
    char size[32];
    SPLAT_TRY(plan(e, &f, error));
    splat_status status = splat_tsdf_levels_allocate(&f.levels, HELD, error);
    if (status == SPLAT_OK)
        splat_log(e->model->context, SPLAT_LOG_NOTICE, "host memory: %s of voxels, from %.4g to %.4g wide",
                  splat_bytes_format(splat_tsdf_levels_bytes(&f.levels), size, sizeof size),
                  f.levels.grids[0].voxel_size, f.levels.grids[f.levels.n - 1].voxel_size);
    f.fuses = true;
    if (status == SPLAT_OK) status = splat_surface_views(e->scene, e->model, e->options, fuse_view, &f, error);
    if (status == SPLAT_OK) status = splat_tsdf_levels_mesh(&f.levels, 1.5f, mesh, error);
    splat_tsdf_levels_free(&f.levels);
    return status;
}
