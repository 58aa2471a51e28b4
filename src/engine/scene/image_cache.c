/* The cache of decoded photos. One lock guards everything but the decoding itself.
 *
 * A view is EMPTY, QUEUED for a worker, DECODING (by a worker or by the thread that wants it), READY, or FAILED with
 * the error kept for the next request. A READY view without users is in the list of the unused, the longest unused
 * first: the order of eviction. Both lists run through the entries, so prefetch and release never allocate.
 *
 * Of a photo that is cut into crops, the others are made with the one that is wanted, where they fit without evicting:
 * decoding takes most of the time.
 *
 * A photo that lies in memory which processes share is never evicted; it counts where it was decoded. */
#include "scene/image_cache.h"

#include "math/camera.h"
#include "scene/mask.h"
#include "scene/photo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum entry_state { EMPTY, QUEUED, DECODING, READY, FAILED } entry_state;

#define NONE SIZE_MAX

typedef struct entry {
    entry_state state;
    size_t n_users;         /* holders and waiters: an entry with any is never evicted */
    size_t previous, next;  /* in the queue (QUEUED) or in the unused (READY, no users) */
    uint8_t *rgb;           /* READY; ours unless is_shared */
    bool is_shared;
    uint32_t n_kept;        /* of the mask; once READY it stays */
    bool is_counted;
    splat_error *error;     /* FAILED; NULL when there was no memory to keep it */
} entry;

typedef struct entry_list { size_t first, last; } entry_list;

struct splat_image_cache {
    const splat_dataset *dataset;
    size_t max_bytes;
    splat_host_memory *host_memory;
    splat_shared_photos *shared; /* NULL: photos are this process's own */
    entry *entries;
    entry_list queue, unused;
    splat_image_cache_info info; /* bytes counts pictures being decoded, too */
    pthread_mutex_t lock;
    pthread_cond_t work, done;   /* for workers: something is queued; for acquire: a decode has ended */
    bool stopping;
    pthread_t *workers;
    int n_workers;
};

static void list_append(splat_image_cache *cache, entry_list *list, size_t view)
{
    entry *added = &cache->entries[view];
    added->previous = list->last;
    added->next = NONE;
    if (list->last != NONE)
        cache->entries[list->last].next = view;
    else
        list->first = view;
    list->last = view;
}

static void list_remove(splat_image_cache *cache, entry_list *list, size_t view)
{
    entry *removed = &cache->entries[view];
    if (removed->previous != NONE)
        cache->entries[removed->previous].next = removed->next;
    else
        list->first = removed->next;
    if (removed->next != NONE)
        cache->entries[removed->next].previous = removed->previous;
    else
        list->last = removed->previous;
}

/* READY, and nobody uses it (any more), or somebody does (again). */
static void set_unused(splat_image_cache *cache, size_t view, bool is_unused)
{
    if (cache->entries[view].is_shared) return;
    if (is_unused)
        list_append(cache, &cache->unused, view);
    else
        list_remove(cache, &cache->unused, view);
}

static size_t view_bytes(const splat_image_cache *cache, size_t view)
{
    return splat_view_decoded_bytes(&cache->dataset->views[view]);
}

static void count_out(splat_image_cache *cache, size_t view)
{
    cache->info.bytes -= view_bytes(cache, view);
    splat_host_memory_remove(cache->host_memory, SPLAT_HOST_PHOTOS, view_bytes(cache, view));
}

static void evict(splat_image_cache *cache, size_t view)
{
    entry *evicted = &cache->entries[view];
    list_remove(cache, &cache->unused, view);
    free(evicted->rgb);
    evicted->rgb = NULL;
    evicted->state = EMPTY;
    count_out(cache, view);
    cache->info.n_evicted++;
}

/* Evicts the longest unused until so many bytes more fit below the bound, or nothing is left to evict. */
static bool make_room(splat_image_cache *cache, size_t bytes)
{
    while (cache->info.bytes + bytes > cache->max_bytes && cache->unused.first != NONE)
        evict(cache, cache->unused.first);
    return cache->info.bytes + bytes <= cache->max_bytes;
}

static uint32_t count_kept(const splat_dataset_view *view, const uint8_t *photo)
{
    const uint8_t *mask = splat_view_mask(view, photo);
    size_t n = splat_camera_pixels(&view->camera);
    return (uint32_t)(mask ? splat_mask_count(mask, n) : n);
}

/* An entry is going to be decoded. */
static void begin(splat_image_cache *cache, size_t view)
{
    cache->entries[view].state = DECODING;
    cache->info.bytes += view_bytes(cache, view);
    splat_host_memory_add(cache->host_memory, SPLAT_HOST_PHOTOS, view_bytes(cache, view));
    if (cache->info.bytes > cache->info.peak_bytes) cache->info.peak_bytes = cache->info.bytes;
}

/* It has been, or has failed. */
static void end(splat_image_cache *cache, size_t view, splat_status status, const splat_error *error, uint8_t *rgb,
                uint32_t n_kept)
{
    entry *decoded = &cache->entries[view];
    decoded->rgb = rgb;
    decoded->is_shared = cache->shared && status == SPLAT_OK;
    if (status == SPLAT_OK) {
        decoded->n_kept = n_kept;
        decoded->is_counted = true;
    } else if ((decoded->error = malloc(sizeof *decoded->error))) {
        *decoded->error = *error;
    }
    decoded->state = status == SPLAT_OK ? READY : FAILED;
    if (status != SPLAT_OK) count_out(cache, view);
}

/* The view and the other crops of its photo that nobody has begun and that there is room for; they begin. */
static int gather(splat_image_cache *cache, size_t view, uint32_t views[SPLAT_LENS_CROPS])
{
    const splat_dataset_view *wanted = &cache->dataset->views[view];
    size_t first = view - (size_t)wanted->crop;
    int n = 0;
    begin(cache, view);
    views[n++] = (uint32_t)view;
    for (int i = 0; i < wanted->n_crops; i++) {
        size_t other = first + (size_t)i;
        entry_state state = cache->entries[other].state;
        if (other == view || (state != EMPTY && state != QUEUED) || cache->entries[other].n_users > 0) continue;
        if (cache->info.bytes + view_bytes(cache, other) > cache->max_bytes) continue;
        if (state == QUEUED) list_remove(cache, &cache->queue, other);
        begin(cache, other);
        views[n++] = (uint32_t)other;
    }
    return n;
}

/* Nobody asked for it, or who did tries again. */
static void give_up(splat_image_cache *cache, size_t view)
{
    cache->entries[view].state = EMPTY;
    count_out(cache, view);
}

/* The first of the views, and the others where that goes well: *n_loaded is n or 1. */
static splat_status load_own(const splat_dataset *dataset, const uint32_t *views, int n, int *n_loaded, uint8_t **rgb,
                             splat_error *error)
{
    *n_loaded = n;
    if (n > 1) {
        splat_status status = splat_photo_load_crops(dataset, views, n, rgb, error);
        if (status == SPLAT_OK) return SPLAT_OK;
        *n_loaded = 1;
        if (status != SPLAT_ERROR_MEMORY) return status;
    }
    return splat_photo_load(dataset, views[0], &rgb[0], error);
}

/* The same in shared memory: what another process decodes or has decoded is taken from there, the first view at any
 * rate, and the others where nobody is about them. *n_made: of those that are loaded, decoded here; they come first. */
static splat_status load_shared(const splat_image_cache *cache, uint32_t *views, int n, int *n_loaded, int *n_made,
                                uint8_t **rgb, splat_error *error)
{
    splat_shared_photos *shared = cache->shared;
    *n_loaded = 1;
    *n_made = 0;
    if (!splat_shared_photos_begin(shared, views[0], true)) {
        rgb[0] = splat_shared_photos_place(shared, views[0]);
        return SPLAT_OK;
    }
    int n_begun = 1;
    for (int i = 1; i < n; i++) {
        uint32_t view = views[i];
        if (!splat_shared_photos_begin(shared, view, false)) continue;
        views[i] = views[n_begun]; /* those that are begun come first */
        views[n_begun++] = view;
    }
    splat_status status = load_own(cache->dataset, views, n_begun, n_loaded, rgb, error);
    for (int i = 0; i < n_begun; i++) {
        const bool is_good = status == SPLAT_OK && i < *n_loaded;
        uint8_t *place = splat_shared_photos_place(shared, views[i]);
        if (is_good) memcpy(place, rgb[i], view_bytes(cache, views[i]));
        free(rgb[i]);
        rgb[i] = is_good ? place : NULL;
        splat_shared_photos_end(shared, views[i], is_good);
    }
    *n_made = status == SPLAT_OK ? *n_loaded : 0;
    return status;
}

/* Decodes a view; the lock is held on entry and on return, not meanwhile. Nobody else touches a DECODING entry. */
static void decode(splat_image_cache *cache, size_t view)
{
    uint32_t views[SPLAT_LENS_CROPS], n_kept[SPLAT_LENS_CROPS] = {0};
    uint8_t *rgb[SPLAT_LENS_CROPS] = {NULL};
    int n = gather(cache, view, views), n_loaded, n_made = n;
    pthread_mutex_unlock(&cache->lock);
    splat_error error;
    splat_status status = cache->shared ? load_shared(cache, views, n, &n_loaded, &n_made, rgb, &error)
                                        : load_own(cache->dataset, views, n, &n_loaded, rgb, &error);
    for (int i = 0; i < n_loaded && status == SPLAT_OK; i++) {
        const entry *decoded = &cache->entries[views[i]];
        n_kept[i] = decoded->is_counted ? decoded->n_kept : count_kept(&cache->dataset->views[views[i]], rgb[i]);
    }
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < n_loaded; i++) {
        end(cache, views[i], status, &error, rgb[i], n_kept[i]);
        if (status == SPLAT_OK && i >= n_made) count_out(cache, views[i]); /* where it was decoded it counts */
        if (i > 0 && cache->entries[views[i]].n_users == 0) set_unused(cache, views[i], true);
    }
    for (int i = n_loaded; i < n; i++) give_up(cache, views[i]);
    pthread_cond_broadcast(&cache->done);
}

/* The end of a use. A picture becomes evictable; an error has been reported to all who waited, so the next acquire
 * tries again: the file may have been repaired. */
static void leave(splat_image_cache *cache, size_t view)
{
    entry *left = &cache->entries[view];
    if (--left->n_users > 0) return;
    if (left->state == READY) {
        set_unused(cache, view, true);
        make_room(cache, 0);
    } else if (left->state == FAILED) {
        free(left->error);
        left->error = NULL;
        left->state = EMPTY;
    }
}

static void *work(void *argument)
{
    splat_image_cache *cache = argument;
    pthread_mutex_lock(&cache->lock);
    while (!cache->stopping) {
        size_t view = cache->queue.first;
        if (view == NONE) {
            pthread_cond_wait(&cache->work, &cache->lock);
            continue;
        }
        entry *queued = &cache->entries[view];
        list_remove(cache, &cache->queue, view);
        queued->state = EMPTY;
        if (!make_room(cache, view_bytes(cache, view))) continue; /* all is in use: acquire will decode it */
        decode(cache, view);
        if (queued->state == READY && queued->n_users == 0) {
            set_unused(cache, view, true);
            make_room(cache, 0);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

splat_status splat_image_cache_create(const splat_dataset *dataset, size_t max_bytes, int workers,
                                      splat_host_memory *host_memory, splat_image_cache **cache, splat_error *error)
{
    *cache = NULL;
    if (workers < 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "an image cache cannot have %d workers", workers);
    splat_image_cache *made = calloc(1, sizeof *made);
    if (!made) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the image cache");
    made->dataset = dataset;
    made->max_bytes = max_bytes;
    made->host_memory = host_memory;
    made->queue = made->unused = (entry_list){NONE, NONE};
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->done, NULL);
    made->entries = calloc(dataset->n_views ? dataset->n_views : 1, sizeof *made->entries);
    made->workers = calloc((size_t)workers + 1, sizeof *made->workers);
    bool good = made->entries && made->workers;
    if (!good) {
        splat_image_cache_destroy(made);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the image cache with %d worker threads", workers);
    }
    while (made->n_workers < workers && pthread_create(&made->workers[made->n_workers], NULL, work, made) == 0)
        made->n_workers++; /* with fewer, or none, photos are decoded when they are asked for */
    *cache = made;
    return SPLAT_OK;
}

void splat_image_cache_share(splat_image_cache *cache, splat_shared_photos *photos)
{
    pthread_mutex_lock(&cache->lock);
    cache->shared = photos;
    pthread_mutex_unlock(&cache->lock);
}

size_t splat_image_cache_max_bytes(const splat_image_cache *cache)
{
    return cache->max_bytes;
}

void splat_image_cache_destroy(splat_image_cache *cache)
{
    if (!cache) return;
    pthread_mutex_lock(&cache->lock);
    cache->stopping = true;
    pthread_cond_broadcast(&cache->work);
    pthread_mutex_unlock(&cache->lock);
    for (int i = 0; i < cache->n_workers; i++) pthread_join(cache->workers[i], NULL);
    splat_host_memory_remove(cache->host_memory, SPLAT_HOST_PHOTOS, cache->info.bytes);
    for (size_t i = 0; cache->entries && i < cache->dataset->n_views; i++) {
        if (!cache->entries[i].is_shared) free(cache->entries[i].rgb);
        free(cache->entries[i].error);
    }
    splat_shared_photos_close(cache->shared);
    pthread_cond_destroy(&cache->work);
    pthread_cond_destroy(&cache->done);
    pthread_mutex_destroy(&cache->lock);
    free(cache->entries);
    free(cache->workers);
    free(cache);
}

splat_status splat_image_cache_acquire(splat_image_cache *cache, size_t view, const uint8_t **rgb, splat_error *error)
{
    *rgb = NULL;
    if (view >= cache->dataset->n_views)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "view %zu does not exist: the scene has %zu", view,
                          cache->dataset->n_views);
    pthread_mutex_lock(&cache->lock);
    entry *wanted = &cache->entries[view];
    if (wanted->state == READY && wanted->n_users == 0) set_unused(cache, view, false);
    wanted->n_users++; /* from here on nobody evicts it */
    if (wanted->state == EMPTY || wanted->state == QUEUED) cache->info.n_misses++;
    else cache->info.n_hits++;
    while (wanted->state != READY && wanted->state != FAILED) {
        if (wanted->state == DECODING) { /* EMPTY again after it: the decode was of another crop, and failed */
            pthread_cond_wait(&cache->done, &cache->lock);
            continue;
        }
        if (wanted->state == QUEUED) list_remove(cache, &cache->queue, view);
        make_room(cache, view_bytes(cache, view));
        decode(cache, view);
    }
    splat_status status = SPLAT_OK;
    if (wanted->state == READY) {
        *rgb = wanted->rgb;
    } else {
        status = wanted->error ? wanted->error->status : SPLAT_ERROR_MEMORY;
        if (error && wanted->error) *error = *wanted->error;
        if (!wanted->error) splat_fail(error, status, "no memory to load a photo");
        leave(cache, view);
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}

void splat_image_cache_release(splat_image_cache *cache, size_t view)
{
    if (view >= cache->dataset->n_views) return;
    pthread_mutex_lock(&cache->lock);
    if (cache->entries[view].n_users > 0) leave(cache, view);
    pthread_mutex_unlock(&cache->lock);
}

splat_status splat_image_cache_count_kept(splat_image_cache *cache, size_t view, uint32_t *n_kept, splat_error *error)
{
    const uint8_t *rgb;
    pthread_mutex_lock(&cache->lock);
    bool is_counted = cache->entries[view].is_counted;
    *n_kept = cache->entries[view].n_kept;
    pthread_mutex_unlock(&cache->lock);
    if (is_counted) return SPLAT_OK;
    SPLAT_TRY(splat_image_cache_acquire(cache, view, &rgb, error));
    *n_kept = cache->entries[view].n_kept; /* it does not change any more */
    splat_image_cache_release(cache, view);
    return SPLAT_OK;
}

void splat_image_cache_prefetch(splat_image_cache *cache, size_t view)
{
    if (view >= cache->dataset->n_views || cache->n_workers == 0) return;
    pthread_mutex_lock(&cache->lock);
    if (cache->entries[view].state == EMPTY) {
        cache->entries[view].state = QUEUED;
        list_append(cache, &cache->queue, view);
        pthread_cond_signal(&cache->work);
    }
    pthread_mutex_unlock(&cache->lock);
}

void splat_image_cache_get_info(splat_image_cache *cache, splat_image_cache_info *info)
{
    pthread_mutex_lock(&cache->lock);
    *info = cache->info;
    pthread_mutex_unlock(&cache->lock);
}
