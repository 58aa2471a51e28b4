/* The cheapest form for a count below a limit. */
#include "train/memory/forms.h"

#include "train/memory/choices.h"

#define LEAST_INSTANCES ((size_t)1 << 14)       /* a view of few Gaussians has several pairs each */
#define MOST_INSTANCES ((size_t)UINT32_MAX / 2) /* of a list */

unsigned splat_forms_useful(const splat_memory_setup *u, const splat_train_options *o, unsigned may)
{
    if (o->photos_on_host || u->photos_all <= splat_memory_streamed_photos(u, o)) /* a few photos are less as a whole */
        may &= ~(unsigned)SPLAT_GIVE_UP_PHOTOS;
    if (o->max_instances && !(o->may_give_up & SPLAT_GIVE_UP_LISTS)) may &= ~(unsigned)SPLAT_GIVE_UP_LISTS;
    if (o->sh_storage == SPLAT_SH_FLOAT16 || o->sh_degree == 0) may &= ~(unsigned)SPLAT_GIVE_UP_SH;
    if (o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED) may &= ~(unsigned)SPLAT_GIVE_UP_MOMENTS;
    if (o->sh_offload || o->moments_offload || o->sh_degree == 0) may &= ~(unsigned)SPLAT_GIVE_UP_DEVICE_MOMENTS;
    if (o->sh_offload || o->sh_degree == 0) may &= ~(unsigned)SPLAT_GIVE_UP_DEVICE_SH;
    return may;
}

unsigned splat_form_bits(const splat_memory_forms *f, int form)
{
    unsigned bits = 0;
    for (int i = 0; i < form; i++) bits |= splat_memory_choices[i].bit & f->may;
    return bits;
}

int splat_form_of_bits(unsigned bits)
{
    int form = 0;
    for (int i = 0; i < SPLAT_N_FORMS - 1; i++)
        if (splat_memory_choices[i].bit & bits) form = i + 1;
    return form;
}

static splat_train_options options_of(const splat_memory_forms *f, int form)
{
    splat_train_options o = *f->wanted;
    unsigned bits = splat_form_bits(f, form);
    for (int i = 0; i < form; i++)
        if (splat_memory_choices[i].bit & bits && splat_memory_choices[i].apply) splat_memory_choices[i].apply(&o);
    return o;
}

/* ---------------------------------------------------------------- room for lists */

/* The bound that is not the forms' to change; 0: none. */
static size_t named_bound(const splat_memory_forms *f)
{
    return f->may & SPLAT_GIVE_UP_LISTS ? 0 : (size_t)f->wanted->max_instances;
}

static splat_list_room whole_views(const splat_memory_forms *f, size_t n)
{
    size_t usual = splat_memory_usual_instances(f->setup, n), named = named_bound(f);
    bool bands = named && named < usual;
    return (splat_list_room){bands ? named : usual, bands};
}

static splat_list_room least_bands(const splat_memory_forms *f, size_t n)
{
    return (splat_list_room){splat_larger(splat_memory_all(f->setup, n) / 2, LEAST_INSTANCES), true};
}

/* Bands save lists and cost gradients of their own: where that is no gain, whole views are the least. The last form
 * counts on bands all the same: with them any view can be done, and nothing is left to give up for one that has more
 * pairs than usual. */
static splat_list_room least_room(const splat_memory_forms *f, const splat_train_options *o, int form, size_t n)
{
    splat_list_room whole = whole_views(f, n), bands = least_bands(f, n);
    if (!(splat_form_bits(f, form) & SPLAT_GIVE_UP_LISTS)) return whole;
    if (form == SPLAT_N_FORMS - 1) return bands;
    bool gains = splat_memory_total(f->setup, o, n, bands) < splat_memory_total(f->setup, o, n, whole);
    return gains ? bands : whole;
}

/* The most pairs for which there is room when views may have more than that; at least those of `room`. */
static size_t room_in_bands(const splat_memory_forms *f, const splat_train_options *o, size_t n, size_t room)
{
    size_t low = room, high = MOST_INSTANCES;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (splat_memory_total(f->setup, o, n, (splat_list_room){middle, true}) <= f->limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

splat_list_room splat_form_lists(const splat_memory_forms *f, int form, size_t n)
{
    splat_train_options o = options_of(f, form);
    splat_list_room whole = whole_views(f, n);
    if (named_bound(f)) return (splat_list_room){named_bound(f), whole.bands};
    size_t room = room_in_bands(f, &o, n, least_bands(f, n).n_instances);
    bool may_cut = splat_form_bits(f, form) & SPLAT_GIVE_UP_LISTS;
    bool counts_on_usual = !may_cut || (form < SPLAT_N_FORMS - 1 &&
                                        splat_memory_total(f->setup, &o, n, whole) <= f->limit);
    if (counts_on_usual) room = splat_larger(room, whole.n_instances);
    return (splat_list_room){room, room < whole.n_instances};
}

/* ---------------------------------------------------------------- forms */

splat_list_room splat_form_least_lists(const splat_memory_forms *f, int form, size_t n)
{
    splat_train_options o = options_of(f, form);
    return least_room(f, &o, form, n);
}

size_t splat_form_bytes(const splat_memory_forms *f, int form, size_t n)
{
    splat_train_options o = options_of(f, form);
    return splat_memory_total(f->setup, &o, n, least_room(f, &o, form, n));
}

int splat_form_for(const splat_memory_forms *f, size_t n)
{
    for (int form = 0; form < SPLAT_N_FORMS - 1; form++)
        if (splat_form_bytes(f, form, n) <= f->limit) return form;
    return SPLAT_N_FORMS - 1;
}

size_t splat_form_most(const splat_memory_forms *f, int form)
{
    size_t low = 0, high = UINT32_MAX / 2;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (splat_form_bytes(f, form, middle) <= f->limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

splat_train_options splat_form_options(const splat_memory_forms *f, int form, size_t n)
{
    splat_train_options o = options_of(f, form);
    o.max_instances = splat_form_lists(f, form, n).n_instances;
    return o;
}
