/* Planes have numbers, which segments, labels and hypotheses of all views know. */
#include "surface/planes/plane_rename.h"

#include "math/camera.h"

#include <stdlib.h>

/* Follows a plane to the end: a larger one may be a sheet, too. */
static uint16_t last_of(const uint16_t *becomes, uint16_t plane)
{
    while (plane != PLANE_NOWHERE && becomes[plane] != plane) plane = becomes[plane];
    return plane;
}

/* The slot of a plane among those of a segment from 1 on, or 0. */
static uint8_t slot_of(const plane_segment *segment, uint16_t plane)
{
    for (uint8_t k = 0; k < segment->n_planes; k++)
        if (segment->planes[k] == plane) return (uint8_t)(k + 1);
    return 0;
}

/* Gives a segment's slots their new planes. slots: of the slots that there were those that they are now, from 1 on. */
static void rename_slots(plane_segment *segment, const uint16_t *becomes, const uint16_t *numbers, uint8_t *slots)
{
    const int n = segment->n_planes, n_strong = segment->n_strong;
    segment->n_planes = segment->n_strong = 0;
    for (int k = 0; k < n; k++) {
        const uint16_t plane = last_of(becomes, segment->planes[k]);
        slots[k + 1] = plane == PLANE_NOWHERE ? 0 : slot_of(segment, numbers[plane]);
        if (plane == PLANE_NOWHERE || slots[k + 1]) continue;
        segment->planes[segment->n_planes++] = numbers[plane];
        segment->n_strong += k < n_strong;
        slots[k + 1] = segment->n_planes;
    }
}

static bool rename_view(const splat_camera *camera, plane_view *view, const uint16_t *becomes, const uint16_t *numbers)
{
    uint8_t(*slots)[PLANE_SLOTS + 1] = calloc((size_t)view->n_segments + 1, sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = 0; i < view->n_segments; i++) rename_slots(&view->segments[i], becomes, numbers, slots[i]);
    for (size_t p = 0; p < splat_camera_pixels(camera); p++) {
        const uint32_t label = view->labels[p], slot = label >> PLANE_LABEL_SHIFT;
        if (!slot) continue;
        const uint32_t segment = (label & PLANE_LABEL_SEGMENT) - 1, now = slots[segment][slot];
        view->segments[segment].n_taken -= !now;
        view->labels[p] = (uint16_t)((label & PLANE_LABEL_SEGMENT) | now << PLANE_LABEL_SHIFT);
    }
    for (uint32_t i = 0; i < view->n_hypotheses; i++) {
        int32_t *plane = &view->hypotheses[i].plane;
        if (*plane >= 0) *plane = becomes[*plane] == *plane ? (int32_t)numbers[*plane] : -1;
    }
    free(slots);
    return true;
}

bool plane_rename(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n,
                  const uint16_t *becomes)
{
    uint16_t numbers[PLANE_MAX_PLANES];
    const size_t before = *n;
    bool ok = true;
    *n = 0;
    for (size_t i = 0; i < before; i++) {
        numbers[i] = (uint16_t)*n;
        if (becomes[i] == i) planes[(*n)++] = planes[i];
    }
    for (size_t v = 0; ok && v < maps->n; v++)
        ok = rename_view(&maps->views[v].camera, &views[v], becomes, numbers);
    return ok;
}
