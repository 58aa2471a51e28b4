/* Choices that save memory, in one table: the plan chooses from it, and the profile says how much each would have
 * saved. */
#ifndef SPLAT_TRAIN_MEMORY_CHOICES_H
#define SPLAT_TRAIN_MEMORY_CHOICES_H

#include "splatsmith/train.h"

/* Bytes that a run held on the device, by what a choice would change. */
typedef struct splat_memory_held {
    size_t n_gaussians;
    int sh_degree;
    size_t largest_photo;         /* bytes: 3 a pixel */
    double harmonics_float32;     /* sh_rest, as long as it is float32 */
    double moments_float32;       /* Adam's moments, the same */
    double harmonics_all;         /* sh_rest and its moments in any storage */
    double photos;                /* all training photos, where they are kept */
    double frame;                 /* bytes of the largest view */
    double rows;                  /* parameters and moments */
} splat_memory_held;

typedef struct splat_memory_choice {
    const char *option, *cost;    /* the option on the command line, and its cost in words */
    unsigned bit;                 /* SPLAT_GIVE_UP_*; 0: not for a plan to decide */
    bool only_gpu;
    size_t keep;                  /* offset of the flag in splat_plan_options that forbids it; 0: none does */
    /* Changes the options of a run; NULL: it is no option. */
    void (*apply)(splat_train_options *options);
    /* Bytes that the choice would have saved; NULL: unknown from the held memory. */
    double (*saving)(const splat_memory_held *held);
} splat_memory_choice;

/* In the order in which they are made: the cheapest first. Those that plans decide come before the others. */
#define SPLAT_N_MEMORY_CHOICES 8
extern const splat_memory_choice splat_memory_choices[SPLAT_N_MEMORY_CHOICES];

#endif
