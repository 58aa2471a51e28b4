/* The segment has the state of each view, then the photos. Processes are known by their number, so that nobody waits
 * for one that was killed during a photo. If a number means nothing to the other process (containers), both decode the
 * same bytes. */
#include "scene/shared_photos.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 64
#define LOOK_NS 200000 /* between two looks at a photo that another process decodes, which takes some milliseconds */

/* A view's state: one of these, or the number of the process that decodes it. */
enum { EMPTY = 0, READY = -1 };

typedef struct segment {
    atomic_int n_users;
    atomic_int states[]; /* [n_views] */
} segment;

struct splat_shared_photos {
    segment *segment;
    size_t bytes, n_views;
    size_t *offsets; /* [n_views] */
};

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* offsets[n_views], or NULL. Returns the bytes of all. */
static size_t lay_out(const splat_dataset *dataset, size_t *offsets)
{
    size_t end = rounded(sizeof(segment) + dataset->n_views * sizeof(atomic_int));
    for (size_t i = 0; i < dataset->n_views; i++) {
        if (offsets) offsets[i] = end;
        end += rounded(splat_view_decoded_bytes(&dataset->views[i]));
    }
    return end;
}

size_t splat_shared_photos_bytes(const splat_dataset *dataset)
{
    return lay_out(dataset, NULL);
}

splat_status splat_shared_photos_make(const char *name, const splat_dataset *dataset, bool *is_maker,
                                      splat_error *error)
{
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    *is_maker = file >= 0;
    if (file < 0 && errno == EEXIST) return SPLAT_OK;
    if (file < 0) return splat_fail(error, SPLAT_ERROR_IO, "no shared memory: %s", strerror(errno));
    const size_t bytes = lay_out(dataset, NULL);
    const int refused = posix_fallocate(file, 0, (off_t)bytes); /* a write to what is only promised would kill */
    close(file);
    if (refused == 0) return SPLAT_OK;
    *is_maker = false;
    shm_unlink(name);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no %zu bytes of shared memory: %s", bytes, strerror(refused));
}

static splat_status map(const char *name, size_t bytes, segment **mapped, splat_error *error)
{
    int file = shm_open(name, O_RDWR, 0);
    if (file < 0) return splat_fail(error, SPLAT_ERROR_IO, "no shared memory: %s", strerror(errno));
    void *data = lseek(file, 0, SEEK_END) == (off_t)bytes
                     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED; /* of another scene: none of ours */
    close(file);
    if (data == MAP_FAILED) return splat_fail(error, SPLAT_ERROR_IO, "shared memory cannot be mapped");
    *mapped = data;
    return SPLAT_OK;
}

splat_status splat_shared_photos_open(const char *name, const splat_dataset *dataset, splat_shared_photos **photos,
                                      splat_error *error)
{
    *photos = NULL;
    splat_shared_photos *opened = calloc(1, sizeof *opened);
    size_t *offsets = calloc(dataset->n_views + 1, sizeof *offsets);
    splat_status status = opened && offsets ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for photos");
    if (status == SPLAT_OK) {
        *opened = (splat_shared_photos){.bytes = lay_out(dataset, offsets), .n_views = dataset->n_views,
                                        .offsets = offsets};
        status = map(name, opened->bytes, &opened->segment, error);
    }
    if (status != SPLAT_OK) {
        free(opened);
        free(offsets);
        return status;
    }
    atomic_fetch_add(&opened->segment->n_users, 1);
    *photos = opened;
    return SPLAT_OK;
}

void splat_shared_photos_unlink(const char *name)
{
    shm_unlink(name);
}

void splat_shared_photos_close(splat_shared_photos *photos)
{
    if (!photos) return;
    munmap(photos->segment, photos->bytes);
    free(photos->offsets);
    free(photos);
}

int splat_shared_photos_users(const splat_shared_photos *photos)
{
    return atomic_load(&photos->segment->n_users);
}

uint8_t *splat_shared_photos_place(const splat_shared_photos *photos, size_t view)
{
    return (uint8_t *)photos->segment + photos->offsets[view];
}

static bool is_gone(int process)
{
    return kill(process, 0) != 0 && errno == ESRCH;
}

bool splat_shared_photos_begin(splat_shared_photos *photos, size_t view, bool waits)
{
    atomic_int *state = &photos->segment->states[view];
    const int here = (int)getpid();
    for (int found = EMPTY;;) {
        if (atomic_compare_exchange_strong(state, &found, here)) return true;
        if (found == READY) return false;
        if (found == EMPTY || is_gone(found)) continue; /* from its present owner */
        if (!waits) return false;
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
        found = EMPTY;
    }
}

void splat_shared_photos_end(splat_shared_photos *photos, size_t view, bool is_good)
{
    atomic_store(&photos->segment->states[view], is_good ? READY : EMPTY);
}

bool splat_shared_photos_has(const splat_shared_photos *photos, size_t view)
{
    return atomic_load(&photos->segment->states[view]) == READY;
}
