/* Lenses: the camera models as one polynomial form where they are one, solved by Newton's method; closed forms for the
 * rest. */
#include "math/lens.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#define TINY 2.2e-16

static const splat_lens_form forms[SPLAT_LENS_MODELS] = {
    {"SIMPLE_PINHOLE", 1, 0, false}, {"PINHOLE", 2, 0, false}, {"SIMPLE_RADIAL", 1, 1, false}, {"RADIAL", 1, 2, false},
    {"OPENCV", 2, 4, false}, {"OPENCV_FISHEYE", 2, 4, true}, {"FULL_OPENCV", 2, 8, false}, {"FOV", 2, 1, false},
    {"SIMPLE_RADIAL_FISHEYE", 1, 1, true}, {"RADIAL_FISHEYE", 1, 2, true}, {"THIN_PRISM_FISHEYE", 2, 8, true},
    {"RAD_TAN_THIN_PRISM_FISHEYE", 2, 12, true}, {"SIMPLE_DIVISION", 1, 1, false}, {"DIVISION", 2, 1, false},
    {"SIMPLE_FISHEYE", 1, 0, true}, {"FISHEYE", 2, 0, true}, {"EUCM", 2, 2, true}, {"EQUIRECTANGULAR", 0, 2, true},
    {"NERFSTUDIO", 2, 6, false},
};

const splat_lens_form *splat_lens_form_get(int model)
{
    return model >= 0 && model < SPLAT_LENS_MODELS ? &forms[model] : NULL;
}

int splat_lens_find(const char *name)
{
    for (int i = 0; i < SPLAT_LENS_NERFSTUDIO; i++)
        if (strcmp(name, forms[i].name) == 0) return i;
    return -1;
}

int splat_lens_n_parameters(const splat_lens_form *form)
{
    return form->n_focals + (form->n_focals ? 2 : 0) + form->n_coefficients;
}

/* ---------------------------------------------------------------- polynomials */

/* Added to a point (u, v) of the plane z = 1, or of a fisheye's disc: with t = u² + v²,
 *   q = (1 + Σ k_i t^(i+1)) / (1 + Σ d_i t^(i+1));   (u, v) becomes q (u, v) + T,
 *   T = 2 p1 u v + p2 (t + 2 u²) + s0 t + s1 t², and with u, v and p1, p2 exchanged and s2, s3.
 * `follows`: T is that of the point after q, not of (u, v) itself. */
typedef struct polynomial {
    double k[6], d[3], p1, p2, s[4];
    bool follows;
} polynomial;

static polynomial polynomial_of(const splat_lens *lens)
{
    const double *c = lens->coefficients;
    polynomial p = {0};
    switch (lens->model) {
    case SPLAT_LENS_SIMPLE_RADIAL: case SPLAT_LENS_SIMPLE_RADIAL_FISHEYE:
        p.k[0] = c[0];
        break;
    case SPLAT_LENS_RADIAL: case SPLAT_LENS_RADIAL_FISHEYE:
        memcpy(p.k, c, 2 * sizeof *c);
        break;
    case SPLAT_LENS_OPENCV_FISHEYE:
        memcpy(p.k, c, 4 * sizeof *c);
        break;
    case SPLAT_LENS_OPENCV: case SPLAT_LENS_FULL_OPENCV: case SPLAT_LENS_THIN_PRISM_FISHEYE:
        memcpy(p.k, c, 2 * sizeof *c);
        p.p1 = c[2];
        p.p2 = c[3];
        if (lens->model == SPLAT_LENS_FULL_OPENCV) {
            p.k[2] = c[4];
            memcpy(p.d, c + 5, 3 * sizeof *c);
        } else if (lens->model == SPLAT_LENS_THIN_PRISM_FISHEYE) {
            memcpy(p.k + 2, c + 4, 2 * sizeof *c);
            p.s[0] = c[6];
            p.s[2] = c[7];
        }
        break;
    case SPLAT_LENS_NERFSTUDIO:
        memcpy(p.k, c, 4 * sizeof *c);
        p.p1 = c[4];
        p.p2 = c[5];
        break;
    case SPLAT_LENS_RAD_TAN_THIN_PRISM_FISHEYE:
        memcpy(p.k, c, 6 * sizeof *c);
        p.p2 = c[6]; /* its p0 and p1 stand in OPENCV's other order */
        p.p1 = c[7];
        memcpy(p.s, c + 8, 4 * sizeof *c);
        p.follows = true;
        break;
    default:
        break;
    }
    return p;
}

/* 1 + Σ a_i t^(i+1) and its derivative. */
static double series(const double *a, int n, double t, double *derivative)
{
    double value = 0, slope = 0;
    for (int i = n - 1; i >= 0; i--) {
        slope = slope * t + (i + 1) * a[i];
        value = (value + a[i]) * t;
    }
    *derivative = slope;
    return 1 + value;
}

/* q and dq/dt. */
static double radial(const polynomial *p, double t, double *slope)
{
    double over, under, num = series(p->k, 6, t, &over), den = series(p->d, 3, t, &under);
    *slope = (over * den - num * under) / (den * den);
    return num / den;
}

/* The distorted point and the derivatives (row-major) by the point. */
static void distort(const polynomial *p, double u, double v, double out[2], double jacobian[4])
{
    double t = u * u + v * v, slope, q = radial(p, t, &slope);
    double j[4] = {q + 2 * u * u * slope, 2 * u * v * slope, 2 * u * v * slope, q + 2 * v * v * slope};
    out[0] = q * u;
    out[1] = q * v;
    double a = p->follows ? out[0] : u, b = p->follows ? out[1] : v, r2 = a * a + b * b;
    out[0] += 2 * p->p1 * a * b + p->p2 * (r2 + 2 * a * a) + p->s[0] * r2 + p->s[1] * r2 * r2;
    out[1] += 2 * p->p2 * a * b + p->p1 * (r2 + 2 * b * b) + p->s[2] * r2 + p->s[3] * r2 * r2;
    double prism_u = 2 * (p->s[0] + 2 * p->s[1] * r2), prism_v = 2 * (p->s[2] + 2 * p->s[3] * r2);
    double shear = 2 * (p->p1 * a + p->p2 * b);
    const double by_a[2] = {2 * p->p1 * b + 6 * p->p2 * a + prism_u * a, shear + prism_v * a};
    const double by_b[2] = {shear + prism_u * b, 2 * p->p2 * a + 6 * p->p1 * b + prism_v * b};
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++)
            jacobian[2 * row + column] = j[2 * row + column] +
                (p->follows ? by_a[row] * j[column] + by_b[row] * j[2 + column] : column ? by_b[row] : by_a[row]);
}

/* The point that is distorted to `target`. Steps are kept below a tenth of the point's distance, or of 1. */
static bool undistort(const polynomial *p, const double target[2], double point[2])
{
    point[0] = target[0];
    point[1] = target[1];
    double last = INFINITY;
    for (int i = 0; i < 100; i++) {
        double at[2], j[4];
        distort(p, point[0], point[1], at, j);
        double du = at[0] - target[0], dv = at[1] - target[1], det = j[0] * j[3] - j[1] * j[2];
        double su = (j[3] * du - j[1] * dv) / det, sv = (j[0] * dv - j[2] * du) / det;
        double length2 = su * su + sv * sv;
        if (!isfinite(length2)) return false;
        double limit = fmax(0.1, 0.1 * hypot(point[0], point[1]));
        double factor = length2 > limit * limit ? limit / sqrt(length2) : 1;
        point[0] -= factor * su;
        point[1] -= factor * sv;
        if (length2 < 1e-24 || (length2 < 1e-18 && length2 >= last)) return true; /* as exact as doubles are */
        last = length2;
    }
    return last < 1e-10;
}

/* ---------------------------------------------------------------- the plane and the disc */

static bool is_disc(const splat_lens *lens)
{
    return forms[lens->model].is_fisheye && lens->model != SPLAT_LENS_EUCM && lens->model != SPLAT_LENS_EQUIRECTANGULAR;
}

/* The largest distance of the photo's corners from the principal point, in focal lengths. */
static double corner_radius(const splat_lens *lens)
{
    double x = fmax(lens->cx, lens->width - lens->cx), y = fmax(lens->cy, lens->height - lens->cy);
    return hypot(x / lens->fx, y / lens->fy);
}

/* The radial profile r q(r²) is followed from 0 until it reaches the corners of the photo (and a quarter more, for the
 * tangential terms), or turns: that is where the lens folds. */
void splat_lens_prepare(splat_lens *lens)
{
    lens->max_radius = INFINITY;
    if (lens->model >= SPLAT_LENS_SIMPLE_DIVISION && lens->model != SPLAT_LENS_NERFSTUDIO &&
        lens->model != SPLAT_LENS_SIMPLE_FISHEYE && lens->model != SPLAT_LENS_FISHEYE)
        return;
    if (lens->model == SPLAT_LENS_FOV) return;
    polynomial p = polynomial_of(lens);
    double corner = 1.25 * corner_radius(lens), cap = is_disc(lens) ? PI : 50, r = 0, step = fmax(corner, 1e-6) / 200;
    if (!(corner > 0) || !isfinite(corner)) return;
    for (; r < cap; r += step) {
        double next = fmin(r + step, cap), slope, q = radial(&p, next * next, &slope);
        if (!(q + 2 * next * next * slope > 0)) { /* the profile falls: bisection between r and next */
            double low = r, high = next;
            for (int i = 0; i < 60; i++) {
                double middle = 0.5 * (low + high);
                q = radial(&p, middle * middle, &slope);
                if (q + 2 * middle * middle * slope > 0) low = middle; else high = middle;
            }
            lens->max_radius = low;
            return;
        }
        lens->max_radius = next;
        if (next * q > corner) return;
    }
}

void splat_lens_set(splat_lens *lens, splat_lens_model model, const double *parameters)
{
    const splat_lens_form *form = &forms[model];
    lens->model = model;
    memset(lens->coefficients, 0, sizeof lens->coefficients);
    if (form->n_focals) {
        lens->fx = parameters[0];
        lens->fy = parameters[form->n_focals - 1];
        lens->cx = parameters[form->n_focals];
        lens->cy = parameters[form->n_focals + 1];
    } else { /* pixels a radian, and the middle */
        lens->fx = lens->width / (2 * PI);
        lens->fy = lens->height / PI;
        lens->cx = 0.5 * lens->width;
        lens->cy = 0.5 * lens->height;
    }
    int first = splat_lens_n_parameters(form) - form->n_coefficients;
    memcpy(lens->coefficients, parameters + first, (size_t)form->n_coefficients * sizeof *parameters);
    splat_lens_prepare(lens);
}

bool splat_lens_is_pinhole(const splat_lens *lens)
{
    if (forms[lens->model].is_fisheye) return false;
    for (int i = 0; i < forms[lens->model].n_coefficients; i++)
        if (fabs(lens->coefficients[i]) > 1e-8) return false;
    return true;
}

bool splat_lens_equal(const splat_lens *a, const splat_lens *b)
{
    return a->model == b->model && a->width == b->width && a->height == b->height && a->fx == b->fx && a->fy == b->fy &&
           a->cx == b->cx && a->cy == b->cy && a->max_angle == b->max_angle &&
           memcmp(a->coefficients, b->coefficients, sizeof a->coefficients) == 0;
}

/* ---------------------------------------------------------------- FOV, DIVISION, EUCM, EQUIRECTANGULAR */

/* FOV: what a point at distance r of the plane is multiplied by. */
static double fov_factor(double omega, double r2)
{
    if (omega * omega < 1e-4) return omega * omega * r2 / 3 - omega * omega / 12 + 1;
    double t = tan(omega / 2);
    if (r2 < 1e-4) return -2 * t * (4 * r2 * t * t - 3) / (3 * omega);
    double r = sqrt(r2);
    return atan(2 * r * t) / (r * omega);
}

static double fov_factor_back(double omega, double r2)
{
    if (omega * omega < 1e-4) return 1 / (omega * omega * r2 / 3 - omega * omega / 12 + 1);
    double t = tan(omega / 2);
    if (r2 < 1e-4) return omega * (omega * omega * r2 + 3) / (6 * t);
    double r = sqrt(r2);
    return r * omega < PI / 2 ? tan(r * omega) / (2 * r * t) : NAN;
}

static bool division_project(double k, const double ray[3], double m[2])
{
    double root = ray[2] * ray[2] - 4 * k * (ray[0] * ray[0] + ray[1] * ray[1]);
    if (root < 0) return false;
    double under = ray[2] + sqrt(root);
    if (!(under > 0)) return false;
    m[0] = 2 * ray[0] / under;
    m[1] = 2 * ray[1] / under;
    return true;
}

/* EUCM is not seen behind its own horizon: z > -w d, with w from alpha (Khomutenko et al., An enhanced unified camera
 * model, eq. 15 to 17). */
static bool eucm_project(const double *c, const double ray[3], double m[2])
{
    double alpha = c[0], beta = c[1], d = sqrt(beta * (ray[0] * ray[0] + ray[1] * ray[1]) + ray[2] * ray[2]);
    double w = alpha <= 0.5 ? alpha / (1 - alpha) : (1 - alpha) / alpha, under = alpha * d + (1 - alpha) * ray[2];
    if (!(ray[2] > -w * d) || !(under > 0)) return false;
    m[0] = ray[0] / under;
    m[1] = ray[1] / under;
    return true;
}

static bool eucm_unproject(const double *c, const double m[2], double ray[3])
{
    double alpha = c[0], beta = c[1], gamma = 1 - alpha, r2 = m[0] * m[0] + m[1] * m[1];
    double root = 1 - (alpha - gamma) * beta * r2;
    if (root < 0) return false;
    ray[2] = (1 - alpha * alpha * beta * r2) / (alpha * sqrt(root) + gamma);
    ray[0] = m[0];
    ray[1] = m[1];
    return isfinite(ray[2]);
}

/* ---------------------------------------------------------------- rays and pixels */

/* The point on the plane z = 1, or on a fisheye's disc. */
static bool point_of_ray(const splat_lens *lens, const double ray[3], double point[2])
{
    double side = hypot(ray[0], ray[1]), factor;
    if (is_disc(lens)) {
        double angle = atan2(side, ray[2]);
        if (!(angle <= lens->max_radius)) return false;
        factor = side > TINY * fabs(ray[2]) ? angle / side : ray[2] > 0 ? 1 / ray[2] : 0;
    } else {
        if (!(ray[2] > TINY) || !(side <= lens->max_radius * ray[2])) return false;
        factor = 1 / ray[2];
    }
    point[0] = factor * ray[0];
    point[1] = factor * ray[1];
    return true;
}

static bool is_within(const splat_lens *lens, const double ray[3])
{
    return !(lens->max_angle > 0) || atan2(hypot(ray[0], ray[1]), ray[2]) <= lens->max_angle;
}

bool splat_lens_project(const splat_lens *lens, const double ray[3], double pixel[2])
{
    double point[2], jacobian[4], m[2];
    const double *c = lens->coefficients;
    if (!is_within(lens, ray)) return false;
    switch (lens->model) {
    case SPLAT_LENS_SIMPLE_DIVISION: case SPLAT_LENS_DIVISION:
        if (!division_project(c[0], ray, m)) return false;
        break;
    case SPLAT_LENS_EUCM:
        if (!eucm_project(c, ray, m)) return false;
        break;
    case SPLAT_LENS_EQUIRECTANGULAR:
        m[0] = atan2(ray[0], ray[2]);
        m[1] = -atan2(-ray[1], hypot(ray[0], ray[2]));
        break;
    case SPLAT_LENS_FOV:
        if (!point_of_ray(lens, ray, point)) return false;
        for (int i = 0; i < 2; i++) m[i] = point[i] * fov_factor(c[0], point[0] * point[0] + point[1] * point[1]);
        break;
    default: {
        if (!point_of_ray(lens, ray, point)) return false;
        polynomial p = polynomial_of(lens);
        distort(&p, point[0], point[1], m, jacobian);
    }
    }
    pixel[0] = lens->fx * m[0] + lens->cx;
    pixel[1] = lens->fy * m[1] + lens->cy;
    return isfinite(pixel[0]) && isfinite(pixel[1]);
}

static bool ray_of_point(const splat_lens *lens, const double point[2], double ray[3])
{
    double r = hypot(point[0], point[1]), factor = 1;
    if (!(r <= lens->max_radius)) return false;
    ray[2] = 1;
    if (is_disc(lens)) {
        if (r > PI) return false;
        factor = r > TINY ? sin(r) / r : 1;
        ray[2] = cos(r);
    }
    ray[0] = factor * point[0];
    ray[1] = factor * point[1];
    return true;
}

bool splat_lens_unproject(const splat_lens *lens, const double pixel[2], double ray[3])
{
    const double *c = lens->coefficients, m[2] = {(pixel[0] - lens->cx) / lens->fx, (pixel[1] - lens->cy) / lens->fy};
    double point[2], r2 = m[0] * m[0] + m[1] * m[1];
    switch (lens->model) {
    case SPLAT_LENS_SIMPLE_DIVISION: case SPLAT_LENS_DIVISION:
        ray[0] = m[0];
        ray[1] = m[1];
        ray[2] = 1 + c[0] * r2;
        break;
    case SPLAT_LENS_EUCM:
        if (!eucm_unproject(c, m, ray)) return false;
        break;
    case SPLAT_LENS_EQUIRECTANGULAR:
        if (fabs(m[1]) > PI / 2) return false;
        ray[0] = cos(m[1]) * sin(m[0]);
        ray[1] = sin(m[1]);
        ray[2] = cos(m[1]) * cos(m[0]);
        break;
    case SPLAT_LENS_FOV:
        for (int i = 0; i < 2; i++) point[i] = m[i] * fov_factor_back(c[0], r2);
        if (!ray_of_point(lens, point, ray)) return false;
        break;
    default: {
        polynomial p = polynomial_of(lens);
        if (!undistort(&p, m, point) || !ray_of_point(lens, point, ray)) return false;
    }
    }
    double length = sqrt(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2]);
    if (!(length > 0) || !isfinite(length) || !is_within(lens, ray)) return false;
    for (int i = 0; i < 3; i++) ray[i] /= length;
    return true;
}
