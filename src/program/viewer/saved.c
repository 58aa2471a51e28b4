/* The last saved splat, for pages that draw it themselves. */
#include "viewer/saved.h"

#include "io/splat/cloud_spz.h"

#include "io/splat/formats.h"
#include "io/splat/packed.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICENESS 10 /* of packing: a training on the CPU has priority */

splat_status splat_viewer_offer(splat_viewer *viewer, const char *path, int iteration, const splat_model *model,
                                const float background[3], splat_error *error)
{
    char *copy = strdup(path);
    if (!copy) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    pthread_mutex_lock(&viewer->mutex);
    free(viewer->saved_path);
    viewer->saved_path = copy;
    viewer->status.saved = (splat_viewer_saved){.number = viewer->status.saved.number + 1,
                                                .iteration = iteration,
                                                .n_gaussians = model->gaussians.n,
                                                .sh_degree = model->gaussians.sh_degree,
                                                .is_mip = model->render_mode == SPLAT_RENDER_MIP,
                                                .kernel_size = model->kernel_size};
    memcpy(viewer->status.saved.background, background, 3 * sizeof *background);
    viewer->status.n_changes++;
    pthread_mutex_unlock(&viewer->mutex);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- packing */

static splat_status pack_cloud(const char *path, splat_cloud *cloud, splat_viewer_parcel *parcel, splat_error *error)
{
    size_t row;
    int tensor;
    if (cloud->sh_degree > parcel->about.sh_degree)
        SPLAT_TRY(splat_cloud_set_degree(cloud, parcel->about.sh_degree, error));
    splat_cloud_bake_filter(cloud);
    if (!splat_packed_is_finite(cloud, &row, &tensor))
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the %s of Gaussian %zu are not finite, so the splat cannot be sent",
                             splat_gaussian_tensors.rows[tensor].name, row);
    return splat_spz_pack(cloud, 3, &parcel->data, &parcel->size, error);
}

typedef struct packing {
    const char *path;
    splat_viewer_parcel *parcel;
    splat_status status;
    splat_error *error;
} packing;

static void *pack(void *user)
{
    packing *p = user;
    splat_cloud cloud;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS); /* of this thread alone, on Linux; if it fails, no harm */
    p->status = splat_cloud_read(p->path, &cloud, p->error);
    if (p->status != SPLAT_OK) return NULL;
    p->status = pack_cloud(p->path, &cloud, p->parcel, p->error);
    splat_cloud_free(&cloud);
    return NULL;
}

static splat_status make_parcel(const char *path, splat_viewer_parcel *parcel, splat_error *error)
{
    packing p = {path, parcel, SPLAT_OK, error};
    pthread_t thread;
    if (parcel->about.n_gaussians > SPLAT_VIEWER_FETCH_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the splat has %zu Gaussians, and browsers are sent %d at the most: look at the program's "
                          "own pictures",
                          parcel->about.n_gaussians, SPLAT_VIEWER_FETCH_MAX);
    if (pthread_create(&thread, NULL, pack, &p) != 0)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a thread that packs the splat");
    pthread_join(thread, NULL);
    return p.status;
}

/* ---------------------------------------------------------------- the parcel of now */

static void let_go(splat_viewer_parcel *parcel)
{
    if (!parcel || --parcel->n_holders > 0) return;
    free(parcel->data);
    free(parcel);
}

void splat_viewer_parcel_put(splat_viewer *viewer, splat_viewer_parcel *parcel)
{
    pthread_mutex_lock(&viewer->mutex);
    let_go(parcel);
    viewer->n_fetches--;
    pthread_mutex_unlock(&viewer->mutex);
}

/* With viewer->packing: the viewer's own parcel becomes that of the splat that is offered now. */
static splat_status renew_parcel(splat_viewer *viewer, splat_error *error)
{
    pthread_mutex_lock(&viewer->mutex);
    const splat_viewer_saved about = viewer->status.saved;
    const bool is_new = !viewer->parcel || viewer->parcel->about.number != about.number;
    char *path = is_new && viewer->saved_path ? strdup(viewer->saved_path) : NULL;
    if (is_new) { /* before the next one is made: two need not be held */
        let_go(viewer->parcel);
        viewer->parcel = NULL;
    }
    pthread_mutex_unlock(&viewer->mutex);
    if (!is_new) return SPLAT_OK;
    if (!about.number) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "no splat has been saved yet");
    splat_viewer_parcel *parcel = path ? calloc(1, sizeof *parcel) : NULL;
    splat_status status = SPLAT_OK;
    if (!parcel) {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the saved splat");
    } else {
        *parcel = (splat_viewer_parcel){.about = about, .n_holders = 1};
        status = make_parcel(path, parcel, error);
    }
    free(path);
    pthread_mutex_lock(&viewer->mutex);
    if (status == SPLAT_OK)
        viewer->parcel = parcel;
    else
        let_go(parcel);
    pthread_mutex_unlock(&viewer->mutex);
    return status;
}

static bool begin_fetch(splat_viewer *viewer)
{
    pthread_mutex_lock(&viewer->mutex);
    const bool has_room = viewer->n_fetches < SPLAT_VIEWER_FETCHES_MAX;
    viewer->n_fetches += has_room;
    pthread_mutex_unlock(&viewer->mutex);
    return has_room;
}

splat_status splat_viewer_parcel_take(splat_viewer *viewer, splat_viewer_parcel **parcel, splat_error *error)
{
    *parcel = NULL;
    if (!begin_fetch(viewer))
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "%d pages fetch the splat already; try again when one has it",
                          SPLAT_VIEWER_FETCHES_MAX);
    pthread_mutex_lock(&viewer->packing);
    splat_status status = renew_parcel(viewer, error);
    pthread_mutex_lock(&viewer->mutex);
    if (status == SPLAT_OK) {
        *parcel = viewer->parcel;
        viewer->parcel->n_holders++;
    } else {
        viewer->n_fetches--;
    }
    pthread_mutex_unlock(&viewer->mutex);
    pthread_mutex_unlock(&viewer->packing);
    return status;
}

void splat_viewer_parcel_close(splat_viewer *viewer)
{
    let_go(viewer->parcel);
    free(viewer->saved_path);
}
