/* A pixel's place, judged by what the neighbours of its view see there. */
#include "sugar/extract/view_agreement.h"

#define LEAST_COSINE 0.17f /* 80 degrees */
#define MOST_PIXELS 1.0f   /* between a pixel and what another view sees there, seen from the pixel's view */
#define MOST_PART 0.01f    /* of the distance, between a place and what another view sees there */
#define THROUGH 0.02f      /* a view that sees so much farther looks through the place */
#define OPAQUE 128         /* alpha of 1/2: a pixel with less and without depth is sky */
#define SMOOTH 0.02f       /* depths that differ by so much belong to different surfaces */

/* The four pixels around a place of a picture, those beyond its rim replaced by those at it. */
typedef struct corners {
    size_t pixel[4];
    float depth[4], x, y; /* x, y: from the first, 0 to 1 */
    size_t nearest;       /* of the four, in the picture */
    float low, high;      /* of the depths */
    float opaque;         /* least depth of those that are not seen through; 0 where that is unknown */
} corners;

static corners look_around(const splat_view_map *view, const float image[3])
{
    float u = image[0] - 0.5f, v = image[1] - 0.5f;
    int x = (int)(u + 1) - 1, y = (int)(v + 1) - 1; /* floor, from -1 on: a function of its own costs more than all */
    corners c = {.x = u - (float)x, .y = v - (float)y, .low = INFINITY, .opaque = INFINITY};
    for (int k = 0; k < 4; k++) {
        c.pixel[k] = splat_view_map_pixel(view, x + (k & 1), y + (k >> 1));
        c.depth[k] = view->depth[c.pixel[k]];
        c.low = c.depth[k] < c.low ? c.depth[k] : c.low;
        c.high = c.depth[k] > c.high ? c.depth[k] : c.high;
        bool is_opaque = c.depth[k] > 0 || view->alpha[c.pixel[k]] >= OPAQUE;
        c.opaque = is_opaque && c.depth[k] < c.opaque ? c.depth[k] : c.opaque;
    }
    c.nearest = (size_t)((c.x >= 0.5f) + 2 * (c.y >= 0.5f));
    return c;
}

/* The depth that the view sees at the place: interpolated on one surface; at the rim of one, and at what is thinner
 * than a pixel, that of the pixel of the four that is nearest in depth. *at: the pixel for normal and colour. */
static float read_depth(const corners *c, float z, size_t *at)
{
    if (c->low > 0 && c->high - c->low < SMOOTH * c->low) {
        *at = c->nearest;
        return (c->depth[0] * (1 - c->x) + c->depth[1] * c->x) * (1 - c->y) +
               (c->depth[2] * (1 - c->x) + c->depth[3] * c->x) * c->y;
    }
    *at = 0;
    for (size_t k = 1; k < 4; k++)
        if (fabsf(c->depth[k] - z) < fabsf(c->depth[*at] - z)) *at = k;
    return c->depth[*at];
}

/* What `ask` reads of a neighbour comes from memory while the other neighbours are looked at. */
static void fetch(const splat_view_map *other, const float image[3])
{
    int x = (int)(image[0] - 0.5f), y = (int)(image[1] - 0.5f);
    size_t pixel = splat_view_map_pixel(other, x, y), next = splat_view_map_pixel(other, x, y + 1);
    __builtin_prefetch(other->depth + pixel);
    __builtin_prefetch(other->depth + next);
    __builtin_prefetch(other->normal + 2 * pixel);
    __builtin_prefetch(other->alpha + pixel);
    __builtin_prefetch(other->rgb + 3 * pixel);
}

/* One neighbour's word. image: the place in its picture. */
static void ask(const splat_view_map *view, const splat_view_map *other, const float place[3], const float image[3],
                const float pixel[2], const float normal[3], splat_agreement *a)
{
    float back[3] = {INFINITY, INFINITY, 0}, seen[3], its_normal[3];
    size_t at;
    corners c = look_around(other, image);
    float z = image[2], depth = read_depth(&c, z, &at);
    if (c.opaque > (1 + THROUGH) * z) a->n_against++;
    if (!(depth > 0 && fabsf(depth - z) < MOST_PART * z)) return;
    splat_camera_unproject(&other->camera, image[0], image[1], depth, seen);
    splat_camera_project(&view->camera, seen, back);
    float dx = back[0] - pixel[0], dy = back[1] - pixel[1];
    if (!(dx * dx + dy * dy < MOST_PIXELS * MOST_PIXELS)) return;
    splat_normal_decode(other->normal + 2 * c.pixel[at], its_normal);
    if (!(its_normal[0] * normal[0] + its_normal[1] * normal[1] + its_normal[2] * normal[2] > 0)) return;
    for (int k = 0; k < 3; k++) {
        a->position[k] += seen[k] - place[k];
        a->normal[k] += its_normal[k];
        a->color[k] += (float)other->rgb[3 * c.pixel[at] + (size_t)k];
    }
    a->n_agree++;
}

bool splat_view_agreement(const splat_view_maps *maps, size_t v, size_t pixel, splat_agreement *a)
{
    const splat_view_map *view = &maps->views[v];
    const splat_camera *camera = &view->camera;
    float z = view->depth[pixel], place[3], normal[3], toward = 0, length = 0;
    const float at[2] = {(float)(pixel % (size_t)camera->width) + 0.5f, (float)(pixel / (size_t)camera->width) + 0.5f};
    if (!(z > 0)) return false;
    splat_camera_unproject(camera, at[0], at[1], z, place);
    splat_normal_decode(view->normal + 2 * pixel, normal);
    for (int k = 0; k < 3; k++) {
        float offset = camera->center[k] - place[k];
        toward += offset * normal[k];
        length += offset * offset;
    }
    *a = (splat_agreement){.cosine = toward / sqrtf(length)};
    if (!(a->cosine > LEAST_COSINE)) return false;
    for (int k = 0; k < 3; k++) {
        a->normal[k] = normal[k];
        a->color[k] = (float)view->rgb[3 * pixel + (size_t)k];
    }
    float images[SPLAT_VIEW_NEIGHBORS][3];
    uint32_t looking[SPLAT_VIEW_NEIGHBORS], n_looking = 0;
    for (uint32_t i = 0; i < view->n_neighbors; i++) {
        const splat_view_map *other = &maps->views[view->neighbors[i]];
        if (!splat_camera_project(&other->camera, place, images[n_looking])) continue;
        fetch(other, images[n_looking]);
        looking[n_looking++] = view->neighbors[i];
    }
    for (uint32_t i = 0; i < n_looking; i++)
        ask(view, &maps->views[looking[i]], place, images[i], at, normal, a);
    float n = 1 + (float)a->n_agree;
    float norm = sqrtf(a->normal[0] * a->normal[0] + a->normal[1] * a->normal[1] + a->normal[2] * a->normal[2]);
    for (int k = 0; k < 3; k++) {
        a->position[k] = place[k] + a->position[k] / n;
        a->normal[k] /= norm; /* not 0: all lie on one side of the first */
        a->color[k] /= n;
    }
    return true;
}
