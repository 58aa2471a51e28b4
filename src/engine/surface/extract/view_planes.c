/* All views agree on the bumps that a splat has where views look at a grazing angle, such as the far end of a lawn. So
 * the photos are asked: op match puts a patch of the view onto the neighbours by the splat's depth, and by each plane
 * near it, and compares the costs. The sites around a site have a say, too. */
#include "surface/extract/view_planes.h"

#include "math/camera.h"
#include "math/sight.h"
#include "surface/planes/plane_shade.h"

#include <math.h>
#include <stdlib.h>

#define STRIDE 3u        /* pixels from a site to the next */
#define CANDIDATES 3     /* planes that a site may lie on */
#define NEAR 0.06f       /* of the depth: a plane passes so near to the splat's place, */
#define ALONG 0.25f      /* and its inverse depth differs by such a part */
#define AROUND 2         /* sites on each side whose costs count */
#define LEAST_AROUND 6u  /* sites with a cost */
#define FARTHER 4.0f     /* times how far off a plane is, as a part of the depth: its cost must be so much lower, beyond
                            SPLAT_MATCH_GAIN, as photos hardly tell a plane from what is a hundredth of the depth off */
#define MOST_COST 1.0f   /* that of no correlation */
#define NONE UINT16_MAX

/* A plane as a camera sees it: inverse depth q[0] + q[1] x + q[2] y at (x, y) of its picture, 0 behind the plane; the
 * distance of the camera from it. */
typedef struct seen_plane {
    double q[3], distance;
} seen_plane;

/* A view, its sites and their candidates. */
typedef struct asker {
    splat_view_maps *maps;
    splat_view_map *map;
    size_t number; /* of the view */
    const splat_plane *planes;
    seen_plane *seen; /* [n_planes] */
    size_t n_planes, columns, rows;
    uint16_t *candidates; /* [CANDIDATES][sites] planes, or NONE */
    float *costs;         /* [1 + CANDIDATES][sites] of the splat's depth and of the candidates; INFINITY: none */
    uint16_t *chosen;     /* [sites] */
} asker;

static bool is_asked(const splat_view_map *map, size_t pixel)
{
    const uint8_t state = map->state[pixel];
    return (state == SPLAT_PIXEL_SILENT || state == SPLAT_PIXEL_AGREED) && map->depth[pixel] > 0;
}

static size_t pixel_of(const asker *a, size_t site)
{
    return splat_match_site_pixel(a->map->camera.width, STRIDE, a->columns, site);
}

static seen_plane see(const splat_camera *c, const splat_plane *plane)
{
    double own[3] = {0}, distance = -plane->offset;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) own[k] -= (double)c->rotation[3 * k + i] * plane->normal[i];
        distance += plane->normal[k] * (double)c->center[k];
    }
    if (!(distance > 0)) return (seen_plane){.distance = 1};
    const double right = own[0] / (double)c->fx / distance, down = own[1] / (double)c->fy / distance;
    return (seen_plane){{own[2] / distance - right * (double)c->cx - down * (double)c->cy, right, down}, distance};
}

/* The plane at a pixel, as of op match. False: the pixel sees nothing of it. */
static bool put(const splat_camera *c, const seen_plane *plane, size_t pixel, float slant[3])
{
    const double x = (double)(pixel % (size_t)c->width) + 0.5, y = (double)(pixel / (size_t)c->width) + 0.5;
    slant[0] = (float)(plane->q[0] + plane->q[1] * x + plane->q[2] * y);
    slant[1] = (float)plane->q[1];
    slant[2] = (float)plane->q[2];
    return slant[0] > 0;
}

/* True if a plane passes near to what a pixel shows. *off: how near, as a part of the depth. */
static bool is_near(const splat_view_map *map, const seen_plane *plane, size_t pixel, float slant[3], float *off)
{
    const float depth = map->depth[pixel];
    if (!put(&map->camera, plane, pixel, slant) || !(fabsf(slant[0] * depth - 1) < ALONG)) return false;
    *off = fabsf(slant[0] * depth - 1) * (float)plane->distance / depth;
    return *off < NEAR;
}

/* The planes that pass nearest to what a site shows. */
static void list_candidates(asker *a, size_t site)
{
    const size_t n = a->columns * a->rows, pixel = pixel_of(a, site);
    float best[CANDIDATES], slant[3], off;
    for (size_t k = 0; k < CANDIDATES; k++) a->candidates[k * n + site] = NONE;
    for (size_t i = 0; i < a->n_planes && is_asked(a->map, pixel); i++) {
        size_t at = CANDIDATES;
        if (!is_near(a->map, &a->seen[i], pixel, slant, &off)) continue;
        while (at > 0 && (a->candidates[(at - 1) * n + site] == NONE || best[at - 1] > off)) at--;
        for (size_t k = CANDIDATES; k-- > at + 1;) {
            a->candidates[k * n + site] = a->candidates[(k - 1) * n + site];
            best[k] = best[k - 1];
        }
        if (at == CANDIDATES) continue;
        a->candidates[at * n + site] = (uint16_t)i;
        best[at] = off;
    }
}

/* The splat's depth and normal at a site, as of op match. */
static void put_own(const splat_view_map *map, size_t pixel, float slant[3])
{
    plane_slant own;
    if (!plane_shade_slant_of_map(map, pixel, &own)) own = (plane_slant){.q = 1 / map->depth[pixel]};
    slant[0] = own.q;
    slant[1] = own.right;
    slant[2] = own.down;
}

/* Costs of one hypothesis of all sites: of their own depth, k = 0, or of candidate k - 1. */
static splat_status ask(asker *a, splat_photo_matcher *photos, size_t k, int threads, splat_error *error)
{
    const size_t n = a->columns * a->rows;
    size_t n_asked = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n_asked)
    for (size_t i = 0; i < n; i++) {
        const uint16_t candidate = a->candidates[(k ? k - 1 : 0) * n + i];
        float *slant = photos->first[i];
        slant[0] = slant[1] = slant[2] = 0;
        if (candidate == NONE) continue;
        if (k == 0) put_own(a->map, pixel_of(a, i), slant);
        else put(&a->map->camera, &a->seen[candidate], pixel_of(a, i), slant);
        n_asked++;
    }
    if (n_asked)
        SPLAT_TRY(splat_photo_matcher_ask(photos, a->number, a->map->neighbors, a->map->n_neighbors, STRIDE,
                                          a->costs + k * n, error));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < n; i++)
        if (a->candidates[(k ? k - 1 : 0) * n + i] == NONE) a->costs[k * n + i] = INFINITY;
    return SPLAT_OK;
}

/* How much worse a plane is than the splat's depth, in the mean of the sites around; INFINITY: too few tell. */
static float worse(const asker *a, size_t site, uint16_t plane)
{
    const size_t n = a->columns * a->rows, x = site % a->columns, y = site / a->columns;
    uint32_t n_costs = 0;
    float sum = 0;
    for (size_t j = y > AROUND ? y - AROUND : 0; j <= y + AROUND && j < a->rows; j++)
        for (size_t i = x > AROUND ? x - AROUND : 0; i <= x + AROUND && i < a->columns; i++) {
            const size_t at = j * a->columns + i;
            for (size_t k = 0; k < CANDIDATES && a->candidates[k * n + at] != NONE; k++) {
                const float cost = a->costs[(k + 1) * n + at], own = a->costs[at];
                if (a->candidates[k * n + at] != plane || cost >= SPLAT_MATCH_DUMB || own >= SPLAT_MATCH_DUMB) continue;
                sum += fminf(cost, MOST_COST) - fminf(own, MOST_COST);
                n_costs++;
            }
        }
    return n_costs < LEAST_AROUND ? INFINITY : sum / (float)n_costs;
}

/* True if the neighbours that see a place are all too near to the view for its depth, and the view sees the plane there
 * at no flat angle: the plane of a facade passes near everything along the street. */
static bool is_far(const asker *a, const seen_plane *plane, size_t pixel, const float slant[3])
{
    const splat_view_map *map = &a->maps->views[a->number];
    const size_t width = (size_t)map->camera.width;
    float place[3], sight[3], image[3], own = 0;
    uint32_t n = 0;
    splat_camera_unproject(&map->camera, (float)(pixel % width) + 0.5f, (float)(pixel / width) + 0.5f, 1 / slant[0],
                           place);
    for (int k = 0; k < 3; k++) {
        sight[k] = place[k] - map->camera.center[k];
        own += sight[k] * sight[k];
    }
    if ((float)plane->distance < SPLAT_AGREE_FLAT_COSINE * sqrtf(own)) return false;
    for (uint32_t i = 0; i < map->n_neighbors; i++) {
        const splat_camera *other = &a->maps->views[map->neighbors[i]].camera;
        float dot = 0, square = 0;
        if (!splat_camera_project(other, place, image)) continue;
        for (int k = 0; k < 3; k++) {
            const float d = place[k] - other->center[k];
            dot += d * sight[k];
            square += d * d;
        }
        if (dot < SPLAT_MATCH_MOST_COSINE * sqrtf(own * square)) return false;
        n++;
    }
    return n > 0;
}

/* The plane that costs least; of those too far for photos to tell, the nearest. */
static void choose(asker *a, size_t site)
{
    const size_t n = a->columns * a->rows, pixel = pixel_of(a, site);
    float least = -SPLAT_MATCH_GAIN;
    bool is_told = false; /* by photos */
    a->chosen[site] = NONE;
    for (size_t k = CANDIDATES; k-- > 0;) {
        const uint16_t plane = a->candidates[k * n + site];
        float slant[3], off;
        if (plane == NONE || !is_near(a->map, &a->seen[plane], pixel, slant, &off)) continue;
        const float cost = worse(a, site, plane) + FARTHER * off;
        if (cost < least) {
            least = cost;
            is_told = true;
            a->chosen[site] = plane;
        } else if (!is_told && cost == INFINITY && is_far(a, &a->seen[plane], pixel, slant)) {
            a->chosen[site] = plane;
        }
    }
}

/* Puts the pixels around a site onto its plane. */
static uint64_t set(const asker *a, size_t site)
{
    const seen_plane *seen = &a->seen[a->chosen[site]];
    const splat_plane *plane = &a->planes[a->chosen[site]];
    const size_t width = (size_t)a->map->camera.width, height = (size_t)a->map->camera.height;
    const size_t left = site % a->columns * STRIDE, top = site / a->columns * STRIDE;
    const float normal[3] = {(float)plane->normal[0], (float)plane->normal[1], (float)plane->normal[2]};
    uint64_t n_taken = 0;
    for (size_t y = top; y < top + STRIDE && y < height; y++)
        for (size_t x = left; x < left + STRIDE && x < width; x++) {
            const size_t pixel = y * width + x;
            float slant[3], off;
            if (!is_asked(a->map, pixel) || !is_near(a->map, seen, pixel, slant, &off)) continue;
            a->map->depth[pixel] = 1 / slant[0];
            a->map->state[pixel] = SPLAT_PIXEL_FITTED;
            splat_normal_encode(normal, a->map->normal + 2 * pixel);
            n_taken++;
        }
    return n_taken;
}

static splat_status take(asker *a, splat_photo_matcher *photos, int threads, uint64_t *n_taken, splat_error *error)
{
    const size_t n = a->columns * a->rows;
    uint64_t sum = 0;
    for (size_t i = 0; i < a->n_planes; i++) a->seen[i] = see(&a->map->camera, &a->planes[i]);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (size_t i = 0; i < n; i++) list_candidates(a, i);
    for (size_t k = 0; k <= CANDIDATES; k++) SPLAT_TRY(ask(a, photos, k, threads, error));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (size_t i = 0; i < n; i++) choose(a, i);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        if (a->chosen[i] != NONE) sum += set(a, i);
    splat_photo_matcher_forget(photos, a->number);
    *n_taken += sum;
    return SPLAT_OK;
}

splat_status splat_view_planes_take(splat_photo_matcher *photos, splat_view_maps *maps, size_t number,
                                    const splat_plane *planes, size_t n, int threads, uint64_t *n_taken,
                                    splat_error *error)
{
    splat_view_map *map = &maps->views[number];
    asker a = {.maps = maps, .map = map, .number = number, .planes = planes, .n_planes = n,
               .columns = splat_match_sites(map->camera.width, STRIDE),
               .rows = splat_match_sites(map->camera.height, STRIDE)};
    const size_t n_sites = a.columns * a.rows;
    if (n_sites == 0 || n == 0) return SPLAT_OK;
    a.seen = malloc(n * sizeof *a.seen);
    a.candidates = malloc(CANDIDATES * n_sites * sizeof *a.candidates);
    a.costs = malloc((1 + CANDIDATES) * n_sites * sizeof *a.costs);
    a.chosen = malloc(n_sites * sizeof *a.chosen);
    splat_status status = a.seen && a.candidates && a.costs && a.chosen
                              ? take(&a, photos, threads, n_taken, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu places of a photo", n_sites);
    free(a.seen);
    free(a.candidates);
    free(a.costs);
    free(a.chosen);
    return status;
}
