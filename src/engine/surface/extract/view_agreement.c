/* A pixel's place, judged by what the neighbours of its view see there. */
#include "surface/extract/view_agreement.h"

#include "math/camera.h"

#define BATCH SPLAT_AGREEMENT_BATCH
#define LEAST_COSINE 0.17f /* 80 degrees */
#define MOST_PIXELS 1.0f   /* between a pixel and what another view sees there, seen from the pixel's view */
#define MOST_PART 0.01f    /* of the distance, between a place and what another view sees there */
#define THROUGH 0.02f      /* a view that sees so much farther looks through the place */
#define OPAQUE 128         /* alpha of 1/2: a pixel with less and without depth is sky */
#define SMOOTH 0.02f       /* depths that differ by so much belong to different surfaces */

/* The surface that a view sees at a place of its picture. */
typedef struct sight {
    float depth;
    float opaque; /* least depth around the place of what is not seen through; 0 where that is unknown */
    size_t pixel; /* for normal and colour */
} sight;

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

static int within(int x, int size)
{
    return x < 0 ? 0 : x < size ? x : size - 1;
}

/* At the rim of a surface, and at what is thinner than a pixel: the pixel of the four that is nearest in depth. */
static sight look_at_rim(const splat_view_map *view, const size_t pixels[4], float z)
{
    sight s = {.opaque = INFINITY, .pixel = pixels[0]};
    for (int k = 0; k < 4; k++) {
        float depth = view->depth[pixels[k]];
        if (depth > 0 || view->alpha[pixels[k]] >= OPAQUE) s.opaque = least(depth, s.opaque);
        if (fabsf(depth - z) < fabsf(view->depth[s.pixel] - z)) s.pixel = pixels[k];
    }
    s.depth = view->depth[s.pixel];
    return s;
}

/* At (x, y) of the picture, z from the view: on one surface interpolated between the four pixels around it; those
 * beyond the picture's sides are replaced by those at them. */
static sight look(const splat_view_map *view, float image_x, float image_y, float z)
{
    const splat_camera *camera = &view->camera;
    float u = image_x - 0.5f, v = image_y - 0.5f;
    int x = (int)(u + 1) - 1, y = (int)(v + 1) - 1; /* floor, from -1 on: a function of its own costs more than all */
    size_t top = (size_t)within(y, camera->height) * (size_t)camera->width, left = (size_t)within(x, camera->width);
    size_t below = (size_t)within(y + 1, camera->height) * (size_t)camera->width;
    size_t right = (size_t)within(x + 1, camera->width);
    float a = view->depth[top + left], b = view->depth[top + right], c = view->depth[below + left],
          d = view->depth[below + right];
    float low = least(least(a, b), least(c, d)), high = most(most(a, b), most(c, d));
    if (!(low > 0 && high - low < SMOOTH * low)) {
        const size_t pixels[4] = {top + left, top + right, below + left, below + right};
        return look_at_rim(view, pixels, z);
    }
    u -= (float)x;
    v -= (float)y;
    return (sight){.depth = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v, .opaque = low,
                   .pixel = (v >= 0.5f ? below : top) + (u >= 0.5f ? right : left)};
}

/* Pixels of a view, where they lie, and the sums over those that agree. Work on them is done in loops of one kind each,
 * as what differs from pixel to pixel costs more in branches than in arithmetic. */
typedef struct batch {
    const splat_view_map *view;
    uint32_t n;
    float pixel[2][BATCH], place[3][BATCH], normal[3][BATCH], cosine[BATCH];
    float ray[3][BATCH], baseline2[BATCH]; /* from the view to the place, unit; and the baseline's square */
    float position_sum[3][BATCH], normal_sum[3][BATCH], color_sum[3][BATCH]; /* of positions: from the place */
    uint32_t n_agree[BATCH], n_against[BATCH];
    uint8_t number[BATCH]; /* of the caller's pixel */
} batch;

/* The answers of the current neighbour about the first n of `numbers`. */
typedef struct answers {
    const splat_view_map *other;
    uint32_t n;
    uint8_t numbers[BATCH]; /* in the batch */
    float image[3][BATCH];  /* [number] where the neighbour has the place, and its depth; 0: nowhere */
    float depth[BATCH];     /* [i] what it sees there, and at which pixel */
    size_t pixel[BATCH];
    float seen[3][BATCH];   /* [i] the place of that */
    bool is_near[BATCH];    /* [i] to the pixel that asks */
} answers;

/* splat_camera_project of all, the same to the bit; those that the neighbour's picture has are asked about. */
static void project(const batch *b, answers *s)
{
    const splat_camera *c = &s->other->camera;
    const float *r = c->rotation, width = (float)c->width, height = (float)c->height;
#pragma omp simd
    for (uint32_t i = 0; i < b->n; i++) {
        float d0 = b->place[0][i] - c->center[0], d1 = b->place[1][i] - c->center[1],
              d2 = b->place[2][i] - c->center[2];
        float x = r[0] * d0 + r[1] * d1 + r[2] * d2, y = r[3] * d0 + r[4] * d1 + r[5] * d2;
        float z = r[6] * d0 + r[7] * d1 + r[8] * d2, u = x / z * c->fx + c->cx, v = y / z * c->fy + c->cy;
        bool is_seen = (z > 1e-6f) & (u >= 0) & (v >= 0) & (u < width) & (v < height);
        s->image[0][i] = u;
        s->image[1][i] = v;
        s->image[2][i] = is_seen ? z : 0;
    }
    s->n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        s->numbers[s->n] = (uint8_t)i;
        s->n += s->image[2][i] > 0;
    }
}

/* Loads the neighbour's pixels for all places first, so that memory works ahead. */
static void fetch(const answers *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const splat_view_map *other = s->other;
        int x = (int)(s->image[0][s->numbers[i]] - 0.5f), y = (int)(s->image[1][s->numbers[i]] - 0.5f);
        size_t pixel = splat_view_map_pixel(other, x, y), next = splat_view_map_pixel(other, x, y + 1);
        __builtin_prefetch(other->depth + pixel);
        __builtin_prefetch(other->depth + next);
        __builtin_prefetch(other->alpha + pixel);
        __builtin_prefetch(other->alpha + next);
        __builtin_prefetch(other->normal + 2 * pixel);
        __builtin_prefetch(other->normal + 2 * next);
        __builtin_prefetch(other->rgb + 3 * pixel);
        __builtin_prefetch(other->rgb + 3 * next);
    }
}

/* The depths that the neighbour sees; those that are like the places' remain. */
static void read(batch *b, answers *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t number = s->numbers[i];
        float z = s->image[2][number];
        sight what = look(s->other, s->image[0][number], s->image[1][number], z);
        b->n_against[number] += what.opaque > (1 + THROUGH) * z;
        s->numbers[n] = number;
        s->depth[n] = what.depth;
        s->pixel[n] = what.pixel;
        n += (what.depth > 0) & (fabsf(what.depth - z) < MOST_PART * z);
    }
    s->n = n;
}

/* Projects the surface that the neighbour sees back into the view: splat_camera_unproject and splat_camera_project. */
static void come_back(const batch *b, answers *s)
{
    const splat_camera *from = &s->other->camera, *to = &b->view->camera;
    const float *a = from->rotation, *r = to->rotation;
    float image[2][BATCH], pixel[2][BATCH];
    for (uint32_t i = 0; i < s->n; i++)
        for (int k = 0; k < 2; k++) {
            image[k][i] = s->image[k][s->numbers[i]];
            pixel[k][i] = b->pixel[k][s->numbers[i]];
        }
#pragma omp simd
    for (uint32_t i = 0; i < s->n; i++) {
        float l2 = s->depth[i], l0 = (image[0][i] - from->cx) / from->fx * l2,
              l1 = (image[1][i] - from->cy) / from->fy * l2;
        float p0 = from->center[0] + (a[0] * l0 + a[3] * l1 + a[6] * l2);
        float p1 = from->center[1] + (a[1] * l0 + a[4] * l1 + a[7] * l2);
        float p2 = from->center[2] + (a[2] * l0 + a[5] * l1 + a[8] * l2);
        float d0 = p0 - to->center[0], d1 = p1 - to->center[1], d2 = p2 - to->center[2];
        float x = r[0] * d0 + r[1] * d1 + r[2] * d2, y = r[3] * d0 + r[4] * d1 + r[5] * d2;
        float z = r[6] * d0 + r[7] * d1 + r[8] * d2, u = x / z * to->fx + to->cx, v = y / z * to->fy + to->cy;
        float dx = u - pixel[0][i], dy = v - pixel[1][i];
        s->seen[0][i] = p0;
        s->seen[1][i] = p1;
        s->seen[2][i] = p2;
        s->is_near[i] = (z > 1e-6f) & (dx * dx + dy * dy < MOST_PIXELS * MOST_PIXELS);
    }
}

static void add(batch *b, const answers *s)
{
    const float *own = b->view->camera.center, *center = s->other->camera.center;
    const float apart[3] = {center[0] - own[0], center[1] - own[1], center[2] - own[2]};
    const float apart2 = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t number = s->numbers[i];
        float normal[3];
        if (!s->is_near[i]) continue;
        splat_normal_decode(s->other->normal + 2 * s->pixel[i], normal);
        if (!(normal[0] * b->normal[0][number] + normal[1] * b->normal[1][number] + normal[2] * b->normal[2][number] >
              0))
            continue;
        for (int k = 0; k < 3; k++) {
            b->position_sum[k][number] += s->seen[k][i] - b->place[k][number];
            b->normal_sum[k][number] += normal[k];
            b->color_sum[k][number] += (float)s->other->rgb[3 * s->pixel[i] + (size_t)k];
        }
        float along = apart[0] * b->ray[0][number] + apart[1] * b->ray[1][number] + apart[2] * b->ray[2][number];
        b->baseline2[number] = most(b->baseline2[number], apart2 - along * along);
        b->n_agree[number]++;
    }
}

/* Adds a pixel to the batch. False where the view says too little of it. */
static bool begin(batch *b, size_t pixel)
{
    const splat_view_map *view = b->view;
    const splat_camera *camera = &view->camera;
    float z = view->depth[pixel], place[3], normal[3], toward = 0, length = 0;
    const float x = (float)(pixel % (size_t)camera->width) + 0.5f, y = (float)(pixel / (size_t)camera->width) + 0.5f;
    uint32_t i = b->n;
    if (!(z > 0)) return false;
    splat_camera_unproject(camera, x, y, z, place);
    splat_normal_decode(view->normal + 2 * pixel, normal);
    for (int k = 0; k < 3; k++) {
        float offset = camera->center[k] - place[k];
        toward += offset * normal[k];
        length += offset * offset;
    }
    b->cosine[i] = toward / sqrtf(length);
    if (!(b->cosine[i] > LEAST_COSINE)) return false;
    for (int k = 0; k < 3; k++) {
        b->place[k][i] = place[k];
        b->normal[k][i] = b->normal_sum[k][i] = normal[k];
        b->color_sum[k][i] = (float)view->rgb[3 * pixel + (size_t)k];
        b->position_sum[k][i] = 0;
        b->ray[k][i] = (place[k] - camera->center[k]) / sqrtf(length);
    }
    b->baseline2[i] = 0;
    b->pixel[0][i] = x;
    b->pixel[1][i] = y;
    b->n_agree[i] = b->n_against[i] = 0;
    b->n++;
    return true;
}

/* From sums to means. */
static void finish(const batch *b, uint32_t i, splat_agreement *a)
{
    float n = 1 + (float)b->n_agree[i], square = 0;
    for (int k = 0; k < 3; k++) square += b->normal_sum[k][i] * b->normal_sum[k][i];
    float norm = sqrtf(square); /* not 0: all lie on one side of the first */
    for (int k = 0; k < 3; k++) {
        a->position[k] = b->place[k][i] + b->position_sum[k][i] / n;
        a->normal[k] = b->normal_sum[k][i] / norm;
        a->color[k] = b->color_sum[k][i] / n;
    }
    a->cosine = b->cosine[i];
    a->baseline = sqrtf(b->baseline2[i]);
    a->n_agree = b->n_agree[i];
    a->n_against = b->n_against[i];
}

static void begin_answers(const batch *b, const splat_view_map *other, answers *s)
{
    s->other = other;
    project(b, s);
    fetch(s);
}

static void end_answers(batch *b, answers *s)
{
    read(b, s);
    come_back(b, s);
    add(b, s);
}

void splat_view_agreements(const splat_view_maps *maps, size_t v, size_t first, size_t step, size_t n,
                           splat_agreement *agreements, uint8_t *is_said)
{
    batch b;
    answers two[2]; /* while those of one neighbour are read, those of the next come from memory */
    b.view = &maps->views[v];
    b.n = 0;
    for (size_t i = 0; i < n; i++) {
        b.number[b.n] = (uint8_t)i;
        is_said[i] = begin(&b, first + i * step);
    }
    uint32_t n_neighbors = b.n > 0 ? b.view->n_neighbors : 0;
    for (uint32_t k = 0; k <= n_neighbors; k++) {
        if (k < n_neighbors) begin_answers(&b, &maps->views[b.view->neighbors[k]], &two[k % 2]);
        if (k > 0) end_answers(&b, &two[(k - 1) % 2]);
    }
    for (uint32_t i = 0; i < b.n; i++) finish(&b, i, &agreements[b.number[i]]);
}

void splat_view_maps_mark_agreed(splat_view_maps *maps, int threads)
{
    for (size_t v = 0; v < maps->n; v++) {
        splat_view_map *map = &maps->views[v];
        size_t n = splat_camera_pixels(&map->camera);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (size_t first = 0; first < n; first += BATCH) {
            splat_agreement a[BATCH];
            uint8_t is_said[BATCH];
            size_t n_asked = n - first < BATCH ? n - first : BATCH;
            splat_view_agreements(maps, v, first, 1, n_asked, a, is_said);
            for (size_t i = 0; i < n_asked; i++) {
                uint8_t *state = &map->state[first + i];
                if (*state != SPLAT_PIXEL_SILENT && *state != SPLAT_PIXEL_AGREED) continue;
                bool holds = is_said[i] && splat_agreement_holds(&a[i], map->n_neighbors);
                *state = holds ? SPLAT_PIXEL_AGREED : SPLAT_PIXEL_SILENT;
            }
        }
    }
}
