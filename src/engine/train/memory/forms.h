/* Forms: the choices that a run gives up at each count of Gaussians. A form is a run that has made the first choices
 * of its list (splat_memory_choices); forms are numbered from 0, nothing given up, to SPLAT_N_FORMS - 1, all of
 * them. The cheapest form for n Gaussians below a limit is the first that fits: with more memory it is never a later
 * one, and with more Gaussians never an earlier one. Every view fits into the last form. Pure arithmetic. */
#ifndef SPLAT_TRAIN_MEMORY_FORMS_H
#define SPLAT_TRAIN_MEMORY_FORMS_H

#include "train/memory/sizes.h"

#define SPLAT_N_FORMS 7 /* one more than the choices with a bit, which come first */

typedef struct splat_memory_forms {
    const splat_memory_setup *setup;
    const splat_train_options *wanted; /* form 0 */
    unsigned may;                      /* SPLAT_GIVE_UP_* of the choices */
    size_t limit;                      /* bytes, what the driver holds included */
} splat_memory_forms;

/* Those of `may` that would change a run of these options on this backend. */
unsigned splat_forms_useful(const splat_memory_setup *setup, const splat_train_options *options, unsigned may);
/* The SPLAT_GIVE_UP_* bits of a form. */
unsigned splat_form_bits(const splat_memory_forms *forms, int form);
/* The first form that gives all of them up. */
int splat_form_of_bits(unsigned bits);
/* The cheapest form in which n Gaussians fit; the last if they fit in none. */
int splat_form_for(const splat_memory_forms *forms, size_t n);
/* The most Gaussians that fit in a form; 0 when none do. */
size_t splat_form_most(const splat_memory_forms *forms, int form);
/* Bytes of n Gaussians in a form, with the least room for lists that it allows; and that room. */
splat_list_room splat_form_least_lists(const splat_memory_forms *forms, int form, size_t n);
size_t splat_form_bytes(const splat_memory_forms *forms, int form, size_t n);
/* Room for the lists of views of n Gaussians: what the limit leaves when the view is done in bands, at least what
 * splat_form_bytes counts on; or the bound that the options name. Below the last form a view with more pairs than usual
 * may still be refused: then the run goes on to the next form. */
splat_list_room splat_form_lists(const splat_memory_forms *forms, int form, size_t n);
/* Options of a form with n Gaussians: storages, places and max_instances. */
splat_train_options splat_form_options(const splat_memory_forms *forms, int form, size_t n);

#endif
