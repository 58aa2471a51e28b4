/* The places, rims and sites of a surface, its fits, and the judgement of the photos. */
#include "surface/planes/plane_round_shape.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round_touch.h"

#include "math/camera.h"
#include "math/symmetric3.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PLACES 80u    /* of a surface */
#define LEAST_VIEWS 3u      /* that show it */
#define MOVED 0.02          /* of the depth */
#define SHARP 1.3           /* photos tell a surface, or a cylinder whose axis planes tell has so many of the rims: */
#define WORSE 1.2f          /* residuals may be so much larger than those of the small surfaces of the views, */
#define MORE 0.3f           /* and larger by so many noises */
#define SHARP_WORSE 1.5     /* WORSE of such a surface: many small ones fit noise as well */
#define HOPELESS 1.5        /* times the residual that is allowed, after a fit */
#define MOSTLY_RIGHT 0.45
#define LIKELY 2.0          /* and before it is fitted to the shading */
#define LEAST_ARC 0.94      /* cosine: half of the arc of a surface is 20 degrees at least */
#define SITES 400u          /* places whose shading fits a surface */
#define RIMS 1000u          /* seeds of rims that do, */
#define TOUCH_RIMS 8000u    /* or that tell one unknown */
#define RIM_NEAR 0.25       /* of the depth: rims that are farther off say nothing */
#define LEAST_RIGHT 0.12    /* part of the rims that lies on a surface worth a look */
#define SIMPLEX_STEPS 160   /* of the descent to the least cost, and how often it begins */
#define SIMPLEX_STARTS 3
#define FIRST_STEP 0.02     /* of the depth, and radians */
#define LONG 1.5            /* radii: rims of longer cylinders tell the axis */
#define MOST_AXES 4u        /* directions of planes that are tried */
#define STRAIGHT_WORTH 0.85 /* of the rims that lie on the cylinder as it was */
#define TOUCH_WORSE 1.7     /* WORSE of one that touches two walls: its rims tell where it is, */
#define TOUCH_NOISES 9.0    /* and the residual that it may have: others that rims vote for have ten noises or more */
#define SLIDES 30           /* places along the walls, both ways */
#define SLIDE 0.05          /* of the radius: votes are so near */
#define TOUCH_PART 0.011    /* of all places that were asked: at least so many lie on one that touches two walls */
#define TOUCH_FLAT 0.25     /* of the places on it: so many planes explain as well, at most */
#define TOUCH_MOVED 0.1     /* of the radius: so far away fewer rims lie on one */
#define TOUCH_ALONE 0.125   /* of its rims: fewer lie there, and rims tell it alone */
#define NEARER 0.5          /* times the distance from the surface that took a place: it is not that one's */
#define FLAT_RIM 0.1        /* of the radius */

bool plane_round_is_free(const plane_round_fitter *f, uint32_t place)
{
    const uint8_t number = f->s->taker[place];
    if (!number || (f->round.is_fixed && plane_round_is_ball(&f->round))) return true;
    if (!f->round.is_touching || number == PLANE_ROUND_LEFT) return false;
    const plane_round *taker = &f->s->rounds->all[number - 1];
    const float *position = f->s->places[place].position;
    return fabs(splat_dot3(f->round.axis, taker->axis)) < PLANE_ROUND_PARALLEL &&
           fabs(plane_round_distance(&f->round, position)) < NEARER * fabs(plane_round_distance(taker, position));
}

/* The free places on the surface, on the side that more show. False: too few. */
static bool gather(plane_round_fitter *f)
{
    uint32_t n[2] = {0}, n_views = 0, n_flat = 0, last = UINT32_MAX;
    for (uint32_t i = 0; i < f->s->n; i++) {
        const int side = plane_round_is_free(f, i) ? plane_round_side(&f->round, &f->s->places[i]) : 0;
        if (side) n[side > 0]++;
    }
    const int side = n[1] > n[0] ? 1 : -1;
    f->n = 0;
    f->length = 0;
    for (uint32_t i = 0; i < f->s->n; i++) {
        const plane_round_place *p = &f->s->places[i];
        if (!plane_round_is_free(f, i) || plane_round_side(&f->round, p) != side) continue;
        f->inliers[f->n++] = i;
        f->length += (double)p->depth;
        n_views += p->view != last;
        n_flat += p->is_flat;
        last = p->view;
    }
    f->length /= f->n ? f->n : 1;
    if (f->round.is_touching &&
        (n_flat > TOUCH_FLAT * f->n || f->n - n_flat < TOUCH_PART * (double)f->s->n_asked))
        return false;
    return f->n >= LEAST_PLACES && n_views >= LEAST_VIEWS;
}

/* Half of the arc that the places span is 20 degrees or more: a tenth of them lies that far from their middle. */
static bool is_bent(const plane_round_fitter *f)
{
    double sum[3] = {0}, length = 0, outward[3];
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        plane_round_outward(&f->round, f->s->places[f->inliers[i]].position, outward);
        for (int k = 0; k < 3; k++) sum[k] += outward[k];
    }
    for (int k = 0; k < 3; k++) length += sum[k] * sum[k];
    length = sqrt(length);
    if (length < 0.5 * f->n) return true; /* from most sides */
    for (uint32_t i = 0; i < f->n; i++) {
        double cosine = 0;
        plane_round_outward(&f->round, f->s->places[f->inliers[i]].position, outward);
        for (int k = 0; k < 3; k++) cosine += outward[k] * sum[k] / length;
        n += cosine < LEAST_ARC;
    }
    return 10 * n > f->n;
}

/* The sheet of the surface that is nearest to a place of a view. False: none. */
static bool sheet_of(const splat_camera *c, const plane_round *round, const plane_round_place *p, bool *is_far,
                     plane_slant *slant)
{
    plane_slant far;
    const bool has_near = plane_round_slant(c, round, p->x, p->y, false, slant);
    const bool has_far = plane_round_slant(c, round, p->x, p->y, true, &far);
    const float q = 1 / p->depth;
    *is_far = has_far && (!has_near || fabsf(far.q - q) < fabsf(slant->q - q));
    if (*is_far) *slant = far;
    return has_near || has_far;
}

/* Sites of some of the places, with the views that see the surface there. */
static void look(plane_round_fitter *f)
{
    const plane_shade *shade = f->s->shade;
    const uint32_t stride = f->n / SITES + 1;
    f->n_sites = 0;
    for (uint32_t i = 0; i < f->n; i += stride) {
        const plane_round_place *p = &f->s->places[f->inliers[i]];
        plane_site *site = &f->sites[f->n_sites];
        plane_slant slant;
        if (!sheet_of(&shade->maps->views[p->view].camera, &f->round, p, &f->is_far[f->n_sites], &slant)) continue;
        *site = (plane_site){.view = p->view, .x = p->x, .y = p->y};
        plane_shade_look(shade, &slant, site);
        f->n_sites += site->n_views >= PLANE_SHADE_LEAST;
    }
}

static bool tells(const plane_round *round, const plane_seed *seed)
{
    double outward[3];
    if (!(fabs(plane_round_distance(round, seed->position)) < RIM_NEAR * (double)seed->depth)) return false;
    if (!round->is_touching) return true;
    plane_round_outward(round, seed->position, outward);
    return fabs(splat_dot3(outward, round->along)) > PLANE_ROUND_SLANT;
}

/* The rims of the segments of the places, or those that are settled, as far as they are near: every so many-th. */
static void take_rims(plane_round_fitter *f, bool settled_alone, uint32_t most)
{
    const plane_shade *shade = f->s->shade;
    size_t n = 0, stride = 1;
    for (int pass = 0; pass < 2; pass++) {
        stride = pass ? n / most + 1 : 1;
        f->n_rims = 0;
        n = 0;
        f->visit++;
        for (uint32_t i = 0; i < f->n; i++) {
            const plane_round_place *p = &f->s->places[f->inliers[i]];
            uint32_t *visit = &f->visits[f->s->first_segment[p->view] + p->segment];
            if (*visit == f->visit) continue;
            *visit = f->visit;
            const plane_view *view = &shade->views[p->view];
            const plane_segment *segment = &view->segments[p->segment];
            for (uint32_t k = 0; k < segment->n_seeds; k++) {
                const plane_seed *seed = &view->seeds[segment->first_seed + k];
                if ((settled_alone && !seed->is_settled) || !tells(&f->round, seed)) continue;
                if (n++ % stride == 0 && pass) f->seeds[f->n_rims++] = seed;
            }
        }
    }
}

/* The most rims on a surface that touches walls if it stood farther along them, one way or the other. */
static double rims_away(const plane_round_fitter *f)
{
    double most = 0;
    for (int sign = -1; sign <= 1; sign += 2) {
        const double u[PLANE_ROUND_UNKNOWNS] = {sign * TOUCH_MOVED * f->round.radius};
        plane_round_fitter moved = *f;
        moved.round = plane_round_moved(&f->round, u, 1);
        most = fmax(most, plane_round_rims(&moved) * f->n_rims);
    }
    return most;
}

/* True if surely more rims lie on a surface that touches walls than would lie farther along them. */
static bool is_where_rims_are(const plane_round_fitter *f)
{
    const double here = plane_round_rims(f) * f->n_rims, away = rims_away(f);
    return here - away > PLANE_ROUND_SURE * sqrt(here + away);
}

void plane_round_look_at_rims(plane_round_fitter *f)
{
    f->is_settled = false;
    if (!f->round.is_touching) {
        take_rims(f, false, RIMS);
        return;
    }
    take_rims(f, true, TOUCH_RIMS);
    f->is_settled = is_where_rims_are(f);
    if (!f->is_settled) take_rims(f, false, TOUCH_RIMS);
}

/* Residual of what the places have now, mean over the sites in levels. */
static double residual_now(const plane_round_fitter *f)
{
    double sum = 0;
    for (uint32_t i = 0; i < f->n_sites; i++) {
        const plane_site *site = &f->sites[i];
        const size_t pixel = (size_t)site->y * (size_t)f->s->shade->maps->views[site->view].camera.width +
                             (size_t)site->x;
        plane_slant slant;
        float r = 5;
        if (plane_round_slant_now(f->s->shade, site->view, pixel, &slant))
            r = fminf(plane_shade_residual(f->s->shade, site, &slant), 5);
        sum += (double)r;
    }
    return sum / (double)(f->n_sites ? f->n_sites : 1);
}

static double residual_of(const plane_round_fitter *f)
{
    double sum = 0;
    plane_round_cost_of_shading(f, &f->round);
    for (uint32_t i = 0; i < f->n_sites; i++) sum += (double)f->residuals[i];
    return sum / (double)(f->n_sites ? f->n_sites : 1);
}

/* The box around the parts of the surface that the places show, and a tenth more. */
static void bound(plane_round_fitter *f)
{
    for (int k = 0; k < 3; k++) {
        f->round.low[k] = INFINITY;
        f->round.high[k] = -INFINITY;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        const plane_round_place *p = &f->s->places[f->inliers[i]];
        const splat_camera *c = &f->s->shade->maps->views[p->view].camera;
        plane_slant slant;
        float position[3];
        bool is_far;
        if (!sheet_of(c, &f->round, p, &is_far, &slant)) continue;
        splat_camera_unproject(c, p->x, p->y, 1 / slant.q, position);
        for (int k = 0; k < 3; k++) {
            f->round.low[k] = fminf(f->round.low[k], position[k]);
            f->round.high[k] = fmaxf(f->round.high[k], position[k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        const float more = 0.1f * (f->round.high[k] - f->round.low[k]);
        f->round.low[k] -= more;
        f->round.high[k] += more;
    }
}

double plane_round_shape(plane_round_fitter *f)
{
    if (!gather(f)) return 0;
    plane_round_descend(f, plane_round_cost_of_places, FIRST_STEP, SIMPLEX_STEPS / 2);
    for (f->error = 8 * PLANE_ROUND_RIM_ERROR; f->error >= PLANE_ROUND_RIM_ERROR; f->error /= 2) {
        if (!gather(f)) return 0;
        plane_round_look_at_rims(f);
        plane_round_vote(f);
        plane_round_descend(f, plane_round_cost_of_shape, 2 * f->error, SIMPLEX_STEPS / 2);
    }
    if (!gather(f) || !is_bent(f)) return 0;
    plane_round_look_at_rims(f);
    return plane_round_rims(f);
}

double plane_round_worth(const plane_round_fitter *f)
{
    const double part = plane_round_rims(f);
    return part > LEAST_RIGHT ? part * f->n_rims : 0;
}

/* The extent of the rims on a cylinder along its axis. */
static double span(const plane_round_fitter *f)
{
    double n = 0, sum = 0, square = 0;
    for (uint32_t i = 0; i < f->n_rims; i++) {
        const float *p = f->seeds[i]->position;
        double along = 0;
        if (!plane_round_has_rim(f, i)) continue;
        for (int k = 0; k < 3; k++) along += ((double)p[k] - f->round.center[k]) * f->round.axis[k];
        n++;
        sum += along;
        square += along * along;
    }
    return n > 0 ? 3.46 * sqrt(fmax(square / n - sum / n * sum / n, 0)) : 0; /* of equal ones between two ends */
}

void plane_round_straighten(plane_round_fitter *f)
{
    const plane_round free_one = f->round;
    const double least = STRAIGHT_WORTH * plane_round_rims(f) * f->n_rims;
    if (plane_round_is_ball(&free_one)) return;
    const bool is_long = span(f) > LONG * free_one.radius;
    if (is_long && free_one.is_fixed) {
        f->round.is_fixed = false;
        plane_round_descend(f, plane_round_cost_of_rims, PLANE_ROUND_RIM_ERROR, SIMPLEX_STEPS);
    }
    if (is_long || free_one.is_fixed) return;
    for (uint32_t i = 0, n = 0; i < f->s->n_axes && n < MOST_AXES; i++) {
        const double *to = f->s->axes[i].direction, *axis = free_one.axis;
        if (fabs(splat_dot3(to, axis)) < PLANE_ROUND_PARALLEL) continue;
        f->round = free_one;
        memcpy(f->round.axis, to, sizeof f->round.axis);
        f->round.is_fixed = true;
        n++;
        for (f->error = 8 * PLANE_ROUND_RIM_ERROR; f->error >= PLANE_ROUND_RIM_ERROR; f->error /= 2)
            plane_round_descend(f, plane_round_cost_of_rims, 3 * f->error, SIMPLEX_STEPS / 2);
        if (plane_round_worth(f) >= least) return;
    }
    f->round = free_one;
}

/* The least residual of the surface with a radius that is a little smaller or larger, against its own: above 1 the
 * photos tell where it is. */
static double sharpness(const plane_round_fitter *f, double own)
{
    double least = INFINITY;
    for (int k = -1; k < 2; k += 2) {
        plane_round_fitter moved = *f;
        moved.round.radius += k * MOVED * f->length;
        least = fmin(least, residual_of(&moved));
    }
    return least / fmax(own, 1e-9);
}

bool plane_round_is_told_by_rims(const plane_round_fitter *f, double residual)
{
    return is_where_rims_are(f) && (rims_away(f) < TOUCH_ALONE * plane_round_rims(f) * f->n_rims ||
                                    residual < TOUCH_NOISES * (double)f->s->noise);
}

bool plane_round_is_likely(plane_round_fitter *f)
{
    look(f);
    return f->n_sites >= LEAST_PLACES / 2 &&
           residual_of(f) < LIKELY * residual_now(f) + (double)(MORE * f->s->noise);
}

/* Moves a cylinder that touches walls along them to where shading and rims cost least. */
static void slide(plane_round_fitter *f)
{
    const plane_round from = f->round;
    double least = INFINITY;
    f->error = PLANE_ROUND_RIM_ERROR;
    for (int i = -SLIDES; i <= SLIDES; i++) {
        const double u[PLANE_ROUND_UNKNOWNS] = {SLIDE * from.radius * i / SLIDES / f->length};
        const plane_round at = plane_round_moved(&from, u, f->length);
        const double cost = plane_round_cost_of_shading(f, &at);
        if (!(cost < least)) continue;
        least = cost;
        f->round = at;
    }
}

/* The residual below which a surface may take the places from what has them now. */
static double allowed(const plane_round_fitter *f, bool is_sharp)
{
    const double worse = f->round.is_touching ? TOUCH_WORSE : is_sharp ? SHARP_WORSE : (double)WORSE;
    return worse * residual_now(f) + (double)MORE * (double)f->s->noise;
}

/* True if the shading objects so much that no better place nearby will do. */
static bool is_hopeless(const plane_round_fitter *f)
{
    const double own = residual_of(f);
    return own > HOPELESS * allowed(f, true) ||
           (f->round.is_touching && own > HOPELESS * TOUCH_NOISES * (double)f->s->noise);
}

bool plane_round_is_supported(plane_round_fitter *f)
{
    const bool is_end = f->round.is_fixed && plane_round_is_ball(&f->round);
    f->error = 2 * PLANE_ROUND_RIM_ERROR;
    for (int i = 0; i < SIMPLEX_STARTS; i++, f->error = PLANE_ROUND_RIM_ERROR) {
        if (!gather(f)) return false;
        look(f);
        plane_round_look_at_rims(f);
        if (f->n_sites < LEAST_PLACES / 2) return false;
        if (f->round.is_touching) slide(f);
        else if (!is_end)
            plane_round_descend(f, plane_round_cost_of_shading, 2 * f->error, SIMPLEX_STEPS);
        if (!is_end && is_hopeless(f)) return false;
    }
    if (!gather(f)) return false;
    look(f);
    plane_round_look_at_rims(f);
    bound(f);
    if (is_end) return true; /* of its cylinders' radius; the cells decide, of which many show these */
    const double own = residual_of(f);
    f->is_sharp = sharpness(f, own) > SHARP;
    if (!(own < allowed(f, f->is_sharp))) return false;
    if (f->round.is_touching) return f->is_sharp || plane_round_is_told_by_rims(f, own);
    return f->round.radius < PLANE_ROUND_LARGEST * f->length &&
           (f->is_sharp || (f->round.is_fixed && plane_round_rims(f) > MOSTLY_RIGHT));
}

bool plane_round_is_loose(const plane_round_fitter *f)
{
    double n = 0, sum[3] = {0}, square[3][3] = {{0}}, values[3], axes[3][3];
    if (f->round.is_fixed) return false;
    for (uint32_t i = 0; i < f->n_rims; i++) {
        const float *p = f->seeds[i]->position;
        if (!plane_round_has_rim(f, i)) continue;
        for (int k = 0; k < 3; k++) {
            sum[k] += (double)p[k];
            for (int j = 0; j < 3; j++) square[k][j] += (double)p[k] * (double)p[j];
        }
        n++;
    }
    if (!(n > 0)) return true;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) square[k][j] = square[k][j] / n - sum[k] / n * sum[j] / n;
    splat_symmetric3_axes(square, values, axes);
    return values[2] < FLAT_RIM * FLAT_RIM * f->round.radius * f->round.radius;
}

bool plane_round_fitter_make(plane_round_fitter *f, const plane_round_places *s)
{
    *f = (plane_round_fitter){.s = s};
    f->inliers = malloc((s->n + 1) * sizeof *f->inliers);
    f->seeds = malloc(TOUCH_RIMS * sizeof *f->seeds);
    f->sites = malloc((SITES + 1) * sizeof *f->sites);
    f->is_far = malloc((SITES + 1) * sizeof *f->is_far);
    f->residuals = malloc((SITES + 1) * sizeof *f->residuals);
    f->visits = calloc(s->first_segment[s->shade->maps->n] + (size_t)1, sizeof *f->visits);
    return f->inliers && f->seeds && f->sites && f->is_far && f->residuals && f->visits;
}

void plane_round_fitter_free(plane_round_fitter *f)
{
    free(f->inliers);
    free(f->seeds);
    free(f->sites);
    free(f->is_far);
    free(f->residuals);
    free(f->visits);
}
