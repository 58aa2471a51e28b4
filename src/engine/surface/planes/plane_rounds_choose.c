/* Residuals of round surfaces at the cells of segments, and the choice. */
#include "surface/planes/plane_rounds_choose.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round_shape.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSES 8            /* of cells that follow those around them */
#define CLEARLY 4.0f        /* residuals of a surface around a cell may be so much larger */
#define FAR_OFF 0.2f        /* of the depth: no cell moves farther */

/* A segment of a view, its cells, and what photos say of what they have and of a round surface. */
typedef struct round_chooser {
    const plane_shade *shade;
    const plane_rounds *rounds;
    plane_surface *surface;
    uint32_t number, segment, columns, rows;
    float noise, *now, *own; /* [cells] residuals; INFINITY: not asked */
    uint8_t *sheet;          /* [cells] of the round surface */
    plane_site *sites;       /* [cells]; n_views 0: none */
    float *depths;           /* [cells] inverse, of what they have */
} round_chooser;

/* The middle of a cell, or a pixel of the segment in it. False: there is none. */
static bool pixel_of(const round_chooser *o, uint32_t x, uint32_t y, plane_site *site)
{
    const plane_smooth *s = &o->surface->smooth;
    const splat_camera *c = &o->shade->maps->views[o->number].camera;
    const plane_view *view = &o->shade->views[o->number];
    const int left = s->left + (int)x * s->step, top = s->top + (int)y * s->step, half = s->step / 2;
    for (int k = 0; k < s->step * s->step; k++) {
        const int i = left + (half + k % s->step) % s->step, j = top + (half + k / s->step) % s->step;
        if (i < 0 || j < 0 || i >= c->width || j >= c->height) continue;
        if ((view->labels[(size_t)j * (size_t)c->width + (size_t)i] & PLANE_LABEL_SEGMENT) != o->segment + 1) continue;
        *site = (plane_site){.view = o->number, .x = (float)i + 0.5f, .y = (float)j + 0.5f};
        return true;
    }
    return false;
}

/* Residuals of what the cells have, where that is no plane. */
static void ask_now(round_chooser *o)
{
    const splat_camera *c = &o->shade->maps->views[o->number].camera;
    for (uint32_t i = 0; i < o->columns * o->rows; i++) {
        plane_site site;
        plane_slant slant;
        o->now[i] = INFINITY;
        o->sites[i].n_views = 0;
        if (!pixel_of(o, i % o->columns, i / o->columns, &site)) continue;
        const size_t pixel = (size_t)site.y * (size_t)c->width + (size_t)site.x;
        if (!plane_round_slant_now(o->shade, o->number, pixel, &slant) || !(slant.q > 0)) continue;
        plane_shade_look(o->shade, &slant, &site);
        o->now[i] = fminf(plane_shade_residual(o->shade, &site, &slant), 5);
        o->sites[i] = site;
        o->depths[i] = slant.q;
    }
}

static void ask_round(round_chooser *o, const plane_round *round)
{
    const splat_camera *c = &o->shade->maps->views[o->number].camera;
    for (uint32_t i = 0; i < o->columns * o->rows; i++) {
        plane_slant slant;
        plane_site site = o->sites[i];
        bool is_far;
        o->own[i] = INFINITY;
        if (!(o->now[i] < INFINITY) ||
            !plane_round_nearest(c, round, site.x, site.y, o->depths[i], FAR_OFF, &is_far, &slant))
            continue;
        o->sheet[i] = is_far;
        plane_shade_look(o->shade, &slant, &site);
        o->own[i] = fminf(plane_shade_residual(o->shade, &site, &slant), 5);
    }
}

/* Means over a cell and its eight neighbours that have both; false: they are too few. */
static bool compare(const round_chooser *o, uint32_t at, float *own, float *now)
{
    const uint32_t x = at % o->columns, y = at / o->columns;
    int n = 0, n_cells = 0;
    *own = *now = 0;
    for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < o->rows; j++)
        for (uint32_t i = x ? x - 1 : 0; i <= x + 1 && i < o->columns; i++) {
            const uint32_t k = j * o->columns + i;
            n_cells += o->now[k] < INFINITY;
            if (!(o->own[k] < INFINITY)) continue;
            *own += o->own[k];
            *now += o->now[k];
            n++;
        }
    if (2 * n <= n_cells) return false;
    *own /= (float)n;
    *now /= (float)n;
    return true;
}

/* Cells between those of a round surface take it as well, unless the photos say otherwise more clearly: views that see
 * a gloss or a shadow leave gaps. */
static void surround(const round_chooser *o, size_t r, float *best, uint8_t *choices)
{
    const uint8_t first = (uint8_t)(PLANE_CHOICE_ROUND + 2 * r);
    for (uint32_t i = 0; i < o->columns * o->rows; i++) {
        const uint32_t x = i % o->columns, y = i / o->columns;
        uint32_t n = 0, n_cells = 0;
        if (best[i] < INFINITY || !(o->own[i] < CLEARLY * o->now[i] + o->noise)) continue;
        for (uint32_t v = y ? y - 1 : 0; v <= y + 1 && v < o->rows; v++)
            for (uint32_t u = x ? x - 1 : 0; u <= x + 1 && u < o->columns; u++) {
                const uint8_t choice = choices[v * o->columns + u];
                n_cells += o->now[v * o->columns + u] < INFINITY;
                n += choice == first || choice == first + 1;
            }
        if (2 * n < n_cells) continue;
        best[i] = o->own[i];
        choices[i] = (uint8_t)(first + o->sheet[i]);
    }
}

static splat_status choose_segment(round_chooser *o, splat_error *error)
{
    const size_t n = (size_t)o->columns * o->rows;
    float *best = malloc((n + 1) * sizeof *best);
    uint8_t *choices = malloc(n + 1);
    o->now = malloc((n + 1) * sizeof *o->now);
    o->own = malloc((n + 1) * sizeof *o->own);
    o->sheet = malloc(n + 1);
    o->sites = malloc((n + 1) * sizeof *o->sites);
    o->depths = malloc((n + 1) * sizeof *o->depths);
    const bool ok = best && choices && o->now && o->own && o->sheet && o->sites && o->depths;
    if (ok) {
        ask_now(o);
        memcpy(choices, o->surface->choices, n);
        for (size_t i = 0; i < n; i++) best[i] = INFINITY;
    }
    for (size_t r = 0; r < (ok ? o->rounds->n : 0); r++) {
        ask_round(o, &o->rounds->all[r]);
        for (uint32_t i = 0; i < n; i++) {
            float own, now;
            if (!(o->own[i] < INFINITY) || !compare(o, i, &own, &now)) continue;
            if (own > PLANE_ROUND_WORSE * now + PLANE_ROUND_MORE * o->noise || own >= best[i]) continue;
            best[i] = own;
            choices[i] = (uint8_t)(PLANE_CHOICE_ROUND + 2 * r + o->sheet[i]);
        }
        for (int pass = 0; pass < PASSES; pass++) surround(o, r, best, choices);
    }
    if (ok) memcpy(o->surface->choices, choices, n);
    free(best);
    free(choices);
    free(o->now);
    free(o->own);
    free(o->sheet);
    free(o->sites);
    free(o->depths);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells of a plain segment", n);
}

splat_status plane_rounds_choose(const plane_shade *shade, const plane_rounds *rounds, float noise, uint32_t number,
                                 splat_error *error)
{
    plane_view *view = (plane_view *)&shade->views[number];
    view->rounds = rounds;
    for (uint32_t i = 0; i < view->n_segments && rounds->n; i++) {
        plane_surface *surface = &view->surfaces[i];
        if (!surface->choices) continue;
        round_chooser o = {.shade = shade, .rounds = rounds, .surface = surface, .number = number, .segment = i,
                           .columns = surface->smooth.width - 1, .rows = surface->smooth.height - 1, .noise = noise};
        SPLAT_TRY(choose_segment(&o, error));
    }
    return SPLAT_OK;
}
