/* Frames grow by one plane after another, those that are known best first. */
#include "surface/planes/plane_frames.h"

#include "math/vec3.h"

#include <math.h>
#include <string.h>

#define CUT 0.04    /* radians: other angles are meant */
#define DOUBT 0.003 /* radians, more than what tells both planes says */
#define SURE 3.0    /* standard deviations by which a plane may lean */

/* Three directions, and the variances of the planes that they come from. */
typedef struct frame {
    double axes[3][3], variances[3];
    int n; /* known ones: 0, 1 or 3 */
} frame;

/* The variance of a plane's tilt towards a direction: g M^-1 g by Cholesky. */
static double variance_of(const plane_member *p, const double to[3])
{
    double m[3][3], g[3] = {splat_dot3(p->fit.axes[0], to), splat_dot3(p->fit.axes[1], to), 0}, sum = 0;
    memcpy(m, p->information, sizeof m);
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < k; j++) {
            for (int i = 0; i < j; i++) m[k][j] -= m[k][i] * m[j][i];
            m[k][j] /= m[j][j];
            m[k][k] -= m[k][j] * m[k][j];
            g[k] -= m[k][j] * g[j];
        }
        if (!(m[k][k] > 0)) return INFINITY;
        m[k][k] = sqrt(m[k][k]);
        g[k] /= m[k][k];
        sum += g[k] * g[k];
    }
    return sum;
}

/* True if a plane may contain a direction of some variance. Edges with planes that are wrong may have turned it away
 * from what its seeds said. */
static bool may_contain(const plane_member *p, const double to[3], double variance)
{
    const double lean = fmin(fabs(splat_dot3(p->fit.normal, to)), fabs(splat_dot3(p->first.normal, to)));
    variance += variance_of(p, to) + DOUBT * DOUBT;
    return lean < CUT && lean * lean < SURE * SURE * variance;
}

/* The first plane of a frame tells one direction. */
static void begin(const plane_member *p, frame *f)
{
    f->n = 1;
    for (int i = 0; i < 3; i++) {
        memcpy(f->axes[i], i ? p->fit.axes[i - 1] : p->fit.normal, sizeof f->axes[i]);
        f->variances[i] = p->variance;
    }
}

/* The first plane at a right angle to it tells the others. */
static void complete(const plane_member *p, frame *f)
{
    const double along = splat_dot3(p->fit.normal, f->axes[0]), size = sqrt(1 - along * along);
    f->n = 3;
    for (int k = 0; k < 3; k++) f->axes[1][k] = (p->fit.normal[k] - along * f->axes[0][k]) / size;
    splat_cross3(f->axes[0], f->axes[1], f->axes[2]);
    f->variances[1] = f->variances[2] = p->variance;
}

/* Takes a plane into a frame. False: it does not fit. */
static bool join(const plane_member *p, frame *f)
{
    int own = 0;
    if (!f->n) {
        begin(p, f);
        return true;
    }
    for (int i = 1; i < 3; i++)
        if (fabs(splat_dot3(p->fit.normal, f->axes[i])) > fabs(splat_dot3(p->fit.normal, f->axes[own]))) own = i;
    if (f->n == 1 && own > 0) {
        if (!may_contain(p, f->axes[0], f->variances[0])) return false;
        complete(p, f);
        return true;
    }
    for (int i = 0; i < 3; i++)
        if (i != own && !may_contain(p, f->axes[i], fmin(f->variances[i], f->variances[own]))) return false;
    return true;
}

/* The plane without a frame that is known best after those of a variance and a number; n: none. */
static size_t next_of(const plane_member *members, size_t n, const int *frames, double *variance, size_t last)
{
    const double before = *variance;
    size_t best = n;
    *variance = INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!members[i].is_known || frames[i]) continue;
        const double own = members[i].variance;
        if (own < before || (own <= before && last < n && i <= last) || !(own < *variance)) continue;
        *variance = own;
        best = i;
    }
    return best;
}

void plane_frames_find(plane_member *members, size_t n, int *frames)
{
    memset(frames, 0, n * sizeof *frames);
    for (size_t i = 0; i < n; i++) {
        plane_member *p = &members[i];
        p->variance = fmax(variance_of(p, p->fit.axes[0]), variance_of(p, p->fit.axes[1]));
    }
    for (int number = 1;; number++) {
        frame f = {.n = 0};
        double variance = -1;
        size_t n_members = 0, at = n;
        while ((at = next_of(members, n, frames, &variance, at)) < n) {
            if (!join(&members[at], &f)) continue;
            frames[at] = number;
            n_members++;
        }
        if (!n_members) return;
    }
}
