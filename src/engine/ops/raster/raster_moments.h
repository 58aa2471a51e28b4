/* Sums of raster_backward and geometry_backward over pixels, and the gradients on the screen that follow from them.
 * Inline: a call takes longer than the sum of ten floats. */
#ifndef SPLAT_OPS_RASTER_MOMENTS_H
#define SPLAT_OPS_RASTER_MOMENTS_H

#include "ops/frame.h"

/* Sums over the pixels of one instance, delta = mean - position, p = dL/dpower of a pixel, which is alpha0 dL/dalpha0.
 * The gradients of mean and conic follow from the moments of p; the moments of a Gaussian's instances add up. */
typedef struct splat_raster_moments {
    float p, px, py;      /* p, p dx, p dy */
    float pxx, pxy, pyy;  /* p dx^2, p dx dy, p dy^2 */
    float fourth;         /* colours: |p| (W/2 |A dx + B dy| + H/2 |B dx + C dy|); geometry: alpha T g */
    float r, g, b;        /* alpha T g */
} splat_raster_moments;

/* *sum += *m, a moment at a time. */
static inline void splat_raster_moments_add(splat_raster_moments *sum, const splat_raster_moments *m)
{
    sum->p += m->p;
    sum->px += m->px;
    sum->py += m->py;
    sum->pxx += m->pxx;
    sum->pxy += m->pxy;
    sum->pyy += m->pyy;
    sum->fourth += m->fourth;
    sum->r += m->r;
    sum->g += m->g;
    sum->b += m->b;
}

/* The gradients from the sums over all instances of a Gaussian with A, B, C and alpha0; channel[3] is `fourth`.
 * docs/method.md 7, the sums over pixels taken first: e G = p, so dL/du = -(A px + B py) and so on. */
static inline splat_grad2d splat_raster_gradient_of_moments(const float conic[4], const splat_raster_moments *m)
{
    float a = conic[0], b = conic[1], c = conic[2], alpha0 = conic[3];
    return (splat_grad2d){.mean_x = -(a * m->px + b * m->py),
                          .mean_y = -(c * m->py + b * m->px),
                          .conic_a = -0.5f * m->pxx,
                          .conic_b = -m->pxy,
                          .conic_c = -0.5f * m->pyy,
                          .opacity = alpha0 > 0 ? m->p / alpha0 : 0,
                          .channel = {m->r, m->g, m->b, m->fourth}};
}

/* The gradients of visible Gaussian v from the moments of its instances, summed in the order of the slots; channel[3]
 * is the sum of `fourth` as it is. false: it has no instance. */
static inline bool splat_raster_gradient_of(const splat_frame *frame, const splat_raster_moments *slots, uint32_t v,
                                            splat_grad2d *gradient)
{
    splat_raster_moments m = {0};
    if (frame->slot_begin[v] == frame->slot_begin[v + 1]) return false;
    for (uint32_t slot = frame->slot_begin[v]; slot < frame->slot_begin[v + 1]; slot++)
        splat_raster_moments_add(&m, &slots[slot]);
    *gradient = splat_raster_gradient_of_moments(frame->conic + 4 * (size_t)v, &m);
    return true;
}

/* Adds a band's part. */
static inline void splat_raster_gradient_add(splat_grad2d *sum, const splat_grad2d *part)
{
    sum->mean_x += part->mean_x;
    sum->mean_y += part->mean_y;
    sum->conic_a += part->conic_a;
    sum->conic_b += part->conic_b;
    sum->conic_c += part->conic_c;
    sum->opacity += part->opacity;
    for (int k = 0; k < 4; k++) sum->channel[k] += part->channel[k];
}

#endif
