/* Lists of parts: building and rays. */
#include "sample/sample_parts.h"

#include "sample/sample_hits.h"

splat_part *splat_parts_add(splat_parts *parts, splat_part part)
{
    int place = parts->n < SPLAT_PARTS_MAX ? parts->n++ : SPLAT_PARTS_MAX - 1;
    part.bound2 = splat_part_bound_squared(&part) * (1 + 1e-9);
    parts->items[place] = part;
    return &parts->items[place];
}

bool splat_parts_trace(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, splat_parts_hit *hit)
{
    hit->t = no_hit;
    for (int i = 0; i < parts->n; i++) {
        double t = splat_part_hit(&parts->items[i], origin, direction, hit->t);
        if (t >= hit->t) continue;
        hit->t = t;
        hit->part = i;
    }
    if (hit->t >= no_hit) return false;
    const splat_part *part = &parts->items[hit->part];
    hit->position = splat_vec3_along(origin, direction, hit->t);
    splat_vec3 local = splat_part_to_local(part, splat_vec3_sub(hit->position, part->center));
    hit->normal = splat_vec3_normalize(splat_part_to_world(part, splat_part_normal(part, local)));
    return true;
}

bool splat_parts_is_occluded(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, double distance)
{
    for (int i = 0; i < parts->n; i++)
        if (splat_part_hit(&parts->items[i], origin, direction, distance) < distance) return true;
    return false;
}
