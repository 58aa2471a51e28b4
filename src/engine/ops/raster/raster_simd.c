/* raster of one tile, and the walk along its list that geometry shares. Rows of the tile are vectors: PARTS of splat_vf
 * make one row of sixteen pixels. */
#include "ops/raster/raster_kernel.h"
#include "ops/raster/reach.h"
#include "ops/simd.h"

#define LANES SPLAT_NATIVE_LANES
#define PARTS (SPLAT_TILE / LANES)
/* Rows that are worked on at once, step by step, as the steps of one row wait for each other: MANY as long as more than
 * FEW are left. The last of them may not be reached, or lie below the tile, where nothing is blended. */
#define MANY 4
#define FEW 2
#define ROWS (SPLAT_TILE + MANY - 1)
#define EACH (int k = 0; k < n; k++)

/* Sampling positions of a tile. */
typedef struct SIMD(positions) {
    splat_vf x[ROWS][PARTS], y[ROWS][PARTS];
} SIMD(positions);

/* Sixteen floats of row `row` of a picture plane at the tile; lanes outside the picture are 0. */
SPLAT_FORCE_INLINE void SIMD(row_read)(const float *plane, int32_t width, const splat_raster_tile *tile, int32_t row,
                                       splat_vf values[PARTS])
{
    const float *from = plane + (size_t)(tile->y + row) * (size_t)width + (size_t)tile->x;
    if (tile->columns == SPLAT_TILE) {
        memcpy(values, from, SPLAT_TILE * sizeof(float));
        return;
    }
    float bounce[SPLAT_TILE] = {0};
    memcpy(bounce, from, (size_t)tile->columns * sizeof(float));
    memcpy(values, bounce, sizeof bounce);
}

/* The reverse; `plane` may hold any 32-bit type. */
SPLAT_FORCE_INLINE void SIMD(row_write)(void *plane, int32_t width, const splat_raster_tile *tile, int32_t row,
                                        const void *values)
{
    char *to = (char *)plane + ((size_t)(tile->y + row) * (size_t)width + (size_t)tile->x) * 4;
    if (tile->columns == SPLAT_TILE)
        memcpy(to, values, SPLAT_TILE * 4);
    else
        memcpy(to, values, (size_t)tile->columns * 4);
}

SPLAT_FORCE_INLINE splat_vf SIMD(lane_numbers)(int part)
{
    splat_vf lanes;
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = (float)(part * LANES + lane);
    return lanes;
}

SPLAT_FORCE_INLINE void SIMD(positions_make)(const splat_frame *frame, const splat_raster_tile *tile,
                                             SIMD(positions) *positions)
{
    int32_t width = frame->camera.width;
    size_t plane = (size_t)width * (size_t)frame->camera.height;
    splat_vf zero = {0};
    for (int32_t row = tile->rows; row < ROWS; row++) /* read, but nothing follows from it */
        for (int part = 0; part < PARTS; part++) positions->x[row][part] = positions->y[row][part] = zero;
    for (int32_t row = 0; row < tile->rows; row++) {
        for (int part = 0; part < PARTS; part++) {
            positions->x[row][part] = SIMD(lane_numbers)(part) + (float)tile->x;
            positions->y[row][part] = zero + (float)(tile->y + row);
        }
        if (!frame->jitter) continue;
        splat_vf dx[PARTS], dy[PARTS];
        SIMD(row_read)(frame->jitter, width, tile, row, dx);
        SIMD(row_read)(frame->jitter + plane, width, tile, row, dy);
        for (int part = 0; part < PARTS; part++) {
            positions->x[row][part] += dx[part];
            positions->y[row][part] += dy[part];
        }
    }
}

/* -power = 1/2 (A dx^2 + C dy^2) + B dx dy: the kernels work on that, which is not negative where an entry blends, and
 * never -0. */
SPLAT_FORCE_INLINE splat_vf SIMD(fall)(const splat_raster_entry *e, splat_vf dx, splat_vf dy)
{
    return 0.5f * (e->a * dx * dx + e->c * dy * dy) + e->b * dx * dy;
}

/* alpha0 e^power; the mask, of lanes that may blend, loses those below 1/255, and here alone it is decided who blends
 * (raster.h). `clamped`, a constant of the caller: alpha0 may be above what alpha may be. */
SPLAT_FORCE_INLINE splat_vf SIMD(alpha)(const splat_raster_entry *e, splat_vf gaussian, bool clamped, splat_vm *mask)
{
    splat_vf zero = {0}, alpha = e->alpha0 * gaussian;
    *mask = splat_vm_among_at_least(*mask, alpha, SPLAT_ALPHA_MIN - zero);
    return clamped ? splat_vf_min(SPLAT_ALPHA_MAX - zero, alpha) : alpha;
}

/* One part of a row of pixels while they are blended. What belongs together lies together: planes of a tile would lie
 * 4 KiB apart here and there, and a load waits for a store that looks like its own. */
typedef struct SIMD(pixels_part) {
    splat_vf transmittance;
    splat_vf red, green, blue; /* or distance, normal's x, y */
    splat_vi last;
    splat_vi blended;          /* how many; only where they are counted */
    splat_vm alive;            /* inside the picture and not ended */
    splat_vf fourth;           /* of planes: the normal's z; of depths: sum w z */
    union {
        splat_vi middle;       /* of planes: position of the entry that takes T below 1/2, or 0 */
        splat_vf inverse;      /* of depths: sum w / z */
    };
} SIMD(pixels_part);

typedef struct SIMD(pixels) {
    SIMD(pixels_part) rows[ROWS][PARTS];
    uint32_t parts_alive;      /* parts of rows with a lane alive */
} SIMD(pixels);

SPLAT_FORCE_INLINE void SIMD(pixels_begin)(const splat_raster_tile *tile, SIMD(pixels) *pixels)
{
    splat_vf zero = {0};
    memset(pixels, 0, sizeof *pixels);
    for (int32_t row = 0; row < ROWS; row++)
        for (int part = 0; part < PARTS; part++) {
            SIMD(pixels_part) *own = &pixels->rows[row][part];
            own->transmittance = zero + 1.0f;
            if (row >= tile->rows) continue;
            own->alive = SPLAT_VM_LESS(SIMD(lane_numbers)(part), zero + (float)tile->columns);
            pixels->parts_alive += splat_vm_any(own->alive);
        }
}

/* The lanes of `ends` end, and what `own` was to blend there is not blended. */
SPLAT_FORCE_INLINE void SIMD(end_lanes)(SIMD(pixels) *pixels, SIMD(pixels_part) *own, splat_vm ends, splat_vm *mask,
                                        splat_vf *weight, splat_vf *next)
{
    if (!splat_vm_any(ends)) return;
    own->alive = splat_vm_and_not(own->alive, ends);
    pixels->parts_alive -= !splat_vm_any(own->alive);
    *mask = splat_vm_and_not(*mask, ends);
    *weight = splat_vf_keep(*mask, *weight);
    *next = own->transmittance - *weight;
}

/* e^power of rows in steps (reach.h). */
typedef struct SIMD(steps) {
    splat_vf gaussian, ratio;             /* of the next row, and of the row after it */
    splat_vf later_gaussian, later_ratio; /* where the second SPLAT_STEP_ROWS begin */
} SIMD(steps);

/* `gaussian`, which is e^-x, or 0 where x is so large that none of the rows after it blends, as steps are not valid
 * there. */
SPLAT_FORCE_INLINE splat_vf SIMD(anchor)(splat_vf x, splat_vf gaussian)
{
    splat_vi zero = {0};
    return splat_vf_keep(splat_vm_within(splat_vm_at_least_int(zero, zero), x, SPLAT_STEP_MOST_FALL), gaussian);
}

/* Begins the steps of the columns at dx, from the entry's first row on. */
SPLAT_FORCE_INLINE void SIMD(steps_begin)(const splat_raster_tile *tile, const splat_raster_entry *e, splat_vf dx,
                                          SIMD(steps) *steps)
{
    const float dy = e->v - (float)(tile->y + e->row_begin), later = dy - SPLAT_STEP_ROWS;
    const splat_vf fall_x = 0.5f * (e->a * dx * dx), b_dx = e->b * dx;
    splat_vf x[3], y[3] = {{0}};
    x[0] = (fall_x + 0.5f * (e->c * dy * dy)) + b_dx * dy;
    x[1] = e->c * (0.5f - dy) - b_dx; /* of the ratio */
    if (e->row_end - e->row_begin > SPLAT_STEP_ROWS) {
        x[2] = (fall_x + 0.5f * (e->c * later * later)) + b_dx * later;
        splat_vf_exps_of_negative(x, y, 3);
        y[2] = SIMD(anchor)(x[2], y[2]);
    } else {
        splat_vf_exps_of_negative(x, y, 2);
    }
    steps->gaussian = SIMD(anchor)(x[0], y[0]);
    steps->ratio = y[1];
    steps->later_gaussian = y[2];
    steps->later_ratio = y[1] * e->step8;
}

#define STEPS_BATCH 16 /* entries whose exponentials are made before the first is blended: these wait for nothing */

/* Begins the steps of those of n <= STEPS_BATCH entries that are stepped through. */
SPLAT_FORCE_INLINE void SIMD(steps_begin_all)(const splat_raster_tile *tile, const SIMD(positions) *positions,
                                              const splat_raster_entry *entries, uint32_t n,
                                              SIMD(steps) (*steps)[PARTS])
{
    for (uint32_t i = 0; i < n; i++)
        for (int part = 0; entries[i].step > 0 && part < PARTS; part++)
            SIMD(steps_begin)(tile, &entries[i], entries[i].u - positions->x[0][part], &steps[i][part]);
}

/* Takes the next n rows, `row` the first of them. */
SPLAT_FORCE_INLINE void SIMD(steps_take)(const splat_raster_entry *e, int32_t row, SIMD(steps) *steps,
                                         splat_vf *gaussian, int n)
{
    if (row - e->row_begin == SPLAT_STEP_ROWS) {
        steps->gaussian = steps->later_gaussian;
        steps->ratio = steps->later_ratio;
    }
    for EACH {
        gaussian[k] = steps->gaussian;
        steps->gaussian = steps->gaussian * steps->ratio;
        steps->ratio = steps->ratio * e->step;
    }
}

/* -power of n rows of a part from `row` on. */
SPLAT_FORCE_INLINE void SIMD(falls)(const SIMD(positions) *positions, const splat_raster_entry *e, int32_t row,
                                    int part, splat_vf *fall, int n)
{
    for EACH fall[k] = SIMD(fall)(e, e->u - positions->x[row + k][part], e->v - positions->y[row + k][part]);
}

/* Blends one entry into a part of n rows, from e^power there; `mask`: lanes that may. `clamped`: alpha0 may be above
 * what alpha may be. n, `clamped`, `counted` and `walk` are constants of the caller, here and below. */
SPLAT_FORCE_INLINE void SIMD(blend_rows)(SIMD(pixels) *pixels, SIMD(pixels_part) (*own)[PARTS], int n,
                                         const splat_raster_entry *e, const splat_vf *gaussian, splat_vm *mask,
                                         int32_t position, bool clamped, bool counted, splat_walk walk)
{
    splat_vf zero = {0}, alpha[MANY], t[MANY], next[MANY], weight[MANY];
    splat_vm ends[MANY], any = {0}, any_ends = {0};
    for EACH alpha[k] = SIMD(alpha)(e, gaussian[k], clamped, &mask[k]);
    for EACH any |= mask[k];
    if (!splat_vm_any(any)) return;
    for EACH t[k] = own[k]->transmittance;
    for EACH weight[k] = splat_vf_keep(mask[k], alpha[k] * t[k]);
    for EACH next[k] = t[k] - weight[k]; /* T (1 - alpha) */
    /* Lanes that do not blend keep T, which is never below the limit. */
    for EACH ends[k] = SPLAT_VM_LESS(next[k], SPLAT_TRANSMITTANCE_MIN - zero);
    for EACH any_ends |= ends[k];
    if (splat_vm_any(any_ends))
        for EACH SIMD(end_lanes)(pixels, own[k], ends[k], &mask[k], &weight[k], &next[k]);
    splat_vi positions = {0};
    positions += position;
    for EACH own[k]->transmittance = next[k];
    for EACH own[k]->red += e->red * weight[k];
    for EACH own[k]->green += e->green * weight[k];
    for EACH own[k]->blue += e->blue * weight[k];
    for EACH splat_vi_put(&own[k]->last, mask[k], positions);
    if (counted)
        for EACH own[k]->blended = splat_vi_count(own[k]->blended, mask[k]);
    if (walk == SPLAT_WALK_COLOURS) return;
    for EACH own[k]->fourth += e->fourth * weight[k];
    if (walk == SPLAT_WALK_DEPTHS) {
        const float inverse = 1.0f / e->fourth;
        for EACH own[k]->inverse += inverse * weight[k];
        return;
    }
    for EACH {
        splat_vm passes = SPLAT_VM_AT_LEAST(t[k], 0.5f - zero) & SPLAT_VM_LESS(next[k], 0.5f - zero);
        splat_vi_put(&own[k]->middle, passes, positions);
    }
}

/* blend_rows of the rows from `row` on. `stepped`, a constant of the caller, here and below: e^power is found in
 * steps. */
SPLAT_FORCE_INLINE void SIMD(blend_at)(SIMD(pixels) *pixels, const SIMD(positions) *positions, int32_t row, int part,
                                       int n, const splat_raster_entry *e, SIMD(steps) *steps, int32_t position,
                                       bool stepped, bool clamped, bool counted, splat_walk walk)
{
    SIMD(pixels_part) (*own)[PARTS] = (SIMD(pixels_part) (*)[PARTS])&pixels->rows[row][part];
    splat_vf fall[MANY], gaussian[MANY];
    splat_vm mask[MANY], any = {0};
    for EACH mask[k] = own[k]->alive;
    if (stepped) {
        SIMD(steps_take)(e, row, steps, gaussian, n);
    } else {
        SIMD(falls)(positions, e, row, part, fall, n);
        for EACH mask[k] = splat_vm_within(mask[k], fall[k], -e->power_min);
        for EACH any |= mask[k];
        if (!splat_vm_any(any)) return;
        splat_vf_exps_of_negative(fall, gaussian, n);
    }
    SIMD(blend_rows)(pixels, own, n, e, gaussian, mask, position, clamped, counted, walk);
}

/* Blends one entry, `position` 1-based in the tile's list. */
SPLAT_FORCE_INLINE void SIMD(blend)(SIMD(pixels) *pixels, const SIMD(positions) *positions,
                                    const splat_raster_entry *e, const SIMD(steps) *begun, int32_t position,
                                    bool stepped, bool clamped, bool counted, splat_walk walk)
{
    const splat_raster_entry own = *e; /* what is written to the pixels cannot change it: it stays in registers */
    e = &own;
    for (int part = 0; part < PARTS; part++) {
        SIMD(steps) steps;
        int32_t row = e->row_begin;
        if (stepped) steps = begun[part];
        for (; e->row_end - row > FEW; row += MANY)
            SIMD(blend_at)(pixels, positions, row, part, MANY, e, &steps, position, stepped, clamped, counted, walk);
        if (row < e->row_end)
            SIMD(blend_at)(pixels, positions, row, part, FEW, e, &steps, position, stepped, clamped, counted, walk);
    }
}

/* Blends the tile's list from the front into its pixels. features: of planes, else NULL. */
SPLAT_FORCE_INLINE void SIMD(walk)(const splat_frame *frame, const float *features, const splat_raster_tile *tile,
                                   SIMD(pixels) *pixels, bool counted, splat_walk walk)
{
    splat_raster_entry entries[SPLAT_RASTER_BATCH];
    SIMD(positions) positions;
    SIMD(steps) steps[STEPS_BATCH][PARTS];
    SIMD(positions_make)(frame, tile, &positions);
    SIMD(pixels_begin)(tile, pixels);
    for (uint32_t first = tile->begin; first < tile->end && pixels->parts_alive; first += SPLAT_RASTER_BATCH) {
        uint32_t n = tile->end - first < SPLAT_RASTER_BATCH ? tile->end - first : SPLAT_RASTER_BATCH;
        splat_raster_load(frame, features, tile, first, n, entries);
        for (uint32_t i = 0; i < n && pixels->parts_alive; i++) {
            const splat_raster_entry *e = &entries[i];
            const SIMD(steps) *of = steps[i % STEPS_BATCH];
            const int32_t position = (int32_t)(first + i - tile->begin) + 1;
            if (i % STEPS_BATCH == 0 && !frame->jitter)
                SIMD(steps_begin_all)(tile, &positions, e, n - i < STEPS_BATCH ? n - i : STEPS_BATCH, steps);
            if (frame->jitter || e->step == 0)
                SIMD(blend)(pixels, &positions, e, of, position, false, true, counted, walk);
            else if (e->alpha0 > SPLAT_ALPHA_MAX)
                SIMD(blend)(pixels, &positions, e, of, position, true, true, counted, walk);
            else
                SIMD(blend)(pixels, &positions, e, of, position, true, false, counted, walk);
        }
    }
}

SPLAT_FORCE_INLINE void SIMD(pixels_end)(const splat_frame *frame, const splat_raster_tile *tile, SIMD(pixels) *pixels)
{
    int32_t width = frame->camera.width;
    size_t plane = (size_t)width * (size_t)frame->camera.height;
    for (int32_t row = 0; row < tile->rows; row++) {
        splat_vf red[PARTS], green[PARTS], blue[PARTS], transmittance[PARTS];
        splat_vi last[PARTS], blended[PARTS];
        for (int part = 0; part < PARTS; part++) {
            const SIMD(pixels_part) *own = &pixels->rows[row][part];
            red[part] = own->red + own->transmittance * frame->background[0];
            green[part] = own->green + own->transmittance * frame->background[1];
            blue[part] = own->blue + own->transmittance * frame->background[2];
            transmittance[part] = own->transmittance;
            last[part] = own->last;
            blended[part] = own->blended;
        }
        SIMD(row_write)(frame->image, width, tile, row, red);
        SIMD(row_write)(frame->image + plane, width, tile, row, green);
        SIMD(row_write)(frame->image + 2 * plane, width, tile, row, blue);
        SIMD(row_write)(frame->transmittance, width, tile, row, transmittance);
        SIMD(row_write)(frame->last, width, tile, row, last);
        if (frame->blended) SIMD(row_write)(frame->blended, width, tile, row, blended);
    }
}

SPLAT_FORCE_INLINE void SIMD(depths_end)(const splat_raster_depth *depth, int32_t width, const splat_raster_tile *tile,
                                         SIMD(pixels) *pixels)
{
    for (int32_t row = 0; row < tile->rows; row++) {
        splat_vf along[PARTS], inverse[PARTS];
        for (int part = 0; part < PARTS; part++) {
            const SIMD(pixels_part) *own = &pixels->rows[row][part];
            along[part] = own->fourth;
            inverse[part] = own->inverse;
        }
        if (depth->along) SIMD(row_write)(depth->along, width, tile, row, along);
        if (depth->inverse) SIMD(row_write)(depth->inverse, width, tile, row, inverse);
    }
}

SPLAT_FORCE_INLINE void SIMD(blend_tile)(const splat_frame *frame, const splat_raster_depth *depth, uint32_t tile,
                                         bool counted, splat_walk walk)
{
    splat_raster_tile t = splat_raster_tile_of(frame, tile);
    SIMD(pixels) pixels;
    SIMD(walk)(frame, NULL, &t, &pixels, counted, walk);
    SIMD(pixels_end)(frame, &t, &pixels);
    if (walk == SPLAT_WALK_DEPTHS) SIMD(depths_end)(depth, frame->camera.width, &t, &pixels);
}

SPLAT_RASTER_TILE(SIMD(splat_raster_tile))
{
    if (depth) /* counts nobody asks for are not written */
        SIMD(blend_tile)(frame, depth, tile, true, SPLAT_WALK_DEPTHS);
    else if (frame->blended)
        SIMD(blend_tile)(frame, NULL, tile, true, SPLAT_WALK_COLOURS);
    else
        SIMD(blend_tile)(frame, NULL, tile, false, SPLAT_WALK_COLOURS);
}

/* The others walk as raster does, so they share its translation unit. */
#include "ops/raster/raster_backward_simd.inc"
#include "ops/geometry/geometry_simd.inc"
