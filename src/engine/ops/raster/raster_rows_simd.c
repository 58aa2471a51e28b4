/* The rows that raster, geometry and view_count read of the visible (frame.h). */
#include "ops/raster/raster_rows.h"
#include "ops/raster/reach.h"
#include "ops/simd.h"

/* Sixteen Gaussians side by side: a loop over lanes becomes vectors. */
typedef struct lane_reach {
    float v[SPLAT_LANES], a[SPLAT_LANES], b[SPLAT_LANES], c[SPLAT_LANES], alpha0[SPLAT_LANES]; /* in */
    float power_min[SPLAT_LANES], half[SPLAT_LANES], step[SPLAT_LANES], step8[SPLAT_LANES];
    int32_t first_row[SPLAT_LANES], last_row[SPLAT_LANES];
} lane_reach;

/* power_min, and half the height of the ellipse, INFINITY where it is not known. What blends nothing has a power_min of
 * -SPLAT_REACH_SLACK: its alpha is below 1/255 everywhere. */
SPLAT_FORCE_INLINE void SIMD(find_reach)(lane_reach *restrict lanes)
{
    for (int l = 0; l < SPLAT_LANES; l++) {
        float least = splat_choose(lanes->alpha0[l] > 1.0f / 255.0f, 255.0f * lanes->alpha0[l], 1.0f);
        float power_min = -splat_log(least) - SPLAT_REACH_SLACK;
        splat_reach reach = splat_reach_at(lanes->a[l], lanes->b[l], lanes->c[l], power_min);
        lanes->power_min[l] = power_min;
        lanes->half[l] = sqrtf((float)(reach.form * (double)lanes->a[l] * reach.inverse));
        lanes->half[l] = splat_choose(reach.form < INFINITY, lanes->half[l], INFINITY);
    }
}

/* In double, as factors are multiplied with each other. */
SPLAT_FORCE_INLINE void SIMD(find_steps)(lane_reach *restrict lanes)
{
    float stepped[SPLAT_LANES];
    for (int l = 0; l < SPLAT_LANES; l++)
        stepped[l] = splat_reach_is_stepped(lanes->a[l], lanes->b[l], lanes->c[l], lanes->half[l]);
    for (int l = 0; l < SPLAT_LANES; l++) {
        double step = splat_fine_exp(-(double)splat_choose(stepped[l] > 0, lanes->c[l], 1.0f));
        double step2 = step * step, step4 = step2 * step2;
        lanes->step[l] = stepped[l] * (float)step;
        lanes->step8[l] = stepped[l] * (float)(step4 * step4);
    }
}

/* Rows of the picture with |v - y| <= half, half a pixel wider with jitter. The slack covers the rounding here, and the
 * row at v - half itself; a row too many costs one test. */
SPLAT_FORCE_INLINE void SIMD(find_rows)(float height, float slack, lane_reach *restrict lanes)
{
    for (int l = 0; l < SPLAT_LANES; l++) {
        float half = lanes->half[l] + (slack + 1e-6f * fabsf(lanes->v[l]));
        int32_t begin = (int32_t)splat_clamp(lanes->v[l] - half + 1.0f, 0.0f, height);
        int32_t end = (int32_t)splat_clamp(lanes->v[l] + half + 1.0f, 0.0f, height);
        lanes->first_row[l] = end > begin ? begin : 1;
        lanes->last_row[l] = end > begin ? end - 1 : 0;
    }
}

SPLAT_RASTER_MAKE_ROWS(SIMD(splat_raster_make_rows))
{
    float height = (float)frame->camera.height, slack = (frame->jitter ? 0.5f : 0.0f) + 1e-2f;
    for (uint32_t first = begin; first < end; first += SPLAT_LANES) {
        uint32_t count = end - first < SPLAT_LANES ? end - first : SPLAT_LANES;
        lane_reach lanes;
        if (count < SPLAT_LANES) memset(&lanes, 0, sizeof lanes);
        for (uint32_t l = 0; l < count; l++) {
            const float *conic = frame->conic + 4 * (size_t)(first + l);
            lanes.v[l] = frame->mean2d[2 * (size_t)(first + l) + 1];
            lanes.a[l] = conic[0];
            lanes.b[l] = conic[1];
            lanes.c[l] = conic[2];
            lanes.alpha0[l] = conic[3];
        }
        SIMD(find_reach)(&lanes);
        SIMD(find_steps)(&lanes);
        SIMD(find_rows)(height, slack, &lanes);
        for (uint32_t l = 0; l < count; l++) {
            const size_t v = first + l;
            const float *rgb = frame->rgb + 3 * v;
            frame->raster_rows[v] = (splat_raster_row){.u = frame->mean2d[2 * v],
                                                       .v = lanes.v[l],
                                                       .a = lanes.a[l],
                                                       .b = lanes.b[l],
                                                       .c = lanes.c[l],
                                                       .alpha0 = lanes.alpha0[l],
                                                       .rgb = {rgb[0], rgb[1], rgb[2]},
                                                       .depth = frame->depth[v],
                                                       .power_min = lanes.power_min[l],
                                                       .step = lanes.step[l],
                                                       .step8 = lanes.step8[l],
                                                       .first_row = (uint16_t)lanes.first_row[l],
                                                       .last_row = (uint16_t)lanes.last_row[l]};
        }
    }
}
