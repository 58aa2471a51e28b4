/* Cells of space in hash tables, as many tables as parts, so that threads share nothing. */
#include "surface/extract/point_cells.h"

#include "base/error.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 64u      /* whatever the number of threads: the order of points depends on it */
#define NOWHERE UINT64_MAX
#define GROWTH 1.25
#define MOST_WEIGHT 1e6f /* that Poisson reconstruction takes */
#define MEAN 9         /* position, normal, colour */
#define PLACE_BITS 19  /* of each coordinate of a cell */
#define PLACES (1u << PLACE_BITS)
#define LEVEL_SHIFT 60 /* of a key: level, three coordinates, direction */

typedef struct cell {
    uint64_t key;
    float mean[MEAN], weight;
} cell;

struct splat_cell_part {
    cell *cells; /* [n] in the order of their first samples */
    uint32_t n, capacity;
    uint32_t *slots; /* [n_slots] 1 + number of a cell, 0: free; a power of 2, at most half of them taken */
    uint32_t n_slots;
    bool failed;     /* no memory */
};

uint64_t splat_point_cells_bytes(size_t most_cells)
{
    return (uint64_t)most_cells * (2 * sizeof(cell) + 4 * sizeof(uint32_t));
}

uint64_t splat_surface_agreed_bytes(const splat_mesh_extract_options *options)
{
    uint64_t point = SPLAT_SURFACE_POINT_BYTES + SPLAT_SURFACE_VIEWS_BYTES;
    return options->n_points * point + splat_point_cells_bytes(options->n_points);
}

void splat_point_cells_free(splat_point_cells *cells)
{
    for (size_t i = 0; i < PARTS && cells->parts; i++) {
        free(cells->parts[i].cells);
        free(cells->parts[i].slots);
    }
    free(cells->parts);
    free(cells->order);
    free(cells->part_begin);
    free(cells->keys);
    free(cells->part);
    memset(cells, 0, sizeof *cells);
}

splat_status splat_point_cells_init(splat_point_cells *cells, double smallest, size_t most_cells, int threads,
                                    splat_error *error)
{
    *cells = (splat_point_cells){.smallest = smallest, .side = smallest, .most_cells = most_cells, .threads = threads};
    cells->parts = calloc(PARTS, sizeof *cells->parts);
    cells->part_begin = malloc((PARTS + 1) * sizeof *cells->part_begin);
    if (cells->parts && cells->part_begin) return SPLAT_OK;
    splat_point_cells_free(cells);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the cells of surface points");
}

/* ---------------------------------------------------------------- which cell */

static unsigned level_of(const splat_point_cells *cells, float size)
{
    double level = round(log2((double)size / cells->smallest));
    return level > 0 ? level < SPLAT_CELL_LEVELS ? (unsigned)level : SPLAT_CELL_LEVELS - 1 : 0;
}

static double side_of(const splat_point_cells *cells, uint64_t key)
{
    return ldexp(cells->side, (int)(key >> LEVEL_SHIFT));
}

/* The area of a cell, relative to one of the middle level: a point counts as much as the surface that it stands for. So
 * the weights an area stay even where small cells end at large ones, and the reconstruction shows no step. */
static float area_of(uint64_t key)
{
    return ldexpf(1, 2 * ((int)(key >> LEVEL_SHIFT) - (int)SPLAT_CELL_LEVELS / 2));
}

/* Level, place and main direction of the normal. */
static uint64_t key_of(const splat_point_cells *cells, const splat_cell_sample *s)
{
    uint64_t key = level_of(cells, s->size);
    double side = ldexp(cells->side, (int)key);
    int axis = 0;
    for (int k = 0; k < 3; k++) {
        double at = floor((double)s->position[k] / side) + PLACES / 2;
        if (!(at >= 0 && at < PLACES)) return NOWHERE;
        key = key << PLACE_BITS | (uint64_t)at;
        if (fabsf(s->normal[k]) > fabsf(s->normal[axis])) axis = k;
    }
    return key << 3 | (uint64_t)(2 * axis + (s->normal[axis] < 0));
}

/* The first of the eight cells half as wide; the others follow it by 1 in each coordinate. */
static uint64_t first_child(uint64_t key)
{
    uint64_t child = (key >> LEVEL_SHIFT) - 1;
    for (int k = 2; k >= 0; k--) {
        uint64_t at = key >> (3 + PLACE_BITS * k) & (PLACES - 1);
        child = child << PLACE_BITS | ((2 * (at - PLACES / 2) + PLACES / 2) & (PLACES - 1));
    }
    return child << 3 | (key & 7);
}

/* splitmix64's last steps. */
static uint64_t hash_of(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

static uint32_t part_of(uint64_t key)
{
    return (uint32_t)(hash_of(key) >> 58);
}

/* ---------------------------------------------------------------- tables */

static void put_slot(splat_cell_part *part, uint32_t number)
{
    uint32_t mask = part->n_slots - 1, at = (uint32_t)hash_of(part->cells[number].key) & mask;
    while (part->slots[at]) at = (at + 1) & mask;
    part->slots[at] = number + 1;
}

static bool grow(splat_cell_part *part)
{
    uint32_t capacity = part->capacity ? part->capacity + part->capacity / 2 : 256, n_slots = part->n_slots;
    cell *larger = realloc(part->cells, capacity * sizeof *larger);
    if (!larger) return false;
    part->cells = larger;
    part->capacity = capacity;
    while (n_slots < 2 * (uint64_t)capacity) n_slots = n_slots ? 2 * n_slots : 512;
    if (n_slots == part->n_slots) return true;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots) return false;
    free(part->slots);
    part->slots = slots;
    part->n_slots = n_slots;
    for (uint32_t i = 0; i < part->n; i++) put_slot(part, i);
    return true;
}

/* The slot of a cell, or the free one where it belongs. */
static uint32_t find_slot(const splat_cell_part *part, uint64_t key)
{
    uint32_t mask = part->n_slots - 1, at = (uint32_t)hash_of(key) & mask;
    while (part->slots[at] && part->cells[part->slots[at] - 1].key != key) at = (at + 1) & mask;
    return at;
}

static bool has_cell(const splat_point_cells *cells, uint64_t key)
{
    const splat_cell_part *part = &cells->parts[part_of(key)];
    return part->n_slots > 0 && part->slots[find_slot(part, key)] != 0;
}

static cell *find_cell(splat_cell_part *part, uint64_t key)
{
    if (part->n == part->capacity && !grow(part)) return NULL;
    uint32_t at = find_slot(part, key);
    if (part->slots[at]) return &part->cells[part->slots[at] - 1];
    part->cells[part->n] = (cell){.key = key};
    part->slots[at] = ++part->n;
    return &part->cells[part->n - 1];
}

/* ---------------------------------------------------------------- adding */

static bool make_room(splat_point_cells *cells, size_t n)
{
    if (n <= cells->n_room) return true;
    uint32_t *order = realloc(cells->order, n * sizeof *order);
    if (order) cells->order = order;
    uint64_t *keys = realloc(cells->keys, n * sizeof *keys);
    if (keys) cells->keys = keys;
    uint8_t *part = realloc(cells->part, n);
    if (part) cells->part = part;
    if (order && keys && part) cells->n_room = n;
    return order && keys && part;
}

#define BLOCKS 64u /* of samples, for sorting by threads */

/* keys[n] and part[n]; counts[b][p]: samples of a block and a part. Those that lie nowhere are in part PARTS. */
static void find_parts(splat_point_cells *cells, const splat_cell_sample *samples, const uint8_t *valid, size_t n,
                       uint32_t counts[BLOCKS][PARTS + 1])
{
    size_t length = (n + BLOCKS - 1) / BLOCKS;
#pragma omp parallel for schedule(static) num_threads(cells->threads)
    for (size_t b = 0; b < BLOCKS; b++) {
        memset(counts[b], 0, sizeof counts[b]);
        for (size_t i = b * length; i < n && i < (b + 1) * length; i++) {
            cells->keys[i] = !valid || valid[i] ? key_of(cells, &samples[i]) : NOWHERE;
            cells->part[i] = cells->keys[i] == NOWHERE ? PARTS : (uint8_t)part_of(cells->keys[i]);
            counts[b][cells->part[i]]++;
        }
    }
}

/* Numbers of the samples by part, in their order within each; those that lie nowhere come last. */
static void sort_by_part(splat_point_cells *cells, size_t n, uint32_t counts[BLOCKS][PARTS + 1])
{
    size_t length = (n + BLOCKS - 1) / BLOCKS;
    uint32_t sum = 0;
    for (uint32_t p = 0; p <= PARTS; p++) {
        cells->part_begin[p] = sum;
        for (uint32_t b = 0; b < BLOCKS; b++) { /* a count becomes where the block's first of the part goes */
            uint32_t count = counts[b][p];
            counts[b][p] = sum;
            sum += count;
        }
    }
#pragma omp parallel for schedule(static) num_threads(cells->threads)
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = b * length; i < n && i < (b + 1) * length; i++)
            cells->order[counts[b][cells->part[i]]++] = (uint32_t)i;
}

#define FAR 16u /* samples ahead: their slots come from memory, then, */
#define NEAR 8u /* nearer, their cells */

/* Asks memory for what the samples ahead of number i need; the cells of a part are more than a cache holds. */
static void fetch_ahead(const splat_point_cells *cells, const splat_cell_part *part, uint32_t i, uint32_t end,
                        const splat_cell_sample *samples)
{
    const uint32_t mask = part->n_slots - 1, *order = cells->order;
    if (part->n_slots == 0) return;
    if (i + FAR < end) {
        __builtin_prefetch(&part->slots[(uint32_t)hash_of(cells->keys[order[i + FAR]]) & mask]);
        __builtin_prefetch(&samples[order[i + FAR]]);
    }
    if (i + NEAR < end) {
        const uint32_t slot = part->slots[(uint32_t)hash_of(cells->keys[order[i + NEAR]]) & mask];
        if (slot) __builtin_prefetch(&part->cells[slot - 1], 1);
        if (slot) __builtin_prefetch((const char *)&part->cells[slot] - 1, 1); /* a cell may lie on two lines */
    }
}

static void add_to_part(splat_point_cells *cells, uint32_t p, const splat_cell_sample *samples)
{
    splat_cell_part *part = &cells->parts[p];
    const uint32_t end = cells->part_begin[p + 1];
    for (uint32_t i = cells->part_begin[p]; i < end && !part->failed; i++) {
        fetch_ahead(cells, part, i, end, samples);
        const splat_cell_sample *s = &samples[cells->order[i]];
        cell *c = find_cell(part, cells->keys[cells->order[i]]);
        if (!c) {
            part->failed = true;
            return;
        }
        c->weight += s->weight;
        float share = s->weight / c->weight;
        for (int k = 0; k < 3; k++) {
            c->mean[k] += (s->position[k] - c->mean[k]) * share;
            c->mean[3 + k] += (s->normal[k] - c->mean[3 + k]) * share;
            c->mean[6 + k] += (s->color[k] - c->mean[6 + k]) * share;
        }
    }
}

static splat_status insert(splat_point_cells *cells, const splat_cell_sample *samples, const uint8_t *valid, size_t n,
                           splat_error *error)
{
    bool failed = !make_room(cells, n);
    if (!failed) {
        uint32_t counts[BLOCKS][PARTS + 1];
        find_parts(cells, samples, valid, n, counts);
        sort_by_part(cells, n, counts);
#pragma omp parallel for schedule(dynamic, 1) num_threads(cells->threads)
        for (uint32_t p = 0; p < PARTS; p++) add_to_part(cells, p, samples);
    }
    cells->n_cells = 0;
    for (uint32_t p = 0; p < PARTS; p++) {
        cells->n_cells += cells->parts[p].n;
        failed = failed || cells->parts[p].failed;
    }
    if (!failed) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells of surface points; take fewer "
                      "`surface_points`", cells->n_cells);
}

/* All cells as samples, part after part. */
static splat_cell_sample *read_cells(const splat_point_cells *cells)
{
    splat_cell_sample *samples = malloc(cells->n_cells * sizeof *samples);
    size_t first[PARTS], n = 0;
    for (uint32_t p = 0; p < PARTS; p++) {
        first[p] = n;
        n += cells->parts[p].n;
    }
    if (!samples) return NULL;
#pragma omp parallel for schedule(dynamic, 1) num_threads(cells->threads)
    for (uint32_t p = 0; p < PARTS; p++) {
        splat_cell_sample *to = samples + first[p];
        for (uint32_t i = 0; i < cells->parts[p].n; i++, to++) {
            const cell *c = &cells->parts[p].cells[i];
            memcpy(to, c->mean, sizeof(float[MEAN]));
            to->weight = c->weight;
            to->size = (float)ldexp(cells->smallest, (int)(c->key >> LEVEL_SHIFT));
        }
    }
    return samples;
}

/* Larger cells, from the means of the smaller ones. */
static splat_status merge(splat_point_cells *cells, splat_error *error)
{
    size_t n = cells->n_cells;
    splat_cell_sample *samples = read_cells(cells);
    if (!samples) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to merge %zu cells of surface points", n);
    for (uint32_t p = 0; p < PARTS; p++) {
        cells->parts[p].n = 0;
        if (cells->parts[p].slots) memset(cells->parts[p].slots, 0, cells->parts[p].n_slots * sizeof(uint32_t));
    }
    cells->side *= GROWTH;
    splat_status status = insert(cells, samples, NULL, n, error);
    free(samples);
    return status;
}

#define LEAST_CHILDREN 2 /* of the four or so that a surface has in a cell */

static bool is_replaced(const splat_point_cells *cells, uint64_t key)
{
    static const int shifts[3] = {3, 3 + PLACE_BITS, 3 + 2 * PLACE_BITS};
    if (key >> LEVEL_SHIFT == 0) return false;
    uint64_t first = first_child(key);
    int n = 0;
    for (int k = 0; k < 8 && n < LEAST_CHILDREN; k++) {
        uint64_t child = first;
        for (int a = 0; a < 3; a++) child += (uint64_t)(k >> a & 1) << shifts[a];
        n += has_cell(cells, child);
    }
    return n >= LEAST_CHILDREN;
}

static void renumber(splat_cell_part *part)
{
    if (part->slots) memset(part->slots, 0, part->n_slots * sizeof *part->slots);
    for (uint32_t i = 0; i < part->n; i++) put_slot(part, i);
}

void splat_point_cells_drop_replaced(splat_point_cells *cells)
{
#pragma omp parallel num_threads(cells->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (uint32_t p = 0; p < PARTS; p++) /* a weight below 0 marks the cell, which the others still see */
            for (uint32_t i = 0; i < cells->parts[p].n; i++)
                if (is_replaced(cells, cells->parts[p].cells[i].key)) cells->parts[p].cells[i].weight *= -1;
#pragma omp for schedule(dynamic, 1)
        for (uint32_t p = 0; p < PARTS; p++) {
            splat_cell_part *part = &cells->parts[p];
            uint32_t n = 0;
            for (uint32_t i = 0; i < part->n; i++)
                if (part->cells[i].weight > 0) part->cells[n++] = part->cells[i];
            part->n = n;
            renumber(part);
        }
    }
    cells->n_cells = 0;
    for (uint32_t p = 0; p < PARTS; p++) cells->n_cells += cells->parts[p].n;
}

#define ROOM 0.8 /* of most_cells: where dropping leaves more, cells grow, or it would be done again at once */

splat_status splat_point_cells_add(splat_point_cells *cells, const splat_cell_sample *samples, const uint8_t *valid,
                                   size_t n, splat_error *error)
{
    SPLAT_TRY(insert(cells, samples, valid, n, error));
    if (cells->n_cells <= cells->most_cells) return SPLAT_OK;
    splat_point_cells_drop_replaced(cells);
    while ((double)cells->n_cells > ROOM * (double)cells->most_cells) SPLAT_TRY(merge(cells, error));
    return SPLAT_OK;
}

/* The length of its mean normal; a cell whose normals cancel makes no point. */
static float normal_length(const cell *c)
{
    const float *normal = c->mean + 3;
    return sqrtf(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
}

#define LEAST_LENGTH 1e-6f

static size_t count_points(const splat_cell_part *part)
{
    size_t n = 0;
    for (uint32_t i = 0; i < part->n; i++) n += normal_length(&part->cells[i]) > LEAST_LENGTH;
    return n;
}

/* Points from points->n on, where there is room. */
static void collect_part(const splat_point_cells *cells, const splat_cell_part *part, splat_surface_points *points)
{
    for (uint32_t i = 0; i < part->n; i++) {
        const cell *c = &part->cells[i];
        float length = normal_length(c), unit[3];
        uint8_t color[3];
        if (!(length > LEAST_LENGTH)) continue;
        for (int k = 0; k < 3; k++) {
            unit[k] = c->mean[3 + k] / length;
            color[k] = (uint8_t)(c->mean[6 + k] + 0.5f);
        }
        if (points->weights) points->weights[points->n] = fminf(c->weight * area_of(c->key), MOST_WEIGHT);
        if (points->sizes) points->sizes[points->n] = (float)side_of(cells, c->key);
        splat_surface_points_add(points, c->mean, unit, color);
    }
}

void splat_point_cells_collect(const splat_point_cells *cells, splat_surface_points *points)
{
    size_t n[PARTS];
    splat_surface_points of_part[PARTS]; /* the same arrays, each from its own place on */
#pragma omp parallel for schedule(dynamic, 1) num_threads(cells->threads)
    for (uint32_t p = 0; p < PARTS; p++) n[p] = count_points(&cells->parts[p]);
    for (uint32_t p = 0; p < PARTS; p++) {
        of_part[p] = *points;
        points->n += n[p];
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(cells->threads)
    for (uint32_t p = 0; p < PARTS; p++) collect_part(cells, &cells->parts[p], &of_part[p]);
}
