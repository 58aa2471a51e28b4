/* Decoded photos, uint8 RGB (and mask) at the loaded resolution, in a cache bounded in bytes (least recently used goes
 * first), with worker threads that decode ahead. Host memory does not grow with the number of photos. Thread-safe. */
#ifndef SPLAT_SCENE_IMAGE_CACHE_H
#define SPLAT_SCENE_IMAGE_CACHE_H

#include "base/host_memory.h"
#include "scene/dataset.h"
#include "scene/shared_photos.h"

typedef struct splat_image_cache splat_image_cache;

/* max_bytes bounds what is kept; pictures in use and one being decoded by each worker come on top. workers >= 0. What
 * is held is counted in host_memory. */
splat_status splat_image_cache_create(const splat_dataset *dataset, size_t max_bytes, int workers,
                                      splat_host_memory *host_memory, splat_image_cache **cache, splat_error *error);
void splat_image_cache_destroy(splat_image_cache *cache);
/* The photo of a view, decoded now or earlier: uint8_t[height][width][3], then its mask and its depths where the view
 * has them (splat_view_mask, splat_view_depth), read-only, valid until the matching release. */
splat_status splat_image_cache_acquire(splat_image_cache *cache, size_t view, const uint8_t **rgb, splat_error *error);
void splat_image_cache_release(splat_image_cache *cache, size_t view);
/* From now on photos that were not decoded yet are decoded where other processes have them, too, and stay there. Takes
 * `photos`, which goes with the cache. Before threads use the cache. */
void splat_image_cache_share(splat_image_cache *cache, splat_shared_photos *photos);
size_t splat_image_cache_max_bytes(const splat_image_cache *cache);
/* The pixels that the mask of a view keeps, all of them without one; decodes the photo when it never was. view <
 * n_views. */
splat_status splat_image_cache_count_kept(splat_image_cache *cache, size_t view, uint32_t *n_kept, splat_error *error);
/* Asks the workers to decode a view soon; never blocks, never fails (a bad photo is reported by acquire). */
void splat_image_cache_prefetch(splat_image_cache *cache, size_t view);

typedef struct splat_image_cache_info { size_t bytes, peak_bytes, n_hits, n_misses, n_evicted; } splat_image_cache_info;
void splat_image_cache_get_info(splat_image_cache *cache, splat_image_cache_info *info);

#endif
