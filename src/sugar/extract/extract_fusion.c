/* Fusion of the training views' depth maps. */
#include "mesh/tsdf.h"
#include "sugar/extract/extract_parts.h"

#include <stdlib.h>

#define TRUNCATION 4.0 /* voxels */

typedef struct fusion {
    const splat_mesh_extract_options *options;
    splat_voxel_grid grid;
    splat_tsdf_options tsdf;
    splat_surface_boxes boxes;
    float *depth;  /* of a view, without what lies outside of the box */
    size_t n_views;
    bool fuses;    /* else plans */
} fusion;

/* Pixels outside of the foreground box are left out. */
static void cut_to_box(const fusion *f, const splat_surface_view *view)
{
    const splat_camera *c = view->camera;
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            size_t i = (size_t)y * (size_t)c->width + (size_t)x;
            float z = view->depth[i], p[3];
            const float local[3] = {((float)x + 0.5f - c->cx) / c->fx * z, ((float)y + 0.5f - c->cy) / c->fy * z, z};
            for (int k = 0; k < 3; k++)
                p[k] = c->center[k] + c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] +
                       c->rotation[6 + k] * local[2];
            f->depth[i] = z > 0 && splat_surface_is_inside(p, f->boxes.low, f->boxes.high) ? z : 0;
        }
}

static splat_status fuse_view(void *user, const splat_surface_view *view, splat_error *error)
{
    fusion *f = user;
    cut_to_box(f, view);
    splat_tsdf_frame frame = {*view->camera, f->depth, view->alpha, view->rgb};
    SPLAT_TRY(splat_surface_go_on(f->options, f->fuses ? "fusing depth" : "looking at depth",
                                  (double)view->number / (double)f->n_views, error));
    return f->fuses ? splat_tsdf_fuse(&f->grid, &f->tsdf, &frame, error)
                    : splat_tsdf_plan(&f->grid, &f->tsdf, &frame, error);
}

splat_status splat_extract_fusion(const splat_extraction *e, splat_mesh *mesh, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    fusion f = {.options = o, .boxes = e->boxes, .n_views = e->scene->dataset.n_train};
    size_t n_pixels = splat_surface_pixels(e->scene, o->resolution_factor);
    double voxel = splat_extract_voxel(e);
    f.tsdf = (splat_tsdf_options){
        .truncation = TRUNCATION * voxel, .max_depth = (float)o->max_depth, .threads = e->threads};
    f.depth = malloc(n_pixels * sizeof *f.depth);
    if (!f.depth) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of %zu pixels", n_pixels);
    splat_status status = splat_voxel_grid_init(&f.grid, f.boxes.low, voxel, true,
                                                e->octree_bytes ? (size_t)e->octree_bytes : SIZE_MAX, error);
    if (status == SPLAT_OK) {
        status = splat_surface_views(e->scene, e->model, o, fuse_view, &f, error);
        if (status == SPLAT_OK && f.grid.n_blocks == 0)
            status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                                "no training view sees a surface inside the box; move it with `bboxmin` and `bboxmax`");
        char size[32];
        if (status == SPLAT_OK)
            splat_log(e->model->context, SPLAT_LOG_NOTICE, "host memory: %s of voxels",
                      splat_bytes_format(splat_voxel_grid_bytes(&f.grid), size, sizeof size));
        if (status == SPLAT_OK) status = splat_voxel_grid_allocate(&f.grid, error);
        f.fuses = true;
        if (status == SPLAT_OK) status = splat_surface_views(e->scene, e->model, o, fuse_view, &f, error);
        if (status == SPLAT_OK) status = splat_tsdf_mesh(&f.grid, 1.5f, e->threads, mesh, error);
        splat_voxel_grid_free(&f.grid);
    }
    free(f.depth);
    return status;
}
