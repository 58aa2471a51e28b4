/* Photos of ranks that are processes: decoded once a host. */
#include "train/ranks/shards.h"
#include "train/state.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* What no other run calls its shared memory: of rank 0, to all. */
static splat_status agree_on_name(splat_trainer *t, char name[64], splat_error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t run = ((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) ^ (uint64_t)getpid() << 40;
    SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, &run, sizeof run, error));
    snprintf(name, 64, "/splatsmith-%016llx", (unsigned long long)run);
    return SPLAT_OK;
}

/* NULL where the host has no memory for it: every rank then decodes what it needs, as one does alone. */
static splat_status open_together(splat_trainer *t, splat_shared_photos **photos, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const bool fits = splat_shared_photos_bytes(dataset) <= splat_image_cache_max_bytes(t->scene->cache);
    char name[64];
    bool is_maker = false;
    SPLAT_TRY(agree_on_name(t, name, error));
    if (fits) splat_shared_photos_make(name, dataset, &is_maker, NULL);
    splat_status status = splat_comm_barrier(t->shards.comm, error);
    if (status == SPLAT_OK && fits) splat_shared_photos_open(name, dataset, photos, NULL);
    if (status == SPLAT_OK) status = splat_comm_barrier(t->shards.comm, error);
    if (is_maker) splat_shared_photos_unlink(name);
    return status;
}

splat_status splat_shards_share_photos(splat_trainer *t, splat_error *error)
{
    splat_shared_photos *photos = NULL;
    if (t->shards.comm->functions->is_one_process) return SPLAT_OK;
    splat_status status = open_together(t, &photos, error);
    const int n_users = photos ? splat_shared_photos_users(photos) : 1;
    if (status != SPLAT_OK || n_users == 1) {
        splat_shared_photos_close(photos);
        return status;
    }
    splat_image_cache_share(t->scene->cache, photos);
    if (t->shards.comm->rank == 0)
        splat_log(t->context, SPLAT_LOG_NOTICE, "%d ranks of this host decode each photo once, %.0f MiB in all",
                  n_users, (double)splat_shared_photos_bytes(&t->scene->dataset) / (1 << 20));
    return SPLAT_OK;
}
