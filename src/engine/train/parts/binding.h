/* The seam for Gaussians that follow another object, such as the triangles of a mesh: a binding is a constant table
 * of data and functions that the options name (NULL: none). project_backward does not change these tensors and
 * writes their gradients. The binding converts the gradients to its own arrays, steps them, and computes the tensors
 * again, so that the model always follows from its arrays. The trainer allocates and checkpoints the arrays, and
 * knows nothing else of it. */
#ifndef SPLAT_TRAIN_BINDING_H
#define SPLAT_TRAIN_BINDING_H

#include "model/row_blocks.h"
#include "ops/project/project.h"
#include "splatsmith/train.h"

typedef struct splat_bound_array {
    const char *name;   /* name in checkpoints and lists of memory */
    const char *m, *v;  /* names of Adam's moments, float32; NULL: the array is not trained */
    uint32_t words;     /* 32 bits each, of a row: floats; or, */
    bool is_index;      /* uint32_t, */
    int index_of;       /* each below the number of rows of this array, which is checked when a checkpoint is read */
    bool is_derived;    /* made from the others: not in checkpoints */
} splat_bound_array;

#define SPLAT_MAX_BOUND_ARRAYS 8

struct splat_binding {
    const char *title;               /* title in plans: "bound mesh" */
    unsigned follows;                /* bits 1 << SPLAT_TENSOR_*, of means, scales, rotations: they have no moments */
    const splat_bound_array *arrays; /* [n_arrays] */
    int n_arrays;

    /* For the plan: rows[n_arrays] for n Gaussians on a mesh with so many vertices (0: not known). */
    void (*expect)(const splat_train_options *options, size_t n, size_t n_vertices, size_t *rows);
    /* ARGUMENT, in words, when rows[n_arrays] (those of derived arrays are not read) are not of n Gaussians. */
    splat_status (*check)(const splat_train_options *options, size_t n, const uint32_t *rows, splat_error *error);
    /* All arrays but the derived ones, and the tensors that follow, were replaced: makes the derived ones. */
    splat_status (*restored)(splat_trainer *trainer, splat_error *error);
    /* Scratch bytes that `step` takes at a time, for n Gaussians. */
    size_t (*scratch_bytes)(const splat_train_options *options, size_t n);
    /* Runs after project_backward: converts the gradients of the bound tensors to those of the arrays, makes Adam's
     * step on the arrays, with the rates and corrections of the tensors, where these would be updated, and computes
     * the tensors again. Allocates nothing. of_seen: rows of gradients of Gaussians that the view does not see are
     * undefined, and mean zero. */
    splat_status (*step)(splat_trainer *trainer, const splat_adam *adam, const splat_tensors *gradients, bool of_seen,
                         splat_error *error);
    /* Writes `file` to the folder of a saved splat; the model folder shares the last one. NULL: none. */
    const char *file;
    splat_status (*save)(const splat_trainer *trainer, const char *folder, splat_error *error);
};

/* The arrays of a trainer, and the gradients that lead to them. All empty without a binding. */
typedef struct splat_bound_state {
    uint32_t rows[SPLAT_MAX_BOUND_ARRAYS];
    splat_block arrays[SPLAT_MAX_BOUND_ARRAYS], m[SPLAT_MAX_BOUND_ARRAYS], v[SPLAT_MAX_BOUND_ARRAYS];
    splat_row_blocks gradients;      /* gradients of the tensors that follow, in their order; a row a Gaussian */
} splat_bound_state;

#endif
