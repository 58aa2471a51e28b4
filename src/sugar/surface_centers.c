/* The centres of a splat's opaque Gaussians as points: SuGaR's comparison without level sets. */
#include "sugar/extract.h"

#include "io/image.h"
#include "math/density.h"
#include "math/projection.h"
#include "math/sh.h"

#include <math.h>
#include <stdlib.h>

typedef struct center_arrays {
    float *means, *scales, *rotations, *colors; /* the model's, on the host */
    float *normals;
    uint8_t *seen;
} center_arrays;

static void free_arrays(center_arrays *a)
{
    free(a->means);
    free(a->scales);
    free(a->rotations);
    free(a->colors);
    free(a->normals);
    free(a->seen);
}

static splat_status download(const splat_model *model, center_arrays *a, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    const splat_backend_functions *f = model->backend->functions;
    size_t n = g->n, vector = 3 * n * sizeof(float);
    *a = (center_arrays){malloc(vector), malloc(vector), malloc(4 * n * sizeof(float)), malloc(vector), malloc(vector),
                         malloc(n)};
    if (!a->means || !a->scales || !a->rotations || !a->colors || !a->normals || !a->seen)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the centres of %zu Gaussians", n);
    SPLAT_TRY(f->download(model->backend, a->means, g->p.means, vector, error));
    SPLAT_TRY(f->download(model->backend, a->scales, g->p.scales, vector, error));
    SPLAT_TRY(f->download(model->backend, a->rotations, g->p.rotations, 4 * n * sizeof(float), error));
    return f->download(model->backend, a->colors, g->p.sh_dc, vector, error);
}

static bool is_in_picture(const splat_camera *c, const float p[3])
{
    float q[3];
    for (int k = 0; k < 3; k++)
        q[k] = c->rotation[3 * k] * p[0] + c->rotation[3 * k + 1] * p[1] + c->rotation[3 * k + 2] * p[2] +
               c->translation[k];
    float u = c->fx * q[0] / q[2] + c->cx, v = c->fy * q[1] / q[2] + c->cy;
    return q[2] > SPLAT_NEAR && u >= 0 && u <= (float)c->width && v >= 0 && v <= (float)c->height;
}

/* The shortest axis, of the side on which that training camera stands which looks at it least aslant; false: no camera
 * has the point in its picture. */
static bool find_normal(const splat_dataset *dataset, const float mean[3], const float scale[3],
                        const float rotation[4], float normal[3])
{
    splat_density_kernel g = splat_density_kernel_make(mean, scale, rotation, 0);
    const float *axis = g.axes + 3 * splat_density_short_axis(&g);
    float best = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *c = &dataset->views[dataset->train[i]].camera;
        float along = 0, length2 = 0;
        for (int k = 0; k < 3; k++) {
            float d = c->center[k] - mean[k];
            along += axis[k] * d;
            length2 += d * d;
        }
        along /= sqrtf(length2);
        if (fabsf(along) > fabsf(best) && is_in_picture(c, mean)) best = along;
    }
    for (int k = 0; k < 3; k++) normal[k] = best < 0 ? -axis[k] : axis[k];
    return best != 0;
}

splat_status splat_surface_centers(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                   splat_surface_points *points, splat_error *error)
{
    center_arrays a;
    SPLAT_TRY(splat_surface_prepare(model, error));
    SPLAT_TRY(splat_surface_go_on(options, "looking at the centres", 0, error));
    splat_status status = download(model, &a, error);
    size_t n = status == SPLAT_OK ? model->gaussians.n : 0;
#pragma omp parallel for num_threads(model->context->threads) schedule(static)
    for (size_t i = 0; i < n; i++)
        a.seen[i] = find_normal(&scene->dataset, a.means + 3 * i, a.scales + 3 * i, a.rotations + 4 * i,
                                a.normals + 3 * i);
    for (size_t i = 0; i < n; i++) {
        uint8_t color[3];
        if (!a.seen[i]) continue;
        for (size_t c = 0; c < 3; c++) color[c] = splat_image_byte(0.5f + SPLAT_SH_C0 * a.colors[3 * i + c]);
        splat_surface_points_add(points, a.means + 3 * i, a.normals + 3 * i, color);
    }
    free_arrays(&a);
    if (status == SPLAT_OK && points->n == 0)
        status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                            "no training view sees one of the splat's %zu opaque Gaussians; is it a splat of this "
                            "scene?", n);
    return status;
}
