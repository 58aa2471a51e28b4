/* The seconds of every part of a command's work. */
#include "stage/part_times.h"

#include <stdio.h>
#include <string.h>

splat_part_times splat_part_times_start(const splat_talk *talk, const char *what)
{
    const splat_counter counter = splat_counter_start(talk, what, 0);
    return (splat_part_times){.counter = counter, .current = SPLAT_PARTS_MOST, .since = splat_seconds()};
}

/* A part begins, or with NULL the last one ends. */
static void turn(splat_part_times *t, const char *name)
{
    double now = splat_seconds();
    size_t i = 0;
    if (t->current < t->n) t->parts[t->current].seconds += now - t->since;
    t->since = now;
    while (name && i < t->n && strcmp(t->parts[i].name, name) != 0) i++;
    if (name && i == t->n && t->n < SPLAT_PARTS_MOST) t->parts[t->n++].name = name;
    t->current = name ? i : SPLAT_PARTS_MOST;
}

bool splat_part_times_tell(void *user, const char *part, double fraction)
{
    splat_part_times *t = user;
    if (t->current >= t->n || strcmp(t->parts[t->current].name, part) != 0) turn(t, part);
    return splat_counter_show(&t->counter, part, fraction);
}

void splat_part_times_write(splat_part_times *t, char *text, size_t size)
{
    size_t used = 0;
    turn(t, NULL);
    text[0] = 0;
    for (size_t i = 0; i < t->n && used < size; i++)
        if (t->parts[i].seconds >= 0.05)
            used += (size_t)snprintf(text + used, size - used, "%s%s %.1f s", used ? ", " : ": ", t->parts[i].name,
                                     t->parts[i].seconds);
}
