/* The surface at places of a grid in every picture, and their levels, listed by place and by view. */
#include "surface/planes/plane_places.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_STEP 4   /* pixels of the small photo between places: they share few of its pixels */
#define NOISE_STEP 8   /* the same where only the noise is asked for */

/* The surface at a pixel: what the photos chose or its plane, is_sure, else the splat's depth. Where that is wrong in a
 * plain region views show other places, of nearly the same light. */
static bool slant_at(const plane_shade *shade, const plane_global *planes, const plane_site *site, bool *is_sure,
                     plane_slant *slant)
{
    const splat_view_map *map = &shade->maps->views[site->view];
    const plane_view *view = &shade->views[site->view];
    size_t pixel = (size_t)site->y * (size_t)map->camera.width + (size_t)site->x;
    uint32_t label = view->labels[pixel], slot = label >> PLANE_LABEL_SHIFT;
    uint16_t plane = slot ? view->segments[(label & PLANE_LABEL_SEGMENT) - 1].planes[slot - 1] : 0;
    int choice = PLANE_CHOICE_KEEP;
    if (label && view->surfaces) choice = plane_choice_at(&map->camera, view, pixel, slant, &plane);
    *is_sure = choice == PLANE_CHOICE_SMOOTH;
    if (*is_sure) return true;
    *is_sure = choice < PLANE_CHOICE_KEEP || (slot && choice != PLANE_CHOICE_SPLAT);
    return *is_sure ? plane_shade_slant(&map->camera, &planes[plane].fit, site->x, site->y, slant)
                    : plane_shade_slant_of_map(map, pixel, slant);
}

int plane_places_step(const plane_shade *shade, int least, size_t most)
{
    size_t n_pixels = 0;
    for (size_t v = 0; v < shade->maps->n; v++)
        n_pixels += (size_t)shade->views[v].shade_width * (size_t)shade->views[v].shade_height;
    int step = least;
    while (n_pixels / (size_t)(step * step) > most) step++;
    return step;
}

size_t plane_places_grid(const plane_shade *shade, size_t v, int step)
{
    const splat_camera *c = &shade->maps->views[v].camera;
    int pixels = step * shade->views[v].shade_side;
    return (size_t)(c->width / pixels + 1) * (size_t)(c->height / pixels + 1);
}

/* Places of one view; returns how many. */
static size_t take(const plane_shade *shade, const plane_global *planes, uint32_t v, int step, plane_place *places)
{
    const splat_camera *c = &shade->maps->views[v].camera;
    size_t n = 0;
    step *= shade->views[v].shade_side;
    for (int y = step / 2; y < c->height; y += step)
        for (int x = step / 2; x < c->width; x += step) {
            plane_site site = {.view = v, .x = (float)x + 0.5f, .y = (float)y + 0.5f};
            plane_slant slant;
            bool is_sure;
            if (!slant_at(shade, planes, &site, &is_sure, &slant)) continue;
            plane_shade_look(shade, &slant, &site);
            places[n].n = plane_shade_logs(shade, &site, &slant, places[n].views, places[n].logs);
            places[n].is_guessed = !is_sure && shade->views[v].labels[(size_t)y * (size_t)c->width + (size_t)x];
            n += places[n].n >= PLANE_SHADE_LEAST;
        }
    return n;
}

/* Lists the levels of each view. */
static bool sort_by_view(plane_places *p)
{
    size_t sum = 0;
    p->first = calloc(p->n_views + 2, sizeof *p->first);
    if (!p->first) return false;
    for (size_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->all[i].n; k++) p->first[p->all[i].views[k] + 1]++;
    /* first[v + 1] counts view v; it becomes where the view begins, and listing moves it to its end */
    for (size_t v = 0; v < p->n_views; v++) {
        size_t count = p->first[v + 1];
        p->first[v + 1] = sum;
        sum += count;
    }
    p->entries = malloc((sum + 1) * sizeof *p->entries);
    if (!p->entries) return false;
    for (size_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->all[i].n; k++)
            p->entries[p->first[p->all[i].views[k] + 1]++] = (uint32_t)(i * PLANE_SHADE_VIEWS + k);
    return true;
}

void plane_places_free(plane_places *p)
{
    free(p->all);
    free(p->first);
    free(p->entries);
    memset(p, 0, sizeof *p);
}

splat_status plane_places_take(const plane_shade *shade, const plane_global *planes, int threads, plane_places *p,
                               splat_error *error)
{
    const size_t n_views = shade->maps->n;
    const int step = plane_places_step(shade, LEAST_STEP, PLANE_MOST_PLACES);
    size_t room = 0, *starts = malloc((n_views + 1) * sizeof *starts), *counts = calloc(n_views + 1, sizeof *counts);
    *p = (plane_places){.n_views = n_views};
    for (size_t v = 0; v < n_views && starts; v++) {
        starts[v] = room;
        room += plane_places_grid(shade, v, step);
    }
    bool ok = starts && counts && (p->all = malloc((room + 1) * sizeof *p->all));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < (ok ? n_views : 0); v++)
        counts[v] = take(shade, planes, (uint32_t)v, step, p->all + starts[v]);
    for (size_t v = 0; v < n_views && ok; v++) {
        memmove(p->all + p->n, p->all + starts[v], counts[v] * sizeof *p->all);
        p->n += counts[v];
    }
    ok = ok && sort_by_view(p);
    free(starts);
    free(counts);
    if (ok) return SPLAT_OK;
    plane_places_free(p);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the light of %zu photos", n_views);
}

uint32_t plane_places_residuals(const plane_shade *shade, const plane_global *planes, uint32_t v, float *residuals)
{
    const splat_camera *c = &shade->maps->views[v].camera;
    int step = NOISE_STEP * shade->views[v].shade_side;
    uint32_t n = 0;
    for (int y = step / 2; y < c->height; y += step)
        for (int x = step / 2; x < c->width && n < PLANE_VIEW_PLACES; x += step) {
            plane_site site = {.view = v, .x = (float)x + 0.5f, .y = (float)y + 0.5f};
            plane_slant slant;
            bool is_sure;
            if (!slant_at(shade, planes, &site, &is_sure, &slant) || !is_sure) continue;
            plane_shade_look(shade, &slant, &site);
            uint32_t views[PLANE_SHADE_VIEWS];
            float logs[3][PLANE_SHADE_VIEWS];
            if (plane_shade_logs(shade, &site, &slant, views, logs) < PLANE_SHADE_LEAST) continue;
            residuals[n] = plane_shade_residual(shade, &site, &slant);
            n += residuals[n] < INFINITY;
        }
    return n;
}
