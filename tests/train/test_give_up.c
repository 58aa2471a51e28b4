/* Giving up features: the count and the limit of each, as arithmetic; and a run that gives up everything while it
 * grows. It stays below its limit, and resumes bit for bit from before, between and after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trainer_fixture.h"

#include "train/density/density.h"
#include "train/density/strategy.h"
#include "train/memory/choices.h"
#include "train/memory/forms.h"
#include "train/resize.h"
#include "train/state.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* ---------------------------------------------------------------- arithmetic */

/* A card with 340 MiB of photos of so many pixels, 560 MiB of which are the driver's. */
static splat_memory_setup card(size_t width, size_t height)
{
    return (splat_memory_setup){.view = {.on_device = true, .threads = 2, .width = width, .height = height},
                                .overhead = 560 * MIB,
                                .granule = 2 * MIB,
                                .photos_all = 340 * MIB,
                                .photos_two = 6 * width * height,
                                .n_points = 100000};
}

static void check_sweep(const splat_memory_setup *setup, const splat_train_options *o, unsigned may)
{
    splat_memory_forms f = {setup, o, may, 0};
    for (size_t n = 1000; n < 20000000; n *= 2) {
        int before = SPLAT_N_FORMS;
        for (int form = 1; form < SPLAT_N_FORMS - 1; form++) /* the last has room for any view */
            assert_true(splat_form_bytes(&f, form, n) <= splat_form_bytes(&f, form - 1, n));
        for (f.limit = 600 * MIB; f.limit < 40000 * MIB; f.limit = f.limit * 6 / 5) {
            int form = splat_form_for(&f, n), with_more = splat_form_for(&f, n + n / 4);
            assert_true(form <= before);  /* more memory never gives up more */
            assert_true(form <= with_more);  /* more Gaussians never give up less */
            before = form;
            bool fits = splat_form_bytes(&f, form, n) <= f.limit;
            assert_true(fits == (splat_form_most(&f, form) >= n));
            if (form > 0) assert_true(splat_form_most(&f, form - 1) < n); /* nothing without need */
            if (!fits) continue;
            splat_list_room room = splat_form_lists(&f, form, n);
            splat_train_options given = splat_form_options(&f, form, n);
            assert_true(room.n_instances >= splat_form_least_lists(&f, form, n).n_instances);
            assert_true(splat_memory_total(setup, &given, n, room) <= f.limit);
            assert_true(given.max_instances == room.n_instances);
            assert_int_equal(given.photos_on_host, splat_form_bits(&f, form) & SPLAT_GIVE_UP_PHOTOS ? 1 : 0);
            assert_int_equal(given.moments_offload, splat_form_bits(&f, form) & SPLAT_GIVE_UP_DEVICE_MOMENTS ? 1 : 0);
            assert_int_equal(given.sh_offload, splat_form_bits(&f, form) & SPLAT_GIVE_UP_DEVICE_SH ? 1 : 0);
        }
    }
}

static void less_memory_gives_up_more(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{799, 532}, {1600, 1064}, {4946, 3286}, {64, 48}};
    splat_train_options o;
    splat_train_options_init(&o);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        splat_memory_setup setup = card(sizes[i][0], sizes[i][1]);
        check_sweep(&setup, &o, SPLAT_GIVE_UP_ALL);
        check_sweep(&setup, &o, SPLAT_GIVE_UP_ALL & ~SPLAT_GIVE_UP_SH);
        check_sweep(&setup, &o, SPLAT_GIVE_UP_LISTS | SPLAT_GIVE_UP_MOMENTS);
        check_sweep(&setup, &o, 0);
        setup.n_ranks = 4;
        check_sweep(&setup, &o, splat_ranks_may_give_up(false));
        check_sweep(&setup, &o, splat_ranks_may_give_up(true));
    }
}

/* bonsai: 1.14 M Gaussians take 1800 MiB with the photos and need no more than them given up below 1600. */
static void what_is_cheap_is_enough(void **state)
{
    (void)state;
    splat_memory_setup setup = card(799, 532);
    splat_train_options o;
    splat_train_options_init(&o);
    splat_memory_forms f = {&setup, &o, SPLAT_GIVE_UP_ALL, 1600 * MIB};
    assert_int_equal(splat_form_bits(&f, splat_form_for(&f, 100000)), 0);
    assert_int_equal(splat_form_bits(&f, splat_form_for(&f, 1140000)), SPLAT_GIVE_UP_PHOTOS);
    f.limit = 1900 * MIB;
    assert_int_equal(splat_form_bits(&f, splat_form_for(&f, 1140000)), 0);
}

/* Each of SPLAT_GIVE_UP_* is one choice, and those come first. */
static void forms_are_the_first_choices(void **state)
{
    (void)state;
    unsigned bits = 0;
    for (int i = 0; i < SPLAT_N_MEMORY_CHOICES; i++) {
        unsigned bit = splat_memory_choices[i].bit;
        assert_int_equal(bit != 0, i < SPLAT_N_FORMS - 1);
        assert_true((bit & (bit - 1)) == 0 && (bits & bit) == 0);
        bits |= bit;
    }
    assert_int_equal(bits, SPLAT_GIVE_UP_ALL);
}

/* Two photos, or three if a step uses a second one, take at most as much memory kept as streamed. */
static void few_photos_are_kept(void **state)
{
    (void)state;
    splat_train_options o, pairs;
    splat_train_options_init(&o);
    splat_train_options_init_coarse(&pairs, SPLAT_REGULARIZE_MULTIVIEW);
    for (size_t n_photos = 1; n_photos < 6; n_photos++) {
        splat_memory_setup setup = card(799, 532);
        setup.photos_all = n_photos * 3 * 799 * 532;
        for (int with_pairs = 0; with_pairs < 2; with_pairs++) {
            const splat_train_options *wanted = with_pairs ? &pairs : &o;
            unsigned may = splat_forms_useful(&setup, wanted, SPLAT_GIVE_UP_ALL);
            assert_int_equal((may & SPLAT_GIVE_UP_PHOTOS) != 0, n_photos > (with_pairs ? 3 : 2));
            splat_memory_forms f = {&setup, wanted, may, 0};
            assert_true(splat_form_bytes(&f, 1, 1000) <= splat_form_bytes(&f, 0, 1000));
        }
    }
}

/* ---------------------------------------------------------------- a run */

#define N_STEPS 60

typedef struct place {
    splat_context *context;
    splat_scene *scene;
} place;

static place open_below(size_t limit, int threads)
{
    splat_error error;
    place p = {.context = open_cpu(threads)};
    p.scene = open_scene(p.context);
    must(splat_context_set_memory_limit(p.context, limit, &error), &error);
    return p;
}

static splat_trainer *start_late(const place *p, const splat_train_options *o)
{
    splat_trainer *t = new_trainer(p->context, p->scene, o);
    t->iteration = LATE;
    return t;
}

/* A limit below which a run gives up one thing after the other: 400 points fit as they are, and what they grow to fits
 * with everything given up. */
static size_t tight_limit(void)
{
    splat_train_options o = growing_options(N_STEPS, 3);
    place p = open_below(0, 2);
    splat_trainer *t = start_late(&p, &o);
    size_t n = run_steps(t, N_STEPS).n_gaussians;
    splat_memory_forms f = {&t->memory.setup, &o, SPLAT_GIVE_UP_ALL, 0};
    assert_int_equal(t->options.sh_storage, SPLAT_SH_FLOAT32); /* without a limit nothing is given up */
    assert_int_equal(t->memory.form, 0);
    size_t limit = splat_form_bytes(&f, SPLAT_N_FORMS - 1, n + n / 4);
    print_message("%zu Gaussians without a limit; %zu bytes\n", n, limit);
    close_training(p.context, p.scene, t);
    return limit;
}

static void compare_states(const splat_trainer *a, const splat_trainer *b, int at)
{
    splat_state_array of_a[SPLAT_MAX_STATE_ARRAYS], of_b[SPLAT_MAX_STATE_ARRAYS];
    int n = splat_trainer_state_arrays(a, of_a);
    assert_int_equal(splat_trainer_state_arrays(b, of_b), n);
    for (int i = 0; i < n; i++) {
        size_t bytes = (size_t)of_a[i].rows * of_a[i].words * 4;
        assert_string_equal(of_a[i].name, of_b[i].name);
        assert_string_equal(of_a[i].type, of_b[i].type);
        if (of_a[i].rows != of_b[i].rows || of_a[i].words != of_b[i].words ||
            (bytes && memcmp(of_a[i].device, of_b[i].device, bytes) != 0))
            fail_msg("resumed at %d: %s is another one", at, of_a[i].name);
    }
}

enum { EVERY = 4, N_SAVED = N_STEPS / EVERY };

static const char *saved_name(int i)
{
    static char name[32];
    snprintf(name, sizeof name, "give_up_%d.splatsmith", i);
    return name;
}

static void everything_is_given_up_and_remembered(void **state)
{
    (void)state;
    splat_error error;
    size_t limit = tight_limit();
    splat_train_options o = growing_options(N_STEPS, 3);
    place p = open_below(limit, 2);
    splat_trainer *whole = start_late(&p, &o);
    int n_forms_seen = 0, form = -1;
    assert_int_equal(whole->options.sh_storage, SPLAT_SH_FLOAT32);
    for (int i = 0; i < N_SAVED; i++) {
        run_steps(whole, EVERY);
        must(splat_trainer_save_checkpoint(whole, saved_name(i), &error), &error);
        n_forms_seen += whole->memory.form != form;
        assert_true(whole->memory.form >= form); /* for good */
        form = whole->memory.form;
    }
    splat_memory_info memory;
    splat_context_get_memory(p.context, &memory);
    print_message("%u Gaussians in form %d, %d forms seen; peak %zu of %zu\n", whole->model->gaussians.n, form,
                  n_forms_seen, memory.peak_bytes, limit);
    assert_true(n_forms_seen >= 4);
    assert_true(memory.peak_bytes <= limit);
    assert_int_equal(whole->n_left_out, 0);
    assert_int_equal(whole->options.sh_storage, SPLAT_SH_FLOAT16);
    assert_int_equal(whole->model->sh_storage, SPLAT_SH_FLOAT16);
    assert_int_equal(whole->options.optimizer_storage, SPLAT_OPTIMIZER_QUANTIZED);
    assert_true(whole->options.sh_offload && whole->model->gaussians.rest_on_host);
    assert_int_equal(whole->moment_blocks[1].n_arrays, 0);
    for (int i = 0; i < N_SAVED - 1; i++) {
        place q = open_below(limit, 1);
        splat_trainer *resumed = new_trainer(q.context, q.scene, &o);
        must(splat_trainer_load_checkpoint(resumed, saved_name(i), &error), &error);
        run_steps(resumed, N_STEPS - EVERY * (i + 1));
        compare_states(whole, resumed, LATE + EVERY * (i + 1));
        assert_int_equal(resumed->memory.form, whole->memory.form);
        assert_int_equal(resumed->options.max_instances, whole->options.max_instances);
        close_training(q.context, q.scene, resumed);
    }
    close_training(p.context, p.scene, whole);
}

/* Below a higher limit as well, so that a run is one run; new storages are those of the file, bit for bit. */
static void what_was_given_up_stays_so(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = growing_options(N_STEPS, 3);
    place p = open_below((size_t)1 << 30, 2);
    splat_trainer *t = new_trainer(p.context, p.scene, &o);
    assert_int_equal(t->memory.form, 0);
    must(splat_trainer_load_checkpoint(t, saved_name(N_SAVED - 1), &error), &error);
    assert_int_equal(t->memory.form, SPLAT_N_FORMS - 1);
    assert_int_equal(t->model->sh_storage, SPLAT_SH_FLOAT16);
    assert_int_equal(t->moments.storage, SPLAT_OPTIMIZER_QUANTIZED);
    assert_true(t->model->gaussians.rest_on_host && t->options.sh_offload);
    close_training(p.context, p.scene, t);
}

/* Without a limit, or without leave, a checkpoint of such a run goes on in the storages that are asked for. */
static void what_was_given_up_comes_back_where_there_is_room(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = growing_options(N_STEPS, 3);
    place p = open_below(0, 2);
    splat_trainer *t = new_trainer(p.context, p.scene, &o);
    must(splat_trainer_load_checkpoint(t, saved_name(N_SAVED - 1), &error), &error);
    assert_int_equal(t->model->sh_storage, SPLAT_SH_FLOAT32);
    assert_int_equal(t->moments.storage, SPLAT_OPTIMIZER_FLOAT32);
    assert_false(t->model->gaussians.rest_on_host);
    close_training(p.context, p.scene, t);
}

/* The run holds more than the plan knows: the refusal makes it give up more, and no step is left out. */
static void a_refusal_gives_up_more(void **state)
{
    (void)state;
    splat_train_options o = growing_options(N_STEPS, 3);
    int before = 0;
    for (size_t part = 0; part < 6; part++) {
        place p = open_below((size_t)1 << 30, 2);
        splat_memory *memory = &p.context->backend->memory;
        splat_trainer *t = start_late(&p, &o);
        run_steps(t, 16);
        size_t rows = 724 * (size_t)t->model->gaussians.n;
        assert_int_equal(t->memory.form, 0);
        memory->limit = memory->device.reserved - part * rows / 8;
        splat_region_free(p.context->backend, &t->model->frame.region); /* to be asked for again */
        run_steps(t, 1);
        assert_int_equal(t->n_left_out, 0);
        assert_true(t->memory.form >= before); /* the less there is, the more */
        before = t->memory.form;
        run_steps(t, 4);
        assert_true(memory->device.reserved <= memory->limit);
        assert_int_equal(t->n_left_out, 0);
        close_training(p.context, p.scene, t);
    }
    assert_true(before >= 4);
}

/* New rows get what is missing of the views' working memory, and not all of it: the next view would have to map it
 * again. */
static void growth_takes_what_is_missing(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = growing_options(N_STEPS, 3);
    o.may_give_up = 0;
    for (size_t part = 1; part < 4; part++) {
        place p = open_below(0, 2);
        splat_backend *b = p.context->backend;
        splat_memory *memory = &b->memory;
        splat_trainer *t = start_late(&p, &o);
        void *actions;
        run_steps(t, 16);
        uint32_t n = t->model->gaussians.n + 200;
        must(splat_density_begin(t, n, &actions, &error), &error);
        size_t frame = t->model->frame.region.block.reserved, growth = splat_trainer_growth_bytes(t, n);
        size_t scratch = b->scratch.block.reserved, work = t->strategy->work_bytes(false, n);
        assert_true(work <= scratch && growth > 100000 && frame > growth);
        size_t missing = part * growth / 4 / b->granularity * b->granularity;
        memory->limit = memory->device.reserved + growth - missing;
        must(splat_density_make_room(t, n, n, &error), &error);
        assert_int_equal(t->model->frame.region.block.reserved, frame - missing);
        assert_int_equal(b->scratch.block.reserved, scratch);
        assert_int_equal(memory->device.reserved, memory->limit);
        close_training(p.context, p.scene, t);
    }
}

/* If there is not even room to convert, the step is left out, and the training continues. */
static void nothing_can_be_given_up(void **state)
{
    (void)state;
    splat_train_options o = growing_options(N_STEPS, 3);
    place p = open_below((size_t)1 << 30, 2);
    splat_memory *memory = &p.context->backend->memory;
    splat_trainer *t = start_late(&p, &o);
    run_steps(t, 4);
    memory->limit = 1;
    splat_region_free(p.context->backend, &t->model->frame.region);
    run_steps(t, 1);
    assert_int_equal(t->n_left_out, 1);
    memory->limit = (size_t)1 << 30;
    run_steps(t, 4);
    assert_int_equal(t->n_left_out, 1);
    close_training(p.context, p.scene, t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_memory_gives_up_more),
        cmocka_unit_test(what_is_cheap_is_enough),
        cmocka_unit_test(forms_are_the_first_choices),
        cmocka_unit_test(few_photos_are_kept),
        cmocka_unit_test(everything_is_given_up_and_remembered),
        cmocka_unit_test(what_was_given_up_stays_so),
        cmocka_unit_test(what_was_given_up_comes_back_where_there_is_room),
        cmocka_unit_test(a_refusal_gives_up_more),
        cmocka_unit_test(growth_takes_what_is_missing),
        cmocka_unit_test(nothing_can_be_given_up),
    };
    return cmocka_run_group_tests_name("giving up", tests, NULL, NULL);
}
