/* Builds a tree of boxes: the cheapest of all splits along the three axes (MacDonald and Booth 1990). */
#include "sample/sample_tree.h"

#include <stdlib.h>

enum { LEAF = 2 };

typedef struct item {
    double key;
    int index;
} item;

typedef struct builder {
    splat_tree *tree;
    const splat_tree_box *boxes;
    item *items;   /* [n] */
    double *areas; /* [n] of the boxes from an item to the end */
    int n_nodes;
} builder;

static int compare(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static splat_tree_box no_box(void)
{
    return (splat_tree_box){{1e30, 1e30, 1e30}, {-1e30, -1e30, -1e30}};
}

static void include(splat_tree_box *box, const splat_tree_box *other)
{
    for (int k = 0; k < 3; k++) {
        box->low[k] = fmin(box->low[k], other->low[k]);
        box->high[k] = fmax(box->high[k], other->high[k]);
    }
}

static double half_area(const splat_tree_box *box)
{
    double x = box->high[0] - box->low[0], y = box->high[1] - box->low[1], z = box->high[2] - box->low[2];
    return x * y + y * z + z * x;
}

static void sort_along(builder *b, int first, int n, int axis)
{
    for (int i = first; i < first + n; i++) {
        int index = b->tree->order[i];
        b->items[i] = (item){b->boxes[index].low[axis] + b->boxes[index].high[axis], index};
    }
    qsort(b->items + first, (size_t)n, sizeof *b->items, compare);
}

/* The cheapest place to split sorted items, with its cost: area times number, of both sides. */
static int best_split(builder *b, int first, int n, double *cost)
{
    splat_tree_box box = no_box();
    int best = n / 2;
    *cost = 1e300;
    for (int i = n - 1; i > 0; i--) {
        include(&box, &b->boxes[b->items[first + i].index]);
        b->areas[first + i] = half_area(&box);
    }
    box = no_box();
    for (int i = 1; i < n; i++) {
        include(&box, &b->boxes[b->items[first + i - 1].index]);
        double both = half_area(&box) * i + b->areas[first + i] * (n - i);
        if (both >= *cost) continue;
        *cost = both;
        best = i;
    }
    return best;
}

static void build(builder *b, int first, int n, int depth)
{
    splat_tree_node *node = &b->tree->nodes[b->n_nodes++];
    int axis = 0, split = n / 2;
    double least = 1e300;
    *node = (splat_tree_node){.box = no_box(), .first = first, .n = n};
    for (int i = first; i < first + n; i++) include(&node->box, &b->boxes[b->tree->order[i]]);
    if (n <= LEAF) return;
    for (int k = 0; k < 3; k++) {
        double cost;
        sort_along(b, first, n, k);
        int place = best_split(b, first, n, &cost);
        if (cost >= least) continue;
        least = cost;
        axis = k;
        split = place;
    }
    if (depth >= SPLAT_TREE_MAX_DEPTH / 2) split = n / 2; /* the tree stays within its depth */
    sort_along(b, first, n, axis);
    for (int i = first; i < first + n; i++) b->tree->order[i] = b->items[i].index;
    node->n = 0;
    build(b, first, split, depth + 1);
    node->right = b->n_nodes;
    build(b, first + split, n - split, depth + 1);
}

bool splat_tree_make(splat_tree *tree, const splat_tree_box *boxes, int n)
{
    size_t count = (size_t)(n > 0 ? n : 1);
    builder b = {.tree = tree, .boxes = boxes};
    tree->nodes = malloc(2 * count * sizeof *tree->nodes);
    tree->order = malloc(count * sizeof *tree->order);
    b.items = malloc(count * sizeof *b.items);
    b.areas = malloc(count * sizeof *b.areas);
    bool good = tree->nodes && tree->order && b.items && b.areas;
    if (good) {
        for (int i = 0; i < n; i++) tree->order[i] = i;
        build(&b, 0, n, 0);
    } else {
        splat_tree_free(tree);
    }
    free(b.items);
    free(b.areas);
    return good;
}

void splat_tree_free(splat_tree *tree)
{
    free(tree->nodes);
    free(tree->order);
    *tree = (splat_tree){0};
}
