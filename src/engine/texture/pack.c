/* Packing pieces on pages: a horizon of the columns, and the under sides of the pieces fitted to it; small pieces first
 * look for a hole below it. */
#include "texture/pack.h"

#include "texture/layout.h"

#include "texture/holes.h"

#include <stdlib.h>
#include <string.h>

/* A piece in one of its four turns, as columns. */
typedef struct outline {
    int columns, rows;
    int *top, *bottom;
} outline;

/* The intervals of a piece's rows in one of its turns, for holes. */
static void turn_rows(const splat_piece *p, int turn, splat_hole_rows *out)
{
    bool upright = turn % 2 == 0;
    out->columns = upright ? p->columns : p->rows;
    out->rows = upright ? p->rows : p->columns;
    for (int i = 0; i < out->rows; i++) {
        int at = turn == 0 || turn == 1 ? i : out->rows - 1 - i;
        int low = upright ? p->left[at] : p->top[at], high = upright ? p->right[at] : p->bottom[at];
        bool reversed = turn == 1 || turn == 2;
        out->from[i] = low >= high ? 0 : reversed ? out->columns - high : low;
        out->to[i] = low >= high ? 0 : reversed ? out->columns - low : high;
    }
}

typedef struct order_entry { uint32_t piece, side; uint64_t area; } order_entry;

static int compare_order(const void *a, const void *b)
{
    const order_entry *x = a, *y = b;
    if (x->side != y->side) return x->side > y->side ? -1 : 1;
    if (x->area != y->area) return x->area > y->area ? -1 : 1;
    return (x->piece > y->piece) - (x->piece < y->piece);
}

/* Quarter turns clockwise with y down: (x, y) -> (rows - y, x). */
static outline turn_piece(const splat_piece *p, int turn, int *memory)
{
    bool upright = turn % 2 == 0;
    outline o = {upright ? p->columns : p->rows, upright ? p->rows : p->columns, memory, NULL};
    o.bottom = memory + o.columns;
    for (int i = 0; i < o.columns; i++) {
        int at = turn == 0 || turn == 3 ? i : o.columns - 1 - i;
        int low = upright ? p->top[at] : p->left[at], high = upright ? p->bottom[at] : p->right[at];
        bool reversed = turn == 2 || turn == 3;
        o.top[i] = reversed ? o.rows - high : low;
        o.bottom[i] = reversed ? o.rows - low : high;
        if (low >= high) o.top[i] = o.rows, o.bottom[i] = 0; /* nothing there */
    }
    return o;
}

typedef struct spot {
    size_t page;
    int turn, column, row, end;
    int64_t waste;
} spot;

/* The place on a page where the outline ends highest up, then wastes least; better than *best only. */
static void try_outline(const outline *o, const int *horizon, int columns, int rows, int turn, size_t page, spot *best)
{
    for (int x = 0; x + o->columns <= columns; x++) {
        int y = 0, limit = best->end < rows ? best->end : rows;
        for (int i = 0; i < o->columns && y + o->rows <= limit; i++)
            if (horizon[x + i] - o->top[i] > y) y = horizon[x + i] - o->top[i];
        if (y + o->rows > limit) continue;
        int64_t waste = 0;
        for (int i = 0; i < o->columns; i++)
            if (o->top[i] < o->bottom[i]) waste += y + o->top[i] - horizon[x + i];
        if (y + o->rows == best->end && waste >= best->waste) continue;
        *best = (spot){page, turn, x, y, y + o->rows, waste};
    }
}

static void put_outline(const outline *o, const spot *at, int *horizon)
{
    for (int i = 0; i < o->columns; i++)
        if (o->top[i] < o->bottom[i] && at->row + o->bottom[i] > horizon[at->column + i])
            horizon[at->column + i] = at->row + o->bottom[i];
}

splat_status splat_pieces_pack(splat_piece *pieces, size_t n, int columns, int rows, size_t max_pages, int *heights,
                               size_t *n_pages, bool *fits, splat_error *error)
{
    size_t side = 1;
    for (size_t i = 0; i < n; i++) {
        if ((size_t)pieces[i].columns > side) side = (size_t)pieces[i].columns;
        if ((size_t)pieces[i].rows > side) side = (size_t)pieces[i].rows;
    }
    order_entry *order = malloc((n + 1) * sizeof *order);
    int *horizons = calloc(max_pages * (size_t)columns + 1, sizeof *horizons);
    int *memory = malloc(2 * side * sizeof *memory);
    splat_holes *holes = splat_holes_make(columns, rows, max_pages);
    splat_hole_rows *intervals = splat_hole_rows_make(side);
    splat_status status = SPLAT_OK;
    *n_pages = 0;
    *fits = true;
    if (!order || !horizons || !memory || !holes || !intervals) {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack %zu charts", n);
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        int c = pieces[i].columns, r = pieces[i].rows;
        order[i] = (order_entry){(uint32_t)i, (uint32_t)(c > r ? c : r), (uint64_t)c * (uint64_t)r};
    }
    qsort(order, n, sizeof *order, compare_order);
    memset(heights, 0, max_pages * sizeof *heights);
    for (size_t i = 0; i < n && *fits; i++) {
        splat_piece *p = &pieces[order[i].piece];
        spot best = {.end = rows + 1};
        for (size_t page = 0; page < *n_pages && best.end > rows; page++)
            for (int turn = 0; turn < 2 && best.end > rows; turn++) {
                int x, y;
                turn_rows(p, turn, intervals);
                if (splat_holes_find(holes, page, intervals, heights[page], &x, &y))
                    best = (spot){page, turn, x, y, y + intervals->rows, 0};
            }
        for (size_t page = 0; page <= *n_pages && page < max_pages && best.end > rows; page++)
            for (int turn = 0; turn < 4; turn++) {
                outline o = turn_piece(p, turn, memory);
                try_outline(&o, horizons + page * (size_t)columns, columns, rows, turn, page, &best);
            }
        *fits = best.end <= rows;
        if (!*fits) break;
        outline o = turn_piece(p, best.turn, memory);
        put_outline(&o, &best, horizons + best.page * (size_t)columns);
        turn_rows(p, best.turn, intervals);
        status = splat_holes_put(holes, best.page, intervals, best.column, best.row, error);
        if (status != SPLAT_OK) break;
        p->turn = best.turn;
        p->page = (int)best.page;
        p->column = best.column;
        p->row = best.row;
        if (best.end > heights[best.page]) heights[best.page] = best.end;
        if (best.page == *n_pages) ++*n_pages;
    }
done:
    free(order);
    free(horizons);
    free(memory);
    splat_holes_free(holes);
    free(intervals);
    return status;
}

uint64_t splat_pieces_blocks(const splat_piece *pieces, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < pieces[i].columns; k++)
            if (pieces[i].top[k] < pieces[i].bottom[k]) sum += (uint64_t)(pieces[i].bottom[k] - pieces[i].top[k]);
    return sum;
}
