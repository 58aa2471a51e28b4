/* One Gaussian's footprint on the screen and its gradient: EWA splatting (Zwicker et al. 2002) with the 2D Mip filter
 * (Mip-Splatting eq. 10); docs/method.md 6 and 7. Branch-free, so that a loop over lanes vectorises. Shared by C and
 * CUDA.
 *
 * The 2D covariance is T T^t with T = J V R diag(s~), a 2x3 matrix of rows t0, t1. Its determinant is |t0 x t1|^2
 * (Lagrange): a sum of squares, exact to rounding where a0 c0 - b^2 would cancel for needles. */
#ifndef SPLAT_MATH_PROJECTION_H
#define SPLAT_MATH_PROJECTION_H

#include "math/gaussian.h"
#include "splatsmith/core.h"

#define SPLAT_NEAR 0.2f        /* Gaussians at camera z <= this are culled */
#define SPLAT_KAPPA_EPS 1e-6f  /* epsilon of the compensation, and the least determinant that is compensated */

/* The camera and the screen filter as the projection uses them. */
typedef struct splat_projector {
    float r[9], t[3], center[3];
    float fx, fy, offset_x, offset_y; /* u = fx X/Z + offset_x */
    float limit_x, limit_y;           /* limits of X/Z and Y/Z in the Jacobian */
    float kernel_size;
    float tiles_x, tiles_y;
    float gain;     /* factor of all opacities; 1, but for views with dropout (ops/frame.h) */
    int compensate; /* 0 or 1 */
} splat_projector;

SPLAT_MATH_INLINE splat_projector splat_projector_make(const splat_camera *camera, float kernel_size, int compensate,
                                                       int tile)
{
    splat_projector p;
    for (int i = 0; i < 9; i++) p.r[i] = camera->rotation[i];
    for (int i = 0; i < 3; i++) p.t[i] = camera->translation[i];
    for (int i = 0; i < 3; i++) p.center[i] = camera->center[i];
    p.fx = camera->fx;
    p.fy = camera->fy;
    p.offset_x = camera->cx - 0.5f;
    p.offset_y = camera->cy - 0.5f;
    p.limit_x = 1.3f * (float)camera->width / (2.0f * camera->fx);
    p.limit_y = 1.3f * (float)camera->height / (2.0f * camera->fy);
    p.kernel_size = kernel_size;
    p.tiles_x = (float)((camera->width + tile - 1) / tile);
    p.tiles_y = (float)((camera->height + tile - 1) / tile);
    p.gain = 1.0f;
    p.compensate = compensate;
    return p;
}

/* A Gaussian in the world, as it is projected. */
typedef struct splat_ellipsoid {
    float mean_x, mean_y, mean_z;
    float stx, sty, stz;                          /* filtered scales s~ */
    float qw, qx, qy, qz;                         /* unit quaternion */
} splat_ellipsoid;

typedef struct splat_footprint {
    float z, inverse_z, x, y, xc, yc;             /* depth; X/Z, Y/Z, plain and clamped */
    float m00, m01, m02, m10, m11, m12;           /* M = J V */
    splat_rotation r;                             /* rotation of the quaternion */
    float n00, n01, n02, n10, n11, n12;           /* N = M R */
    float t00, t01, t02, t10, t11, t12;           /* T = N diag(s~) */
    float u, v;
    float a0, b, c0, a, c;                        /* covariance before, and its diagonal after the screen filter */
    float d0, d1;                                 /* determinants before and after */
    float conic_a, conic_b, conic_c;
    float kappa;                                  /* opacity compensation; 1 when off */
} splat_footprint;

SPLAT_MATH_INLINE splat_footprint splat_footprint_make(const splat_projector *p, const splat_ellipsoid *e)
{
    splat_footprint f;
    float cam_x = p->r[0] * e->mean_x + p->r[1] * e->mean_y + p->r[2] * e->mean_z + p->t[0];
    float cam_y = p->r[3] * e->mean_x + p->r[4] * e->mean_y + p->r[5] * e->mean_z + p->t[1];
    f.z = p->r[6] * e->mean_x + p->r[7] * e->mean_y + p->r[8] * e->mean_z + p->t[2];
    f.inverse_z = 1.0f / f.z;
    f.x = cam_x * f.inverse_z;
    f.y = cam_y * f.inverse_z;
    f.u = p->fx * f.x + p->offset_x;
    f.v = p->fy * f.y + p->offset_y;
    f.xc = splat_clamp(f.x, -p->limit_x, p->limit_x);
    f.yc = splat_clamp(f.y, -p->limit_y, p->limit_y);

    float jx = p->fx * f.inverse_z, jy = p->fy * f.inverse_z;
    f.m00 = jx * (p->r[0] - f.xc * p->r[6]);
    f.m01 = jx * (p->r[1] - f.xc * p->r[7]);
    f.m02 = jx * (p->r[2] - f.xc * p->r[8]);
    f.m10 = jy * (p->r[3] - f.yc * p->r[6]);
    f.m11 = jy * (p->r[4] - f.yc * p->r[7]);
    f.m12 = jy * (p->r[5] - f.yc * p->r[8]);

    splat_rotation r = splat_rotation_make(e->qw, e->qx, e->qy, e->qz);
    f.r = r;
    f.n00 = f.m00 * r.r00 + f.m01 * r.r10 + f.m02 * r.r20;
    f.n01 = f.m00 * r.r01 + f.m01 * r.r11 + f.m02 * r.r21;
    f.n02 = f.m00 * r.r02 + f.m01 * r.r12 + f.m02 * r.r22;
    f.n10 = f.m10 * r.r00 + f.m11 * r.r10 + f.m12 * r.r20;
    f.n11 = f.m10 * r.r01 + f.m11 * r.r11 + f.m12 * r.r21;
    f.n12 = f.m10 * r.r02 + f.m11 * r.r12 + f.m12 * r.r22;
    f.t00 = f.n00 * e->stx;
    f.t01 = f.n01 * e->sty;
    f.t02 = f.n02 * e->stz;
    f.t10 = f.n10 * e->stx;
    f.t11 = f.n11 * e->sty;
    f.t12 = f.n12 * e->stz;

    f.a0 = f.t00 * f.t00 + f.t01 * f.t01 + f.t02 * f.t02;
    f.b = f.t00 * f.t10 + f.t01 * f.t11 + f.t02 * f.t12;
    f.c0 = f.t10 * f.t10 + f.t11 * f.t11 + f.t12 * f.t12;
    float cross_x = f.t01 * f.t12 - f.t02 * f.t11;
    float cross_y = f.t02 * f.t10 - f.t00 * f.t12;
    float cross_z = f.t00 * f.t11 - f.t01 * f.t10;
    f.d0 = cross_x * cross_x + cross_y * cross_y + cross_z * cross_z;
    f.a = f.a0 + p->kernel_size;
    f.c = f.c0 + p->kernel_size;
    f.d1 = f.d0 + p->kernel_size * (f.a0 + f.c);
    float inverse_d1 = 1.0f / f.d1;
    f.conic_a = f.c * inverse_d1;
    f.conic_b = -f.b * inverse_d1;
    f.conic_c = f.a * inverse_d1;

    float kappa = sqrtf(f.d0 / (f.d1 + SPLAT_KAPPA_EPS) + SPLAT_KAPPA_EPS);
    kappa = splat_choose((f.d0 > SPLAT_KAPPA_EPS) & (f.d1 > SPLAT_KAPPA_EPS), kappa, 0.0f);
    f.kappa = splat_choose(p->compensate, kappa, 1.0f);
    return f;
}

/* rho = ceil(3 sqrt(larger eigenvalue)), at most 1e9. */
SPLAT_MATH_INLINE float splat_footprint_rho(const splat_footprint *f)
{
    float middle = 0.5f * (f->a + f->c), spread = middle * middle - f->d1;
    float radius = 3.0f * sqrtf(middle + sqrtf(splat_choose(spread > 0.1f, spread, 0.1f)));
    radius = splat_clamp(radius, 0.0f, 1e9f);
    int whole = (int)radius;
    return (float)(whole + ((float)whole < radius));
}

/* The squared half extents of the ellipse alpha >= 1/255 are reach a and reach c, where reach = 2 ln(255 alpha0). This
 * widens reach by what rounding can do to alpha at the border of a needle: the terms of the power are up to ac/d1
 * times the power, and each of the roughly 30 roundings (conic, offsets, products) costs 2^-24 of the largest. */
SPLAT_MATH_INLINE float splat_footprint_safe_reach(const splat_footprint *f, float reach)
{
    return reach * (1.001f + 2e-6f * f->a * f->conic_a);
}

typedef struct splat_footprint_gradient {
    float mean_x, mean_y, mean_z;   /* world; the colour's share is not in it */
    float stx, sty, stz;            /* filtered scales */
    float qw, qx, qy, qz;           /* unit quaternion, as if its four numbers were independent */
    float ot;                       /* filtered opacity o~ */
} splat_footprint_gradient;

/* dL/d of what a Gaussian is on the screen. */
typedef struct splat_screen_gradient {
    float u, v, conic_a, conic_b, conic_c, alpha0;
} splat_screen_gradient;

/* From the screen to the ellipsoid and to its opacity, o~ = alpha0/kappa. Exact: no epsilon beyond those of the forward
 * formulas, and a clamped X/Z is a constant. */
SPLAT_MATH_INLINE splat_footprint_gradient splat_footprint_backward(const splat_projector *p, const splat_footprint *f,
                                                                    const splat_ellipsoid *e, float ot,
                                                                    const splat_screen_gradient *screen)
{
    splat_footprint_gradient g;
    float qw = e->qw, qx = e->qx, qy = e->qy, qz = e->qz;
    float ga = screen->conic_a, gb = screen->conic_b, gc = screen->conic_c, galpha = screen->alpha0;
    /* dL/dcov = -Q dL/dQ Q, with Q the conic; b counted once. */
    float qa = f->conic_a, qb = f->conic_b, qc = f->conic_c;
    float la = -(qa * qa * ga + qa * qb * gb + qb * qb * gc);
    float lc = -(qb * qb * ga + qb * qc * gb + qc * qc * gc);
    float lb = -(2.0f * qa * qb * ga + (qa * qc + qb * qb) * gb + 2.0f * qb * qc * gc);

    /* Compensation: kappa^2 = d0/(d1 + eps) + eps. */
    int compensated = p->compensate & (f->kappa > 0.0f);
    float inverse = 1.0f / (f->d1 + SPLAT_KAPPA_EPS);
    float k = galpha * ot / (2.0f * splat_choose(compensated, f->kappa, 1.0f));
    float k0 = splat_choose(compensated, k * inverse, 0.0f), k1 = -k0 * f->d0 * inverse;
    la += k0 * f->c0 + k1 * f->c;
    lc += k0 * f->a0 + k1 * f->a;
    lb -= 2.0f * f->b * (k0 + k1);
    g.ot = galpha * f->kappa;

    /* cov = T T^t, T = N diag(s), N = M R. */
    float g00 = 2.0f * la * f->t00 + lb * f->t10, g10 = lb * f->t00 + 2.0f * lc * f->t10;
    float g01 = 2.0f * la * f->t01 + lb * f->t11, g11 = lb * f->t01 + 2.0f * lc * f->t11;
    float g02 = 2.0f * la * f->t02 + lb * f->t12, g12 = lb * f->t02 + 2.0f * lc * f->t12;
    g.stx = g00 * f->n00 + g10 * f->n10;
    g.sty = g01 * f->n01 + g11 * f->n11;
    g.stz = g02 * f->n02 + g12 * f->n12;
    g00 *= e->stx, g10 *= e->stx;
    g01 *= e->sty, g11 *= e->sty;
    g02 *= e->stz, g12 *= e->stz;

    /* dL/dR = M^t dL/dN, then the quaternion. */
    float e00 = f->m00 * g00 + f->m10 * g10, e01 = f->m00 * g01 + f->m10 * g11, e02 = f->m00 * g02 + f->m10 * g12;
    float e10 = f->m01 * g00 + f->m11 * g10, e11 = f->m01 * g01 + f->m11 * g11, e12 = f->m01 * g02 + f->m11 * g12;
    float e20 = f->m02 * g00 + f->m12 * g10, e21 = f->m02 * g01 + f->m12 * g11, e22 = f->m02 * g02 + f->m12 * g12;
    g.qw = 2.0f * (qz * (e10 - e01) + qy * (e02 - e20) + qx * (e21 - e12));
    g.qx = 2.0f * (qy * (e01 + e10) + qz * (e02 + e20) + qw * (e21 - e12) - 2.0f * qx * (e11 + e22));
    g.qy = 2.0f * (qx * (e01 + e10) + qz * (e12 + e21) + qw * (e02 - e20) - 2.0f * qy * (e00 + e22));
    g.qz = 2.0f * (qx * (e02 + e20) + qy * (e12 + e21) + qw * (e10 - e01) - 2.0f * qz * (e00 + e11));

    /* dL/dM = dL/dN R^t; M rows are f/Z (V row - clamped ratio V2). */
    const splat_rotation *r = &f->r;
    float h00 = g00 * r->r00 + g01 * r->r01 + g02 * r->r02, h10 = g10 * r->r00 + g11 * r->r01 + g12 * r->r02;
    float h01 = g00 * r->r10 + g01 * r->r11 + g02 * r->r12, h11 = g10 * r->r10 + g11 * r->r11 + g12 * r->r12;
    float h02 = g00 * r->r20 + g01 * r->r21 + g02 * r->r22, h12 = g10 * r->r20 + g11 * r->r21 + g12 * r->r22;
    float dx = -f->inverse_z * (h00 * p->r[6] + h01 * p->r[7] + h02 * p->r[8]);
    float dy = -f->inverse_z * (h10 * p->r[6] + h11 * p->r[7] + h12 * p->r[8]);
    dx = p->fx * (screen->u + splat_choose(f->x == f->xc, dx, 0.0f));
    dy = p->fy * (screen->v + splat_choose(f->y == f->yc, dy, 0.0f));
    float through_z = h00 * f->m00 + h01 * f->m01 + h02 * f->m02 + h10 * f->m10 + h11 * f->m11 + h12 * f->m12;
    float cam_x = dx * f->inverse_z, cam_y = dy * f->inverse_z;
    float cam_z = -f->inverse_z * (dx * f->x + dy * f->y + through_z);
    g.mean_x = p->r[0] * cam_x + p->r[3] * cam_y + p->r[6] * cam_z;
    g.mean_y = p->r[1] * cam_x + p->r[4] * cam_y + p->r[7] * cam_z;
    g.mean_z = p->r[2] * cam_x + p->r[5] * cam_y + p->r[8] * cam_z;
    return g;
}

#endif
