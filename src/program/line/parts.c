/* The defaults of the parts. */
#include "line/parts.h"

#include <pthread.h>

#include <string.h>

static void set_list(splat_line_list *list, const int *values, size_t n)
{
    memcpy(list->values, values, n * sizeof *values);
    list->n = n;
}

/* Defaults that are not 0, NULL or off. The library's structs have functions of their own, so that a default is written
 * once. */
static void init_library_parts(splat_line_parts *p)
{
    splat_context_options_init(&p->machine.context);
    splat_scene_options_init(&p->scene);
    splat_train_options_init(&p->train);
    splat_sample_options_init(&p->sample);
    splat_cameras_options_init(&p->cameras);
    splat_mesh_report_options_init(&p->mesh_report.options);
    splat_random_views_options_init(&p->render.random_views);
    splat_viewer_options_init(&p->viewer);
    splat_mesh_draw_options_init(&p->mesh_draw);
    splat_bench_options_init(&p->bench.options);
    splat_lpips_options_init(&p->lpips.options);
    splat_mesh_extract_options_init(&p->mesh);
    splat_texture_options_init(&p->texture);
    splat_clean_options_init(&p->clean);
}

static splat_line_parts parts; /* never written after init_parts */

static void init_parts(void)
{
    static const int usual[] = {7000, 30000};
    splat_line_parts *p = &parts;
    init_library_parts(p);
    p->machine.context.sole_user = true;
    p->machine.fragmentation = "normal";
    p->model.iteration = -1;
    p->model.reduce_sh_degree = -1;
    p->model.render_mode = "auto";
    p->mesh.points = SPLAT_MESH_POINTS_VIEWS;
    p->training.strategy = "default";
    p->training.quality = "normal";
    p->training.data_device = "cuda";
    set_list(&p->run.test_iterations, usual, 2);
    set_list(&p->run.save_iterations, usual, 2);
    p->run.tensorboard = p->run.report = true;
    p->run.tensorboard_tags = "default";
    p->run.profile_interval = 50;
    p->lpips.enable = true;
    p->page.port = -1;
    p->page.budget = 5;
    p->coarse.regularization = "multiview";
    p->coarse.iterations = 15000;
    p->coarse.export_ply = true;
    p->render.exposure = "neutral";
    p->sheet.n_views = 3;
    p->export.spz_version = "3";
    p->export.scene_up = "-y";
    p->export.scale = 1;
    p->bench.mode = "training";
    p->bench.from_iteration = -1;
    p->monitor.interval = 1;
}

const splat_line_parts *splat_line_default_parts(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_parts);
    return &parts;
}
