/* The kernels of project_kernels.h, forward part, and their table. Compiled once a SIMD level. */
#include "math/sh.h"
#include "ops/project/project_kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/project/project_lanes.inc"

#include "ops/project/project_backward_simd.inc"

/* The frame's values of sixteen Gaussians. */
typedef struct lane_screen {
    float u[LANES], v[LANES], conic_a[LANES], conic_b[LANES], conic_c[LANES], alpha0[LANES], depth[LANES];
    float reach_x[LANES], reach_y[LANES];              /* half extents of the ellipse alpha >= 1/255 */
    int32_t x0[LANES], y0[LANES], x1[LANES], y1[LANES]; /* the rho square in tiles */
    int32_t visible[LANES], degenerate[LANES];
} lane_screen;

SPLAT_FORCE_INLINE int32_t tile_of(float position, float n_tiles)
{
    return (int32_t)splat_clamp(position * (1.0f / SPLAT_TILE), 0.0f, n_tiles);
}

/* Shape, place and visibility (docs/method.md 4 and 6); the colour is not read. */
SPLAT_FORCE_INLINE void lane_project(const splat_projector *projector, const lanes *restrict in,
                                     lane_screen *restrict out)
{
    for (int l = 0; l < LANES; l++) {
        activation a = activate(in, l);
        splat_ellipsoid e = lane_ellipsoid(in, l, &a);
        splat_footprint f = splat_footprint_make(projector, &e);
        float alpha0 = a.o * a.c3 * projector->gain * f.kappa, rho = splat_footprint_rho(&f);
        int results_ok = is_finite(f.u) & is_finite(f.v) & is_finite(f.conic_a) & is_finite(f.conic_b) &
                         is_finite(f.conic_c) & is_finite(alpha0) & is_finite(f.a * f.c);
        int mean_ok = is_finite(in->mean[0][l]) & is_finite(in->mean[1][l]) & is_finite(in->mean[2][l]);
        int in_front = f.z > SPLAT_NEAR, ok = a.ok & results_ok;
        out->u[l] = f.u;
        out->v[l] = f.v;
        out->conic_a[l] = f.conic_a;
        out->conic_b[l] = f.conic_b;
        out->conic_c[l] = f.conic_c;
        out->alpha0[l] = alpha0;
        out->depth[l] = f.z;
        int32_t x0 = tile_of(f.u - rho, projector->tiles_x), y0 = tile_of(f.v - rho, projector->tiles_y);
        int32_t x1 = tile_of(f.u + rho + (SPLAT_TILE - 1), projector->tiles_x);
        int32_t y1 = tile_of(f.v + rho + (SPLAT_TILE - 1), projector->tiles_y);
        out->x0[l] = x0;
        out->y0[l] = y0;
        out->x1[l] = x1;
        out->y1[l] = y1;
        out->degenerate[l] = (!mean_ok) | (in_front & !ok);
        out->visible[l] = mean_ok & in_front & ok & (x0 < x1) & (y0 < y1);

        float levels = splat_clamp(255.0f * alpha0, 1.0f, 255.0f * projector->gain);
        float reach = splat_footprint_safe_reach(&f, 2.0f * splat_log(levels));
        out->reach_x[l] = sqrtf(reach * f.a);
        out->reach_y[l] = sqrtf(reach * f.c);
    }
}

/* The first tile, and the one after the last, of the pixels (at integers) in [position, infinity) and
 * (-infinity, position]. */
SPLAT_FORCE_INLINE int32_t first_tile(float position, float n_tiles)
{
    position = splat_clamp(position, 0.0f, n_tiles * SPLAT_TILE);
    int32_t pixel = (int32_t)position;
    pixel += (float)pixel < position;
    return (int32_t)((uint32_t)pixel / SPLAT_TILE);
}

SPLAT_FORCE_INLINE int32_t end_tile(float position, float n_tiles)
{
    return (int32_t)(splat_clamp(position + SPLAT_TILE, 0.0f, n_tiles * SPLAT_TILE) * (1.0f / SPLAT_TILE));
}

/* rect[4][LANES]: the rho square cut to the box of the ellipse alpha >= 1/255, made wider by `margin` pixels; all zero
 * when nothing is left. */
SPLAT_FORCE_INLINE void lane_rects(const splat_projector *projector, float margin, const lane_screen *restrict s,
                                   int32_t (*restrict rect)[LANES])
{
    for (int l = 0; l < LANES; l++) {
        float reach_x = s->reach_x[l] + margin, reach_y = s->reach_y[l] + margin;
        int32_t x0 = first_tile(s->u[l] - reach_x, projector->tiles_x);
        int32_t y0 = first_tile(s->v[l] - reach_y, projector->tiles_y);
        int32_t x1 = end_tile(s->u[l] + reach_x, projector->tiles_x);
        int32_t y1 = end_tile(s->v[l] + reach_y, projector->tiles_y);
        x0 = s->x0[l] > x0 ? s->x0[l] : x0;
        y0 = s->y0[l] > y0 ? s->y0[l] : y0;
        x1 = s->x1[l] < x1 ? s->x1[l] : x1;
        y1 = s->y1[l] < y1 ? s->y1[l] : y1;
        int32_t any = -((s->alpha0[l] >= 1.0f / 255.0f) & (x0 < x1) & (y0 < y1));
        rect[0][l] = x0 & any;
        rect[1][l] = y0 & any;
        rect[2][l] = x1 & any;
        rect[3][l] = y1 & any;
    }
}

static uint32_t SIMD(project_find)(const splat_gaussians *gaussians, const splat_projector *projector, uint32_t begin,
                                   uint32_t end, uint16_t masks[SPLAT_PROJECT_GROUPS], uint32_t *n_degenerate)
{
    uint32_t n_found = 0;
    memset(masks, 0, SPLAT_PROJECT_GROUPS * sizeof *masks);
    for (uint32_t first = begin; first < end; first += LANES) {
        uint32_t ids[LANES], n = end - first < LANES ? end - first : LANES, mask = 0;
        lanes in;
        lane_screen screen;
        for (uint32_t l = 0; l < LANES; l++) ids[l] = l < n ? first + l : first;
        load_lanes(gaussians, ids, &in);
        lane_project(projector, &in, &screen);
        for (uint32_t l = 0; l < n; l++) {
            mask |= (uint32_t)screen.visible[l] << l;
            n_found += (uint32_t)screen.visible[l];
            *n_degenerate += (uint32_t)screen.degenerate[l];
        }
        masks[(first - begin) / LANES] = (uint16_t)mask;
    }
    return n_found;
}

/* Entries v .. v + n of the frame. */
SPLAT_FORCE_INLINE void store_lanes(splat_frame *frame, size_t v, uint32_t n, const uint32_t *ids,
                                    const lane_screen *s, const lane_colour *colour, int32_t (*rect)[LANES])
{
    for (uint32_t l = 0; l < n; l++, v++) {
        frame->ids[v] = ids[l];
        frame->mean2d[2 * v] = s->u[l];
        frame->mean2d[2 * v + 1] = s->v[l];
        frame->conic[4 * v] = s->conic_a[l];
        frame->conic[4 * v + 1] = s->conic_b[l];
        frame->conic[4 * v + 2] = s->conic_c[l];
        frame->conic[4 * v + 3] = s->alpha0[l];
        for (int c = 0; c < 3; c++) {
            float value = colour->value[c][l];
            frame->rgb[3 * v + c] = value < 0.0f ? 0.0f : value;
        }
        frame->depth[v] = s->depth[l];
        for (int k = 0; k < 4; k++) frame->tile_rect[4 * v + k] = (uint16_t)rect[k][l];
    }
}

static uint32_t SIMD(project_write)(const splat_gaussians *gaussians, const splat_projector *projector, uint32_t begin,
                                    const uint16_t masks[SPLAT_PROJECT_GROUPS], uint32_t first_visible,
                                    splat_frame *frame)
{
    uint32_t found[SPLAT_PROJECT_BLOCK + LANES], n_found = 0, n_bad = 0;
    for (uint32_t k = 0; k < SPLAT_PROJECT_GROUPS; k++)
        for (uint32_t mask = masks[k]; mask; mask &= mask - 1)
            found[n_found++] = begin + k * LANES + (uint32_t)__builtin_ctz(mask);
    if (!n_found) return 0;
    for (uint32_t l = 0; l < LANES; l++) found[n_found + l] = found[0];
    for (uint32_t first = 0; first < n_found; first += LANES) {
        uint32_t n = n_found - first < LANES ? n_found - first : LANES;
        const uint32_t *ids = found + first;
        lanes in;
        lane_screen screen;
        lane_colour colour;
        int32_t rect[4][LANES];
        load_lanes(gaussians, ids, &in);
        lane_project(projector, &in, &screen);
        /* 0.02 pixels are far above the rounding of centre and reach; jitter moves samples by half a pixel. */
        lane_rects(projector, frame->jitter ? 0.52f : 0.02f, &screen, rect);
        lane_colours(gaussians, projector, ids, &in, &colour);
        for (uint32_t l = 0; l < n; l++) {
            if (is_finite(colour.value[0][l]) & is_finite(colour.value[1][l]) & is_finite(colour.value[2][l])) continue;
            screen.depth[l] = 0.0f;
            n_bad++;
        }
        store_lanes(frame, (size_t)first_visible + first, n, ids, &screen, &colour, rect);
    }
    return n_bad;
}

const splat_project_kernels SIMD(splat_project_kernels) = {
    .find = SIMD(project_find),
    .write = SIMD(project_write),
    .backward = SIMD(project_backward),
};
