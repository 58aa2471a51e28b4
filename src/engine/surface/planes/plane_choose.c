/* Residuals of hypotheses at the cells of a segment, and the choice. */
#include "surface/planes/plane_choose.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round.h"
#include "surface/planes/plane_votes.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.004     /* of the picture: smaller segments have no smooth surface */
#define BEATS 0.7f           /* of the residual of what is beaten */
#define MOST_FOUND 0.6f      /* of nine cells: those that shading found, where a smooth surface replaces a plane */
#define LEAST_FOUND 0.3f     /* and where there is none */
#define LIKE 0.03f           /* of the depth: so near to what shading found is the splat's depth where it is right */
#define APART 0.06f          /* of the depth, between a plane and a splat that shows something before it */
#define NEAR 0.04f           /* of the depth: a plane of the scene that a segment may show lies so near to */
#define NEAR_PART 0.15       /* this part of the segment's smooth surface, */
#define CLOSE 0.015f         /* and so near at a place that shows it */
#define OFF 5.0f             /* noises and residuals that a photo may be off the others */

/* ---------------------------------------------------------------- cells */

static void make_cells(plane_chooser *o, const int box[4])
{
    const splat_camera *c = &o->map->camera;
    int step = o->smooth.step;
    for (size_t i = 0; i < o->n_cells; i++) {
        int left = box[0] + (int)(i % o->columns) * step, top = box[1] + (int)(i / o->columns) * step, best = INT32_MAX;
        plane_follow_cell *own = &o->cells[i];
        *own = (plane_follow_cell){.pixel = UINT32_MAX, .slot = -1};
        for (int y = top; y < top + step && y <= box[3]; y++)
            for (int x = left; x < left + step && x <= box[2]; x++) {
                size_t p = (size_t)y * (size_t)c->width + (size_t)x;
                int dx = 2 * (x - left) + 1 - step, dy = 2 * (y - top) + 1 - step;
                if ((o->view->labels[p] & PLANE_LABEL_SEGMENT) != o->segment_number + 1 || dx * dx + dy * dy >= best)
                    continue;
                best = dx * dx + dy * dy;
                own->pixel = (uint32_t)p;
            }
        if (own->pixel == UINT32_MAX) continue;
        own->slot = (int)(o->view->labels[own->pixel] >> PLANE_LABEL_SHIFT) - 1;
        own->site.view = o->number;
        own->site.x = (float)(own->pixel % (uint32_t)c->width) + 0.5f;
        own->site.y = (float)(own->pixel / (uint32_t)c->width) + 0.5f;
    }
}

/* The residual of the other views may be small where the cell's own photo is left out of it: that photo counts, too. */
static float residual(const plane_chooser *o, plane_follow_cell *own, const plane_slant *slant)
{
    plane_shade_look(o->shade, slant, &own->site);
    const float spread = plane_shade_residual(o->shade, &own->site, slant);
    return spread + fmaxf(plane_shade_own_off(o->shade, &own->site, slant) - OFF * (o->noise + spread), 0);
}

/* True if a hypothesis of a plane lies in its rectangle, or is what the place is labelled with. */
static bool is_within(const plane_chooser *o, const plane_follow_cell *own, int k, const plane_slant *slant)
{
    float position[3];
    splat_camera_unproject(&o->map->camera, own->site.x, own->site.y, 1 / slant->q, position);
    return k == own->slot || plane_cell(&o->planes[o->candidates[k]], position) != SIZE_MAX;
}

/* Residuals of candidates from `first` on. */
static void ask_planes(const plane_chooser *o, plane_follow_cell *own, int first)
{
    for (int k = first; k < PLANE_CANDIDATES; k++) {
        plane_slant slant, smooth;
        own->planes[k] = INFINITY;
        if (k < o->n_candidates &&
            plane_shade_slant(&o->map->camera, &o->planes[o->candidates[k]].fit, own->site.x, own->site.y, &slant) &&
            is_within(o, own, k, &slant) &&
            (k < o->n_own || (plane_smooth_at(&o->smooth, own->site.x, own->site.y, &smooth) &&
                            fabsf(slant.q - smooth.q) < CLOSE * smooth.q)))
            own->planes[k] = residual(o, own, &slant);
    }
}

/* ---------------------------------------------------------------- what stands before a plane */

static float cut(float r)
{
    return fminf(r, 5);
}

/* True if the splat's depth of a cell lies before its plane. Then own->raw becomes its residual. */
static bool lies_before(const plane_chooser *o, plane_follow_cell *own)
{
    plane_slant plane, raw;
    if (own->pixel == UINT32_MAX || own->slot < 0 || !(own->planes[own->slot] < INFINITY) ||
        !plane_shade_slant_of_map(o->map, own->pixel, &raw) ||
        !plane_shade_slant(&o->map->camera, &o->planes[o->candidates[own->slot]].fit, own->site.x, own->site.y, &plane))
        return false;
    if (!(plane.q < (1 - APART) * raw.q)) return false;
    own->raw = residual(o, own, &raw);
    return own->raw < INFINITY;
}

/* Marks a connected part of cells whose splat lies before their planes, if the photos say so of all together.
 * queue: room for all cells. */
static void judge_part(plane_chooser *o, size_t first, size_t *queue)
{
    const size_t columns = o->columns, rows = o->n_cells / columns;
    size_t head = 0, tail = 0;
    double plane = 0, raw = 0;
    queue[tail++] = first;
    o->cells[first].is_before = false;
    while (head < tail) {
        const size_t i = queue[head++], x = i % columns, y = i / columns;
        const size_t next[4] = {x > 0 ? i - 1 : i, x + 1 < columns ? i + 1 : i, y > 0 ? i - columns : i,
                                y + 1 < rows ? i + columns : i};
        plane += (double)(cut(o->cells[i].planes[o->cells[i].slot]) + o->noise);
        raw += (double)(cut(o->cells[i].raw) + o->noise);
        for (int k = 0; k < 4; k++) {
            if (!o->cells[next[k]].is_before) continue;
            o->cells[next[k]].is_before = false;
            queue[tail++] = next[k];
        }
    }
    const bool is_off = raw < (double)BEATS * plane;
    for (size_t k = 0; k < tail && is_off; k++) o->cells[queue[k]].is_off = true;
}

/* A plane also takes what stands before it without an edge in the photo, such as a column as bright as the wall. */
static splat_status leave_planes(plane_chooser *o, splat_error *error)
{
    size_t *queue = malloc((o->n_cells + 1) * sizeof *queue);
    if (!queue) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells", o->n_cells);
    for (size_t i = 0; i < o->n_cells; i++) o->cells[i].is_before = lies_before(o, &o->cells[i]);
    for (size_t i = 0; i < o->n_cells; i++)
        if (o->cells[i].is_before) judge_part(o, i, queue);
    free(queue);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the choice */

/* True if nearly all of the segment that does not leave its planes lies on planes with which the photos agree. */
static bool is_explained(const plane_chooser *o)
{
    double sum = 0;
    size_t n = 0, n_on = 0;
    for (size_t i = 0; i < o->n_cells; i++) {
        const plane_follow_cell *own = &o->cells[i];
        if (own->pixel == UINT32_MAX || own->is_off) continue;
        n++;
        if (own->slot < 0) continue;
        float r = own->planes[own->slot];
        n_on++;
        sum += r < 5 ? (double)r : r < INFINITY ? 5 : 0;
    }
    return (double)n_on > 0.95 * (double)n && sum < (double)(PLANE_FAIR * o->noise) * (double)n_on;
}

/* Mean over the cell and its eight neighbours. */
static void mean_around(const plane_chooser *o, size_t at, plane_follow_cell *mean)
{
    size_t x = at % o->columns, y = at / o->columns, rows = o->n_cells / o->columns;
    int n = 0;
    *mean = (plane_follow_cell){0};
    for (size_t j = y ? y - 1 : 0; j <= y + 1 && j < rows; j++)
        for (size_t i = x ? x - 1 : 0; i <= x + 1 && i < o->columns; i++) {
            const plane_follow_cell *other = &o->cells[j * o->columns + i];
            if (other->pixel == UINT32_MAX || !(other->smooth < INFINITY)) continue;
            for (int k = 0; k < PLANE_CANDIDATES; k++) mean->planes[k] += cut(other->planes[k]);
            mean->smooth += cut(other->smooth);
            mean->raw += cut(other->raw);
            mean->found += other->is_found;
            n++;
        }
    if (!n) mean->smooth = mean->raw = INFINITY;
    for (int k = 0; k < PLANE_CANDIDATES && n; k++) mean->planes[k] /= (float)n;
    mean->smooth /= n ? (float)n : 1;
    mean->raw /= n ? (float)n : 1;
    mean->found /= n ? (float)n : 1;
}

static int choose(const plane_chooser *o, size_t at)
{
    const plane_follow_cell *own = &o->cells[at];
    plane_follow_cell mean;
    mean_around(o, at, &mean);
    int slot = own->slot;
    if (slot < 0 && !(o->map->depth[own->pixel] > 0)) return PLANE_CHOICE_KEEP; /* sky, perhaps */
    float limit = fmaxf(PLANE_SUPPORTED, PLANE_SUPPORTED_NOISE * o->noise);
    for (int k = 0; k < o->n_candidates; k++)
        if (own->planes[k] < INFINITY &&
            (slot < 0 ? mean.planes[k] < BEATS * mean.raw && mean.planes[k] < limit
                      : mean.planes[k] < PLANE_FAIR * o->noise &&
                            mean.planes[k] + o->noise < BEATS * (mean.planes[slot] + o->noise)))
            slot = k;
    const bool is_off = own->is_off && slot == own->slot;
    if (is_off) slot = -1;
    float rival = slot >= 0 ? mean.planes[slot] : mean.raw;
    if (slot >= 0) limit = PLANE_FAIR * o->noise;
    if (mean.found >= (slot < 0 ? LEAST_FOUND : MOST_FOUND) && mean.smooth < limit &&
        mean.smooth + o->noise < BEATS * (rival + o->noise))
        return PLANE_CHOICE_SMOOTH;
    if (slot < 0 && o->is_raw_wrong && mean.smooth < mean.raw) return PLANE_CHOICE_GUESS;
    if (is_off) return PLANE_CHOICE_SPLAT;
    return slot == own->slot ? PLANE_CHOICE_KEEP : slot;
}

/* Adds planes of the scene that lie near the smooth surface on a good part of the segment. */
static void add_candidates(plane_chooser *o)
{
    for (size_t i = 0; i < o->n_scene && o->n_candidates < PLANE_CANDIDATES; i++) {
        bool is_new = true;
        size_t n = 0, n_near = 0;
        for (int k = 0; k < o->n_candidates; k++) is_new &= o->candidates[k] != i;
        for (size_t k = 0; k < o->n_cells && is_new; k++) {
            const plane_follow_cell *own = &o->cells[k];
            plane_slant plane, smooth;
            if (own->pixel == UINT32_MAX) continue;
            n++;
            n_near += plane_smooth_at(&o->smooth, own->site.x, own->site.y, &smooth) &&
                      plane_shade_slant(&o->map->camera, &o->planes[i].fit, own->site.x, own->site.y, &plane) &&
                      fabsf(plane.q - smooth.q) < NEAR * smooth.q;
        }
        if (is_new && (double)n_near > NEAR_PART * (double)n) o->candidates[o->n_candidates++] = (uint16_t)i;
    }
}

/* True if most of the places that shading found have another depth in the splat. */
static bool is_raw_wrong(const plane_chooser *o)
{
    size_t n = 0, n_like = 0;
    for (size_t i = 0; i < o->n_cells; i++) {
        const plane_follow_cell *own = &o->cells[i];
        if (own->pixel == UINT32_MAX || !own->is_found) continue;
        n++;
        n_like += fabsf(o->map->depth[own->pixel] * own->known.q - 1) < LIKE;
    }
    return 2 * n_like < n;
}

/* Residuals of all hypotheses at the cells, after the smooth surface is known. */
static void ask_all(plane_chooser *o)
{
    for (size_t i = 0; i < o->n_cells; i++) {
        plane_follow_cell *own = &o->cells[i];
        plane_slant slant;
        if (own->pixel == UINT32_MAX) continue;
        ask_planes(o, own, o->n_own);
        own->smooth = own->raw = INFINITY;
        if (plane_smooth_at(&o->smooth, own->site.x, own->site.y, &slant)) own->smooth = residual(o, own, &slant);
        if (plane_shade_slant_of_map(o->map, own->pixel, &slant)) own->raw = residual(o, own, &slant);
    }
    o->is_raw_wrong = is_raw_wrong(o);
}

static splat_status choose_all(plane_chooser *o, plane_surface *surface, splat_error *error)
{
    bool is_fitted = false;
    for (; o->n_candidates < o->segment->n_planes; o->n_candidates++)
        o->candidates[o->n_candidates] = o->segment->planes[o->n_candidates];
    o->n_own = o->n_candidates;
    for (size_t i = 0; i < o->n_cells; i++)
        if (o->cells[i].pixel != UINT32_MAX) ask_planes(o, &o->cells[i], 0);
    SPLAT_TRY(leave_planes(o, error));
    if (o->is_large && !is_explained(o)) SPLAT_TRY(plane_follow(o, &is_fitted, error));
    if (is_fitted) {
        add_candidates(o);
        ask_all(o);
    }
    surface->choices = malloc((o->n_cells + 1) * sizeof *surface->choices);
    surface->first = malloc((o->n_cells + 1) * sizeof *surface->first);
    if (!surface->choices || !surface->first)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells", o->n_cells);
    for (size_t i = 0; i < o->n_cells; i++) {
        const plane_follow_cell *own = &o->cells[i];
        int choice = own->is_off ? PLANE_CHOICE_SPLAT : PLANE_CHOICE_KEEP;
        if (is_fitted && own->pixel != UINT32_MAX) choice = choose(o, i);
        surface->choices[i] = (uint16_t)choice;
    }
    memcpy(surface->first, surface->choices, o->n_cells * sizeof *surface->first);
    memcpy(surface->planes, o->candidates, sizeof surface->planes);
    surface->smooth = o->smooth;
    o->smooth.q = NULL;
    return SPLAT_OK;
}

static splat_status choose_segment(plane_chooser *o, const int box[4], plane_surface *surface, splat_error *error)
{
    SPLAT_TRY(plane_smooth_make(&o->map->camera, o->view, o->segment_number, box, &o->smooth, error));
    o->columns = o->smooth.width - 1;
    o->n_cells = o->columns * (o->smooth.height - 1);
    o->cells = malloc((o->n_cells + 1) * sizeof *o->cells);
    o->known = malloc((o->n_cells + o->segment->n_seeds + 1) * sizeof *o->known);
    splat_status status = SPLAT_OK;
    if (o->cells && o->known) {
        make_cells(o, box);
        status = choose_all(o, surface, error);
    } else {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells of a plain segment", o->n_cells);
    }
    free(o->cells);
    free(o->known);
    plane_smooth_free(&o->smooth);
    return status;
}

splat_status plane_choose(const plane_shade *shade, const plane_global *planes, size_t n_planes, float noise,
                          uint32_t number, splat_error *error)
{
    plane_view *view = (plane_view *)&shade->views[number];
    const splat_view_map *map = &shade->maps->views[number];
    size_t n = splat_camera_pixels(&map->camera), width = (size_t)map->camera.width;
    int(*boxes)[4] = malloc((view->n_segments + 1) * sizeof *boxes);
    view->surfaces = calloc(view->n_segments + 1, sizeof *view->surfaces);
    if (!boxes || !view->surfaces) {
        free(boxes);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the surfaces of %u segments", view->n_segments);
    }
    for (uint32_t i = 0; i < view->n_segments; i++) {
        boxes[i][0] = boxes[i][1] = INT32_MAX;
        boxes[i][2] = boxes[i][3] = -1;
    }
    for (size_t p = 0; p < n; p++) {
        uint32_t label = view->labels[p] & PLANE_LABEL_SEGMENT;
        if (!label) continue;
        int *box = boxes[label - 1], x = (int)(p % width), y = (int)(p / width);
        if (x < box[0]) box[0] = x;
        if (y < box[1]) box[1] = y;
        if (x > box[2]) box[2] = x;
        if (y > box[3]) box[3] = y;
    }
    splat_status status = SPLAT_OK;
    for (uint32_t i = 0; i < view->n_segments && status == SPLAT_OK; i++) {
        if (boxes[i][2] < 0) continue;
        plane_chooser o = {.shade = shade, .planes = planes, .map = map, .view = view, .segment = &view->segments[i],
                     .noise = noise, .number = number, .segment_number = i, .n_scene = n_planes,
                     .is_large = (double)view->segments[i].n_pixels >= LEAST_PART * (double)n};
        status = choose_segment(&o, boxes[i], &view->surfaces[i], error);
    }
    free(boxes);
    return status;
}

void plane_surfaces_free(plane_view *view)
{
    for (uint32_t i = 0; view->surfaces && i < view->n_segments; i++) {
        plane_smooth_free(&view->surfaces[i].smooth);
        free(view->surfaces[i].choices);
        free(view->surfaces[i].first);
        free(view->surfaces[i].residuals);
    }
    free(view->surfaces);
    view->surfaces = NULL;
}

void plane_surfaces_forget(plane_view *view)
{
    for (uint32_t i = 0; view->surfaces && i < view->n_segments; i++) {
        free(view->surfaces[i].residuals);
        view->surfaces[i].residuals = NULL;
    }
}

/* The choice of the cell of a segment's pixel. */
static int choice_of(const plane_surface *surface, int x, int y)
{
    const plane_smooth *s = &surface->smooth;
    if (!surface->choices) return PLANE_CHOICE_KEEP;
    const size_t i = (size_t)((x - s->left) / s->step), j = (size_t)((y - s->top) / s->step);
    return surface->choices[j * (s->width - 1) + i];
}

const plane_round *plane_round_at(const splat_camera *camera, const plane_view *view, size_t pixel, bool *is_far)
{
    const uint32_t segment = view->labels[pixel] & PLANE_LABEL_SEGMENT;
    const int x = (int)(pixel % (size_t)camera->width), y = (int)(pixel / (size_t)camera->width);
    const int choice = segment && view->surfaces ? choice_of(&view->surfaces[segment - 1], x, y) : PLANE_CHOICE_KEEP;
    if (choice < PLANE_CHOICE_ROUND || choice >= PLANE_CHOICE_PLANE) return NULL;
    *is_far = (choice - PLANE_CHOICE_ROUND) % 2;
    return &view->rounds->all[(choice - PLANE_CHOICE_ROUND) / 2];
}

int plane_choice_at(const splat_camera *camera, const plane_view *view, size_t pixel, plane_slant *slant,
                    uint16_t *plane)
{
    const plane_surface *surface = &view->surfaces[(view->labels[pixel] & PLANE_LABEL_SEGMENT) - 1];
    const plane_smooth *s = &surface->smooth;
    const int x = (int)(pixel % (size_t)camera->width), y = (int)(pixel / (size_t)camera->width);
    const int choice = choice_of(surface, x, y);
    if (choice >= PLANE_CHOICE_PLANE) {
        *plane = (uint16_t)(choice - PLANE_CHOICE_PLANE);
        return 0;
    }
    if (choice >= PLANE_CHOICE_ROUND) {
        const int number = choice - PLANE_CHOICE_ROUND;
        return plane_round_slant(camera, &view->rounds->all[number / 2], (float)x + 0.5f, (float)y + 0.5f, number % 2,
                                 slant) ? PLANE_CHOICE_SMOOTH : PLANE_CHOICE_SPLAT;
    }
    if (choice >= PLANE_CHOICE_SMOOTH && !plane_smooth_at(s, (float)x + 0.5f, (float)y + 0.5f, slant))
        return PLANE_CHOICE_KEEP;
    if (choice < PLANE_CANDIDATES) *plane = surface->planes[choice];
    return choice;
}
