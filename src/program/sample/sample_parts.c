/* Lists of parts: building and rays. */
#include "sample/sample_parts.h"

#include "sample/sample_hits.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- building */

splat_part *splat_parts_add(splat_parts *parts, splat_part part)
{
    part.bound2 = splat_part_bound_squared(&part) * (1 + 1e-9);
    if (parts->n == parts->capacity) {
        int capacity = parts->capacity ? 2 * parts->capacity : 64;
        splat_part *items = realloc(parts->items, (size_t)capacity * sizeof *items);
        if (!items) {
            parts->lacks_memory = true;
            parts->dropped = part;
            return &parts->dropped;
        }
        parts->items = items;
        parts->capacity = capacity;
    }
    parts->items[parts->n] = part;
    return &parts->items[parts->n++];
}

splat_vec3 splat_vec3_turn(splat_vec3 v, double angle)
{
    double c = cos(angle), s = sin(angle);
    return splat_vec3_make(c * v.x - s * v.z, v.y, s * v.x + c * v.z);
}

void splat_parts_turn(splat_parts *parts, double angle)
{
    for (int i = 0; i < parts->n; i++) {
        splat_part *part = &parts->items[i];
        part->center = splat_vec3_turn(part->center, angle);
        for (int k = 0; k < 3; k++) part->axes[k] = splat_vec3_turn(part->axes[k], angle);
    }
    for (int i = 0; i < parts->n_lights; i++)
        parts->lights[i].place = splat_vec3_turn(parts->lights[i].place, angle);
    for (int i = 0; i < parts->n_walls; i++)
        parts->walls[i].normal = splat_vec3_turn(parts->walls[i].normal, angle);
}

void splat_parts_make_tree(splat_parts *parts)
{
    splat_tree_box *boxes = malloc((size_t)(parts->n + 1) * sizeof *boxes);
    for (int i = 0; boxes && i < parts->n; i++) splat_part_box(&parts->items[i], boxes[i].low, boxes[i].high);
    if (!boxes || !splat_tree_make(&parts->tree, boxes, parts->n)) parts->lacks_memory = true;
    free(boxes);
}

void splat_parts_release(splat_parts *parts)
{
    free(parts->items);
    splat_tree_free(&parts->tree);
    parts->items = NULL;
    parts->n = parts->capacity = 0;
}

/* ---------------------------------------------------------------- rays */

/* The nearest part before *t, which becomes its place; -1: none. is_any: the first part found will do. */
static int walk_tree(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, bool is_any, double *t)
{
    const splat_tree_node *nodes = parts->tree.nodes;
    splat_vec3 inverse = {1 / direction.x, 1 / direction.y, 1 / direction.z};
    struct {
        int node;
        double enter;
    } stack[SPLAT_TREE_MAX_DEPTH + 2];
    int n = 1, best = -1;
    stack[0].node = 0;
    stack[0].enter = splat_tree_enter(&nodes[0].box, origin, inverse, *t);
    while (n-- > 0) {
        const int at = stack[n].node;
        if (stack[n].enter > *t) continue;
        for (int i = nodes[at].first; i < nodes[at].first + nodes[at].n; i++) {
            int part = parts->tree.order[i];
            double place = splat_part_hit(&parts->items[part], origin, direction, *t);
            if (place >= *t) continue;
            *t = place;
            best = part;
            if (is_any) return best;
        }
        if (nodes[at].n) continue;
        const int children[2] = {at + 1, nodes[at].right};
        double enter[2];
        for (int k = 0; k < 2; k++) enter[k] = splat_tree_enter(&nodes[children[k]].box, origin, inverse, *t);
        int nearer = enter[1] < enter[0];
        for (int k = 0; k < 2; k++) { /* the nearer one on top */
            int child = k ? nearer : !nearer;
            stack[n].node = children[child];
            stack[n].enter = enter[child];
            n++;
        }
    }
    return best;
}

static int walk_list(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, bool is_any, double *t)
{
    int best = -1;
    for (int i = 0; i < parts->n && !(is_any && best >= 0); i++) {
        double place = splat_part_hit(&parts->items[i], origin, direction, *t);
        if (place >= *t) continue;
        *t = place;
        best = i;
    }
    return best;
}

bool splat_parts_trace(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, splat_parts_hit *hit)
{
    hit->t = no_hit;
    hit->part = parts->tree.nodes ? walk_tree(parts, origin, direction, false, &hit->t)
                                  : walk_list(parts, origin, direction, false, &hit->t);
    if (hit->part < 0) return false;
    const splat_part *part = &parts->items[hit->part];
    hit->position = splat_vec3_along(origin, direction, hit->t);
    splat_vec3 local = splat_part_to_local(part, splat_vec3_sub(hit->position, part->center));
    hit->normal = splat_vec3_normalize(splat_part_to_world(part, splat_part_normal(part, local)));
    return true;
}

bool splat_parts_is_occluded(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, double distance)
{
    return (parts->tree.nodes ? walk_tree(parts, origin, direction, true, &distance)
                              : walk_list(parts, origin, direction, true, &distance)) >= 0;
}
