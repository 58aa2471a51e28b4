/* Small photos, and their residual on a hypothesis of a surface. */
#include "surface/planes/plane_shade.h"

#include "surface/planes/plane_levels.h"
#include "surface/planes/plane_parts.h"

#include "math/camera.h"
#include "math/scatter.h"

#include <math.h>
#include <stdlib.h>

#define SMALL_SIDE 180    /* pixels of the longer side of a small photo, about */
#define WINDOW 1          /* samples on each side of the middle, both ways */
#define SPACING 3.0f      /* pixels of the small photo between samples */
#define LEAST_SAMPLES 2   /* of a window */
#define LEAST_COSINE 0.3f /* 60 degrees */
#define LEAST_ASKED 64u   /* views that say how a place looks, if there are so many; half of them miss half a vault */
#define BEST_PART 0.6f    /* of the views: others may be hidden, or show gloss */
#define DARK 8.0f         /* levels between these tell how bright a photo is */
#define BRIGHT 247.0f

int plane_shade_side(const splat_camera *camera)
{
    int longer = camera->width > camera->height ? camera->width : camera->height;
    int side = (longer + SMALL_SIDE / 2) / SMALL_SIDE;
    return side > 1 ? side : 1;
}

static int clamp(int x, int n)
{
    return x < 0 ? 0 : x >= n ? n - 1 : x;
}

/* Binomial weights 1 4 6 4 1 along n numbers, `step` apart. */
static void blur(const float *from, float *to, int n, size_t step)
{
    for (int i = 0; i < n; i++)
        to[(size_t)i * step] = (6 * from[(size_t)i * step] +
                                4 * (from[(size_t)clamp(i - 1, n) * step] + from[(size_t)clamp(i + 1, n) * step]) +
                                from[(size_t)clamp(i - 2, n) * step] + from[(size_t)clamp(i + 2, n) * step]) / 16;
}

splat_status plane_shade_make(const splat_camera *camera, const uint8_t *rgb, plane_view *view, splat_error *error)
{
    int side = plane_shade_side(camera), width = camera->width / side, height = camera->height / side;
    if (width < 1) width = 1;
    if (height < 1) height = 1;
    size_t n = (size_t)width * (size_t)height;
    float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    view->shade = calloc(4 * n, sizeof *view->shade);
    if (!a || !b || !view->shade) {
        free(a);
        free(b);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo of %d x %d", width, height);
    }
    for (size_t k = 0; k < 3; k++) {
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                uint32_t sum = 0, count = 0;
                for (int j = y * side; j < (y + 1) * side && j < camera->height; j++)
                    for (int i = x * side; i < (x + 1) * side && i < camera->width; i++, count++)
                        sum += rgb[3 * ((size_t)j * (size_t)camera->width + (size_t)i) + k];
                a[(size_t)y * (size_t)width + (size_t)x] = (float)sum / (float)count;
            }
        for (int y = 0; y < height; y++) blur(a + (size_t)y * (size_t)width, b + (size_t)y * (size_t)width, width, 1);
        for (int x = 0; x < width; x++) blur(b + x, a + x, height, (size_t)width);
        for (size_t i = 0; i < n; i++) view->shade[(k + 1) * n + i] = (uint16_t)(a[i] * PLANE_SHADE_LEVEL + 0.5f);
    }
    view->shade_width = width;
    view->shade_height = height;
    view->shade_side = side;
    free(a);
    free(b);
    return SPLAT_OK;
}

/* The pixel in the middle of each pixel of the small photo. */
splat_status plane_shade_hide(const splat_view_map *map, plane_view *view, splat_error *error)
{
    const size_t width = (size_t)view->shade_width, n = width * (size_t)view->shade_height;
    const size_t side = (size_t)view->shade_side, map_width = (size_t)map->camera.width;
    view->hiding = malloc(n * sizeof *view->hiding);
    if (!view->hiding) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for depths of %zu pixels", n);
    for (size_t i = 0; i < n; i++) { /* a map may be narrower than one pixel of the small photo */
        const size_t x = (size_t)clamp((int)(i % width * side + side / 2), map->camera.width);
        const size_t y = (size_t)clamp((int)(i / width * side + side / 2), map->camera.height);
        const size_t p = y * map_width + x;
        view->hiding[i] = view->labels[p] ? 0 : map->depth[p];
    }
    return SPLAT_OK;
}

void plane_shade_even(plane_view *view, const float gains[3])
{
    size_t n = (size_t)view->shade_width * (size_t)view->shade_height;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t k = 0; k < 3; k++) sum += gains[k] * (float)view->shade[(k + 1) * n + i];
        view->shade[i] = (uint16_t)fminf(sum / 3 + 0.5f, UINT16_MAX);
    }
}

bool plane_shade_slant(const splat_camera *c, const plane_fit *fit, float x, float y, plane_slant *slant)
{
    double ray[3], distance = plane_distance_of_camera(c, fit), along = 0, right = 0, down = 0;
    if (!plane_faces(c, fit)) return false;
    plane_ray(c, (double)x, (double)y, ray);
    for (int k = 0; k < 3; k++) {
        along += fit->normal[k] * ray[k];
        right += fit->normal[k] * (double)c->rotation[k] / (double)c->fx;
        down += fit->normal[k] * (double)c->rotation[3 + k] / (double)c->fy;
    }
    *slant = (plane_slant){(float)(along / distance), (float)(right / distance), (float)(down / distance)};
    return slant->q > 1e-9f && slant->q < 1e6f;
}

bool plane_shade_slant_of_map(const splat_view_map *map, size_t pixel, plane_slant *slant)
{
    const splat_camera *c = &map->camera;
    float normal[3], place[3], z = map->depth[pixel];
    plane_fit fit = {0};
    if (!(z > 0)) return false;
    float x = (float)(pixel % (size_t)c->width) + 0.5f, y = (float)(pixel / (size_t)c->width) + 0.5f;
    splat_normal_decode(map->normal + 2 * pixel, normal);
    splat_camera_unproject(c, x, y, z, place);
    for (int k = 0; k < 3; k++) {
        fit.normal[k] = (double)normal[k];
        fit.offset += (double)normal[k] * (double)place[k];
    }
    return plane_shade_slant(c, &fit, x, y, slant);
}

void plane_shade_normal(const splat_camera *c, const plane_slant *slant, float x, float y, float normal[3])
{
    float a = slant->right * c->fx, b = slant->down * c->fy;
    const float local[3] = {-a, -b, -(slant->q - slant->right * (x - c->cx) - slant->down * (y - c->cy))};
    float length = sqrtf(local[0] * local[0] + local[1] * local[1] + local[2] * local[2]);
    for (int k = 0; k < 3; k++)
        normal[k] = (c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] + c->rotation[6 + k] * local[2]) /
                    length;
}

static bool sees(const plane_shade *shade, uint32_t v, const float place[3], const float normal[3])
{
    const splat_view_map *map = &shade->maps->views[v];
    float image[3], toward = 0, length = 0;
    for (int k = 0; k < 3; k++) {
        float d = map->camera.center[k] - place[k];
        toward += d * normal[k];
        length += d * d;
    }
    if (!(toward > 0 && toward * toward > LEAST_COSINE * LEAST_COSINE * length)) return false;
    if (!splat_camera_project(&map->camera, place, image)) return false;
    return plane_levels_is_clear(&shade->views[v], image);
}

/* From a view that is asked to the next. */
static uint32_t step_between(uint32_t n_views)
{
    return n_views < LEAST_ASKED ? 1 : n_views / LEAST_ASKED;
}

void plane_shade_look(const plane_shade *shade, const plane_slant *slant, plane_site *site)
{
    const splat_camera *c = &shade->maps->views[site->view].camera;
    const uint32_t n_views = (uint32_t)shade->maps->n, step = step_between(n_views);
    uint32_t n = 0, seeing[2 * LEAST_ASKED];
    float place[3], normal[3];
    splat_camera_unproject(c, site->x, site->y, 1 / slant->q, place);
    plane_shade_normal(c, slant, site->x, site->y, normal);
    for (uint32_t v = site->view % step; v < n_views; v += step)
        if (v != site->view && sees(shade, v, place, normal)) seeing[n++] = v;
    const uint32_t most = PLANE_SHADE_VIEWS - 1;
    site->views[0] = site->view;
    site->n_views = 1;
    if (n <= most)
        for (uint32_t i = 0; i < n; i++) site->views[site->n_views++] = seeing[i];
    else
        for (uint32_t i = 0; i < most; i++) site->views[site->n_views++] = seeing[(uint64_t)i * n / most];
}

static float median_of(const float *sorted, uint32_t n)
{
    return n % 2 ? sorted[n / 2] : 0.5f * (sorted[n / 2 - 1] + sorted[n / 2]);
}

float plane_shade_median(float *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        float value = values[i];
        uint32_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
    return median_of(values, n);
}

/* Mean deviation of the best part of a place's sorted levels from their median. */
static float spread(const plane_levels *levels, uint32_t place)
{
    const uint32_t n = levels->counts[place], keep = (uint32_t)ceilf(BEST_PART * (float)n);
    uint32_t low = 0, high = n;
    float values[PLANE_SHADE_VIEWS], sum = 0;
    for (uint32_t i = 0; i < n; i++) values[i] = levels->values[i][place];
    const float median = median_of(values, n);
    while (high - low > keep) {
        const bool is_low = median - values[low] > values[high - 1] - median;
        low += is_low;
        high -= !is_low;
    }
    for (uint32_t i = low; i < high; i++) sum += fabsf(values[i] - median);
    return sum / (float)keep;
}

float plane_shade_residual(const plane_shade *shade, const plane_site *site, const plane_slant *slant)
{
    const splat_view_map *map = &shade->maps->views[site->view];
    const plane_view *own = &shade->views[site->view];
    const splat_camera *c = &map->camera;
    float step = SPACING * (float)own->shade_side, sum = 0;
    uint32_t n_samples = 0;
    plane_levels levels;
    levels.n = 0;
    if (site->n_views < PLANE_SHADE_LEAST) return INFINITY;
    uint16_t segment = own->labels[splat_view_map_pixel(map, (int)site->x, (int)site->y)] & PLANE_LABEL_SEGMENT;
    for (int j = -WINDOW; j <= WINDOW; j++)
        for (int i = -WINDOW; i <= WINDOW; i++) {
            float dx = (float)i * step, dy = (float)j * step, x = site->x + dx, y = site->y + dy;
            float q = slant->q + dx * slant->right + dy * slant->down, place[3];
            if (!(x >= 0 && y >= 0 && x < (float)c->width && y < (float)c->height && q > 0.2f * slant->q)) continue;
            if ((own->labels[(size_t)y * (size_t)c->width + (size_t)x] & PLANE_LABEL_SEGMENT) != segment) continue;
            splat_camera_unproject(c, x, y, 1 / q, place);
            plane_levels_add_place(&levels, place, plane_levels_at(own, 0, x, y));
        }
    for (uint32_t k = 1; k < site->n_views; k++)
        plane_levels_add_view(&levels, &shade->maps->views[site->views[k]], &shade->views[site->views[k]], false);
    plane_levels_sort(&levels);
    for (uint32_t i = 0; i < levels.n; i++) {
        if (levels.counts[i] < PLANE_SHADE_LEAST) continue;
        sum += spread(&levels, i);
        n_samples++;
    }
    return n_samples >= LEAST_SAMPLES ? sum / (float)n_samples : INFINITY;
}

float plane_shade_own_off(const plane_shade *shade, const plane_site *site, const plane_slant *slant)
{
    float place[3], values[PLANE_SHADE_VIEWS];
    uint32_t n = 0;
    splat_camera_unproject(&shade->maps->views[site->view].camera, site->x, site->y, 1 / slant->q, place);
    for (uint32_t k = 1; k < site->n_views; k++) {
        const uint32_t v = site->views[k];
        float image[3];
        if (!splat_camera_project(&shade->maps->views[v].camera, place, image)) continue;
        values[n++] = plane_levels_at(&shade->views[v], 0, image[0], image[1]);
    }
    const float own = plane_levels_at(&shade->views[site->view], 0, site->x, site->y);
    return n ? fabsf(own - plane_shade_median(values, n)) : 0;
}

void plane_shade_residuals_along(const plane_shade *shade, uint32_t view, float x, float y, const float *q, uint32_t n,
                                 float *residuals)
{
    const uint32_t n_views = (uint32_t)shade->maps->n, n_asked = n_views / step_between(n_views);
    const size_t stride = splat_scatter_stride(n_views); /* neighbours of a path tell little of depth */
    const float own = plane_levels_at(&shade->views[view], 0, x, y);
    plane_levels levels;
    levels.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        float place[3];
        splat_camera_unproject(&shade->maps->views[view].camera, x, y, 1 / q[i], place);
        plane_levels_add_place(&levels, place, own);
    }
    for (uint32_t k = 1; k < n_asked; k++) {
        const size_t v = (view + k * stride) % n_views;
        plane_levels_add_view(&levels, &shade->maps->views[v], &shade->views[v], true);
    }
    plane_levels_sort(&levels);
    for (uint32_t i = 0; i < n; i++)
        residuals[i] = levels.counts[i] < PLANE_SHADE_LEAST ? INFINITY : spread(&levels, i);
}

uint32_t plane_shade_logs(const plane_shade *shade, const plane_site *site, const plane_slant *slant,
                          uint32_t views[PLANE_SHADE_VIEWS], float logs[3][PLANE_SHADE_VIEWS])
{
    float place[3];
    uint32_t n = 0;
    splat_camera_unproject(&shade->maps->views[site->view].camera, site->x, site->y, 1 / slant->q, place);
    for (uint32_t k = 0; k < site->n_views; k++) {
        uint32_t v = site->views[k];
        float image[3] = {site->x, site->y};
        bool is_lit = true;
        if (k > 0 && !splat_camera_project(&shade->maps->views[v].camera, place, image)) continue;
        for (size_t channel = 0; channel < 3; channel++) {
            float level = plane_levels_at(&shade->views[v], channel + 1, image[0], image[1]);
            is_lit &= level > DARK && level < BRIGHT;
            logs[channel][n] = logf(level);
        }
        views[n] = v;
        n += is_lit;
    }
    return n;
}
