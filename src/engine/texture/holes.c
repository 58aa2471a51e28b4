/* Bits of taken blocks, and the search for a hole. */
#include "texture/holes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SIDE = 32 }; /* of pieces that may lie in holes, in blocks */
static const double most_work = 1e9; /* places that all searches on a page look at, about */

typedef struct hole_page {
    uint64_t *bits; /* [rows][n_words]; NULL: nothing lies there */
    uint32_t next[LARGEST_SIDE][LARGEST_SIDE]; /* place, row by row, where the search for such sides goes on */
} hole_page;

struct splat_holes {
    int columns, rows, side;
    size_t n_words, n_pages;
    hole_page **pages;
};

splat_hole_rows *splat_hole_rows_make(size_t side)
{
    splat_hole_rows *rows = malloc(sizeof *rows + 2 * side * sizeof *rows->from);
    if (!rows) return NULL;
    *rows = (splat_hole_rows){.from = (int *)(void *)(rows + 1)};
    rows->to = rows->from + side;
    return rows;
}

splat_holes *splat_holes_make(int columns, int rows, size_t n_pages)
{
    splat_holes *holes = calloc(1, sizeof *holes);
    hole_page **pages = calloc(n_pages, sizeof *pages);
    if (!holes || !pages) {
        free(holes);
        free(pages);
        return NULL;
    }
    double side = sqrt(most_work / ((double)columns * rows));
    *holes = (splat_holes){.columns = columns, .rows = rows, .side = side < LARGEST_SIDE ? (int)side : LARGEST_SIDE,
                           .n_words = ((size_t)columns + 63) / 64, .n_pages = n_pages, .pages = pages};
    return holes;
}

void splat_holes_free(splat_holes *holes)
{
    if (!holes) return;
    for (size_t i = 0; i < holes->n_pages; i++) {
        if (holes->pages[i]) free(holes->pages[i]->bits);
        free(holes->pages[i]);
    }
    free(holes->pages);
    free(holes);
}

splat_status splat_holes_put(splat_holes *holes, size_t page, const splat_hole_rows *piece, int column, int row,
                             splat_error *error)
{
    if (!holes->pages[page]) {
        hole_page *p = calloc(1, sizeof *p);
        if (p) p->bits = calloc((size_t)holes->rows * holes->n_words, sizeof *p->bits);
        holes->pages[page] = p;
        if (!p || !p->bits)
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a page of %d x %d blocks", holes->columns,
                              holes->rows);
    }
    for (int i = 0; i < piece->rows; i++) {
        uint64_t *bits = holes->pages[page]->bits + (size_t)(row + i) * holes->n_words;
        for (int x = column + piece->from[i]; x < column + piece->to[i]; x++) bits[x / 64] |= (uint64_t)1 << x % 64;
    }
    return SPLAT_OK;
}

/* n bits from column x on, n at most 32; those beyond the page are 0. */
static uint64_t bits_from(const uint64_t *bits, size_t n_words, int x, int n)
{
    size_t word = (size_t)x / 64;
    uint64_t low = bits[word] >> x % 64;
    if (x % 64 > 32 && word + 1 < n_words) low |= bits[word + 1] << (64 - x % 64);
    return low & (((uint64_t)1 << n) - 1);
}

static bool is_free(const splat_holes *holes, const uint64_t *bits, const splat_hole_rows *piece, int column, int row)
{
    for (int i = 0; i < piece->rows; i++) {
        int n = piece->to[i] - piece->from[i];
        if (n > 0 && bits_from(bits + (size_t)(row + i) * holes->n_words, holes->n_words, column + piece->from[i], n))
            return false;
    }
    return true;
}

bool splat_holes_find(splat_holes *holes, size_t page, const splat_hole_rows *piece, int height, int *column, int *row)
{
    if (!holes->pages[page] || piece->columns > holes->side || piece->rows > holes->side) return false;
    const uint64_t *bits = holes->pages[page]->bits;
    uint32_t *next = &holes->pages[page]->next[piece->columns - 1][piece->rows - 1];
    int x = (int)(*next % (uint32_t)holes->columns), y = (int)(*next / (uint32_t)holes->columns);
    for (; y + piece->rows <= height; y++, x = 0)
        while (x + piece->columns <= holes->columns) {
            /* a whole word of taken blocks in the middle row is passed over */
            const uint64_t *middle = bits + (size_t)(y + piece->rows / 2) * holes->n_words;
            if (middle[x / 64] == UINT64_MAX) {
                x = (x / 64 + 1) * 64;
                continue;
            }
            if (is_free(holes, bits, piece, x, y)) {
                *column = x;
                *row = y;
                *next = (uint32_t)y * (uint32_t)holes->columns + (uint32_t)x;
                return true;
            }
            x++;
        }
    *next = (uint32_t)y * (uint32_t)holes->columns;
    return false;
}
