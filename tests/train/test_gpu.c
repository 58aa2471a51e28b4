/* The trainer and the evaluator on a GPU, compared with the CPU, on a small sample scene. Without a GPU every test
 * prints that it is skipped. `test_gpu cpu` runs the same tests with the CPU in the GPU's place, to try the tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "gpu_fixture.h"
#include "io/splat/formats.h"
#include "measure/mesh_evaluate.h"
#include "view_job_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- devices */

static void devices_are_listed_or_the_reason_is_told(void **state)
{
    (void)state;
    splat_device_info devices[2];
    splat_error error = {0};
    size_t n = 7;
    if (splat_device_list(devices, 2, &n, &error) != SPLAT_OK) {
        assert_int_equal(n, 0);
        assert_true(strlen(error.message) > 20);
        assert_null(strchr(error.message, '\n'));
        return;
    }
    assert_true(n >= 1);
    const splat_device_info *d = &devices[0];
    print_message("GPU 0: %s, %zu of %zu bytes free, sm_%d%d, driver %d, runtime %d\n", d->name, d->free_bytes,
                  d->total_bytes, d->compute_major, d->compute_minor, d->driver_version, d->runtime_version);
    assert_int_equal(d->index, 0);
    assert_true(d->name[0] && d->compute_major >= 5);
    assert_true(d->free_bytes <= d->total_bytes && d->total_bytes > ((size_t)1 << 30));
    assert_true(d->runtime_version >= 11000 && d->driver_version >= d->runtime_version / 1000 * 1000);
    size_t again = 0;
    must(splat_device_list(NULL, 0, &again, &error), &error);
    assert_int_equal(again, n);
}

static void a_gpu_that_is_not_there_is_refused(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    splat_context_options options;
    splat_context *context;
    splat_error error;
    splat_context_options_init(&options);
    options.backend = "cuda";
    options.gpu = 1000;
    splat_status status = splat_context_create(&options, &context, &error);
    if (strcmp(device, "cuda") != 0) return;
    assert_int_equal(status, SPLAT_ERROR_ARGUMENT);
    assert_null(context);
    assert_non_null(strstr(error.message, "no GPU 1000"));
}

/* ---------------------------------------------------------------- training */

#define N_LOSSES 10

/* A backend that works ahead of the host tells the loss of a step in the step after it. */
static void first_losses(const char *backend, float losses[N_LOSSES])
{
    place p = open_place(backend, false);
    int late = splat_backend_result_latency(p.context->backend);
    splat_train_options o = busy_options(80);
    splat_trainer *trainer = make_trainer(&p, &o);
    for (int i = 0; i < N_LOSSES + late; i++) {
        float loss = run_steps(trainer, 1).loss;
        if (i >= late) losses[i - late] = loss;
    }
    splat_trainer_destroy(trainer);
    close_place(&p);
}

static void first_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    float wanted[N_LOSSES], losses[N_LOSSES];
    first_losses("cpu", wanted);
    first_losses(device, losses);
    for (int i = 0; i < N_LOSSES; i++) {
        /* Float sums in another order differ by 1e-6; ten steps of Adam, which divides tiny gradients by their own
         * size, make more of it. A wrong term shows at 1e-3. */
        if (!(fabsf(losses[i] - wanted[i]) <= 1e-4f * fabsf(wanted[i])))
            fail_msg("loss %d is %.8f, on the CPU %.8f", i + 1, (double)losses[i], (double)wanted[i]);
        assert_true(wanted[i] > 0.01f && (i == 0 || wanted[i] != wanted[i - 1]));
    }
}

static splat_train_options capped_options(void)
{
    splat_train_options o = busy_options(80);
    o.target_gaussian_count = 450;
    return o;
}

static void deterministic_runs_give_the_same_bytes(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    splat_train_options o = capped_options();
    place p = open_place(device, true), q = open_place(device, true);
    splat_trainer *whole = make_trainer(&p, &o), *other = make_trainer(&q, &o);
    size_t n_added = 0, n_removed = 0, most = 0;
    for (int i = 0; i < 80; i++) {
        splat_step_info info = run_steps(whole, 1);
        n_added += info.n_added;
        n_removed += info.n_removed;
        most = info.n_gaussians > most ? info.n_gaussians : most;
    }
    print_message("%zu added, %zu removed, at most %zu\n", n_added, n_removed, most);
    assert_true(n_added > 0 && n_removed > 0);
    assert_int_equal(most, 450); /* the cap was met */
    run_steps(other, 80);
    assert_true(same_models(splat_trainer_get_model(whole), splat_trainer_get_model(other)));
    splat_trainer_destroy(other);
    close_place(&q);

    o.photos_on_host = true; /* photos that are uploaded ahead of the work are the same photos */
    other = make_trainer(&p, &o);
    run_steps(other, 80);
    assert_true(same_models(splat_trainer_get_model(whole), splat_trainer_get_model(other)));
    splat_trainer_destroy(other);

    o.seed = 1; /* the comparison can tell runs apart */
    other = make_trainer(&p, &o);
    run_steps(other, 80);
    assert_false(same_models(splat_trainer_get_model(whole), splat_trainer_get_model(other)));
    splat_trainer_destroy(other);
    splat_trainer_destroy(whole);
    close_place(&p);
}

static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    static const int stops[] = {0, 20, 29, 50}; /* at the start; before a densification; between; before a filter */
    place p = open_place(device, true);
    splat_train_options o = capped_options();
    assert_resumes(&p, &o, 80, stops, sizeof stops / sizeof stops[0], NULL);
    close_place(&p);
}

/* 400 steps with stops at random places, each part with a trainer of its own. */
static void many_resumes_are_the_same_run(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, true);
    splat_train_options o = capped_options();
    splat_error error;
    o.iterations = 400;
    o.densify_until_iter = 300;
    splat_trainer *t = make_trainer(&p, &o);
    run_steps(t, 400);
    must(splat_model_save(splat_trainer_get_model(t), "whole.ply", NULL, &error), &error);
    splat_trainer_destroy(t);
    unsigned random = 11;
    int done = 0, n_parts = 0;
    for (; done < 400; n_parts++) {
        t = make_trainer(&p, &o);
        if (done) must(splat_trainer_load_checkpoint(t, "state.splatsmith", &error), &error);
        random = random * 1103515245u + 12345u;
        int n = 1 + (int)(random >> 16) % 70;
        n = n < 400 - done ? n : 400 - done;
        run_steps(t, n);
        done += n;
        must(splat_trainer_save_checkpoint(t, "state.splatsmith", &error), &error);
        must(splat_model_save(splat_trainer_get_model(t), "parts.ply", NULL, &error), &error);
        splat_trainer_destroy(t);
    }
    uint8_t *whole, *parts;
    size_t n_whole, n_parts_bytes;
    must(splat_file_read("whole.ply", &whole, &n_whole, &error), &error);
    must(splat_file_read("parts.ply", &parts, &n_parts_bytes, &error), &error);
    print_message("%d parts\n", n_parts);
    assert_int_equal(n_whole, n_parts_bytes);
    assert_memory_equal(whole, parts, n_whole);
    free(whole);
    free(parts);
    close_place(&p);
}

#define N_VARIANTS 6

static void set_variant(int variant, splat_train_options *o)
{
    switch (variant) {
    case 2: o->random_background = true; break;
    case 3: o->ray_jitter = true; break;
    case 4: o->ray_jitter = o->resample_gt_image = true; break;
    default: break; /* 0: the reference; 1: over white; 5: rendered in the classic way */
    }
}

static void options_of_the_step_change_the_result(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, true); /* only the option may change a byte */
    uint8_t *bytes[N_VARIANTS];
    size_t sizes[N_VARIANTS];
    splat_error error;
    for (int variant = 0; variant < N_VARIANTS; variant++) {
        splat_train_options o = busy_options(30);
        o.densify_from_iter = 20; /* later than these steps: a white background also resets opacities there */
        set_variant(variant, &o);
        p.scene->options.white_background = variant == 1;
        splat_trainer *trainer = make_trainer(&p, &o);
        if (variant == 5)
            must(splat_model_set_render_mode(splat_trainer_get_model(trainer), SPLAT_RENDER_CLASSIC, 0, &error),
                 &error);
        for (int i = 0; i < 15; i++)
            if (!isfinite(run_steps(trainer, 1).loss)) fail_msg("variant %d: step %d", variant, i + 1);
        bytes[variant] = model_bytes(splat_trainer_get_model(trainer), "bytes.ply", &sizes[variant]);
        splat_trainer_destroy(trainer);
        for (int other = 0; other < variant; other++)
            if (sizes[other] == sizes[variant] && memcmp(bytes[other], bytes[variant], sizes[variant]) == 0)
                fail_msg("variants %d and %d give the same model", other, variant);
    }
    for (int variant = 0; variant < N_VARIANTS; variant++) free(bytes[variant]);
    close_place(&p);
}

/* Mean absolute value of the coefficients of the highest band, in a saved model. */
static double highest_band(const splat_model *model, int degree)
{
    splat_cloud host;
    splat_error error;
    must(splat_model_save(model, "band.ply", NULL, &error), &error);
    must(splat_cloud_read("band.ply", &host, &error), &error);
    assert_int_equal(host.sh_degree, degree);
    size_t n_rest = (size_t)(degree + 1) * (size_t)(degree + 1) - 1, first = (size_t)degree * (size_t)degree - 1;
    double sum = 0;
    for (size_t i = 0; i < host.n; i++)
        for (size_t k = 3 * first; k < 3 * n_rest; k++) sum += fabs((double)host.sh_rest[3 * n_rest * i + k]);
    sum /= (double)(host.n * 3 * (n_rest - first));
    splat_cloud_free(&host);
    return sum;
}

static void every_sh_degree_trains(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false);
    splat_error error;
    for (int degree = 0; degree <= 3; degree++) {
        splat_train_options o;
        splat_train_options_init(&o);
        o.iterations = 4000;
        o.sh_degree = degree;
        splat_trainer *start = make_trainer(&p, &o), *trainer = make_trainer(&p, &o);
        must(splat_model_save(splat_trainer_get_model(start), "start.ply", NULL, &error), &error);
        must(splat_trainer_load_model(trainer, "start.ply", 3010, &error), &error); /* every band is active */
        for (int i = 0; i < 15; i++) {
            splat_step_info info = run_steps(trainer, 1);
            assert_true(isfinite(info.loss));
            assert_int_equal(info.active_sh_degree, degree);
        }
        assert_false(same_models(splat_trainer_get_model(start), splat_trainer_get_model(trainer)));
        if (degree > 0) {
            assert_true(highest_band(splat_trainer_get_model(start), degree) == 0);
            assert_true(highest_band(splat_trainer_get_model(trainer), degree) > 1e-5);
        }
        splat_trainer_destroy(start);
        splat_trainer_destroy(trainer);
    }
    close_place(&p);
}

/* ---------------------------------------------------------------- evaluation and pictures */

/* A trained splat, written by the CPU, for both backends to look at. */
static void write_splat(const char *path)
{
    place p = open_place("cpu", false);
    splat_train_options o = busy_options(150);
    splat_error error;
    o.opacity_reset_interval = 1000;
    splat_trainer *trainer = make_trainer(&p, &o);
    run_steps(trainer, 150);
    must(splat_model_save(splat_trainer_get_model(trainer), path, NULL, &error), &error);
    splat_trainer_destroy(trainer);
    close_place(&p);
}

#define MAX_VIEWS 17

static bool keep_metrics(void *user, size_t index, const splat_view_info *view, const float *picture,
                         const uint8_t *photo, const splat_metrics *metrics)
{
    (void)view;
    (void)picture;
    (void)photo;
    ((splat_metrics *)user)[index] = *metrics;
    return true;
}

static size_t evaluate_ply(const char *backend, const char *path, splat_view_set set, bool quantize,
                           splat_metrics views[MAX_VIEWS])
{
    place p = open_place(backend, false);
    splat_model *model;
    splat_metrics mean;
    splat_error error;
    must(splat_model_load(p.context, path, &model, &error), &error);
    splat_view_job job = job_on(set, keep_metrics, views);
    job.quantize = quantize;
    must(splat_model_evaluate(model, p.scene, &job, &mean, &error), &error);
    splat_model_destroy(model);
    close_place(&p);
    return mean.n_views;
}

static void evaluations_agree(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    write_splat("splat.ply");
    for (int i = 0; i < 4; i++) {
        splat_view_set set = i & 1 ? SPLAT_VIEWS_TEST : SPLAT_VIEWS_TRAIN;
        splat_metrics wanted[MAX_VIEWS], got[MAX_VIEWS];
        size_t n = evaluate_ply("cpu", "splat.ply", set, i >= 2, wanted);
        assert_int_equal(evaluate_ply(device, "splat.ply", set, i >= 2, got), n);
        assert_int_equal(n, i & 1 ? 3 : 14);
        for (size_t v = 0; v < n; v++) {
            if (!(wanted[v].psnr > 12 && wanted[v].psnr < 40 && wanted[v].ssim > 0.15)) /* a picture to speak of */
                fail_msg("view %zu: PSNR %.2f, SSIM %.3f on the CPU", v, wanted[v].psnr, wanted[v].ssim);
            /* the requirement: 0.01 dB and 1e-4 */
            if (!(fabs(got[v].psnr - wanted[v].psnr) < 0.01 && fabs(got[v].ssim - wanted[v].ssim) < 1e-4 &&
                  fabs(got[v].psnr_per_channel - wanted[v].psnr_per_channel) < 0.01 &&
                  fabs(got[v].l1 - wanted[v].l1) < 1e-4))
                fail_msg("view %zu: PSNR %.5f, SSIM %.6f, L1 %.6f; on the CPU %.5f, %.6f, %.6f", v, got[v].psnr,
                         got[v].ssim, got[v].l1, wanted[v].psnr, wanted[v].ssim, wanted[v].l1);
        }
    }
}

static splat_mesh_metrics evaluate_mesh(const char *backend, const char *path)
{
    place p = open_place(backend, false);
    splat_mesh_metrics mean;
    splat_error error;
    splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    job.quantize = true;
    must(splat_mesh_evaluate(p.scene, path, &job, NULL, &mean, &error), &error);
    close_place(&p);
    return mean;
}

/* The CPU draws the same bytes for both; what differs is the order of sums. */
static void meshes_are_measured_alike(void **state)
{
    static const char tent[] = "v -1 -0.2 -1\nv 1 -0.2 -1\nv 1 -0.2 1\nv -1 -0.2 1\nv 0 -1.4 0\n"
                               "f 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n";
    splat_error error;
    (void)state;
    NEEDS_DEVICE();
    must(splat_file_write("tent.obj", tent, sizeof tent - 1, &error), &error);
    splat_mesh_metrics wanted = evaluate_mesh("cpu", "tent.obj"), got = evaluate_mesh(device, "tent.obj");
    assert_true(wanted.coverage > 0.02 && got.coverage == wanted.coverage && got.covered.n_views == 3);
    assert_true(fabs(got.all.psnr - wanted.all.psnr) < 1e-3 && fabs(got.all.ssim - wanted.all.ssim) < 1e-4);
    assert_true(fabs(got.covered.psnr - wanted.covered.psnr) < 1e-3);
    assert_true(fabs(got.covered.ssim - wanted.covered.ssim) < 1e-4 / wanted.coverage);
}

static splat_camera enlarged(splat_camera camera, int scale)
{
    camera.width *= scale;
    camera.height *= scale;
    camera.fx *= (float)scale;
    camera.fy *= (float)scale;
    camera.cx *= (float)scale;
    camera.cy *= (float)scale;
    return camera;
}

/* 5,000 x 3,500 pixels are 68,547 tiles: keys of 32 bits. */
static void a_picture_of_more_tiles_than_16_bits_is_the_same(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place cpu = open_place("cpu", false), gpu = open_place(device, false);
    splat_train_options o = busy_options(60);
    splat_error error;
    splat_model *on_cpu, *on_gpu;
    splat_trainer *trainer = make_trainer(&cpu, &o);
    run_steps(trainer, 20);
    must(splat_model_save(splat_trainer_get_model(trainer), "large.ply", NULL, &error), &error);
    splat_trainer_destroy(trainer);
    must(splat_model_load(cpu.context, "large.ply", &on_cpu, &error), &error);
    must(splat_model_load(gpu.context, "large.ply", &on_gpu, &error), &error);
    splat_camera camera = enlarged(camera_of(&cpu, 0), 50);
    float *wanted = render(on_cpu, &camera), *got = render(on_gpu, &camera);
    size_t n = 3 * (size_t)camera.width * (size_t)camera.height, n_off = 0;
    for (size_t i = 0; i < n; i++) n_off += !(fabsf(got[i] - wanted[i]) < 2e-3f);
    /* a decision at 1/255 moves a value by at most 1/255 of a colour, in few pixels */
    if (n_off > n / 10000) fail_msg("%zu of %zu values differ", n_off, n);
    free(wanted);
    free(got);
    splat_model_destroy(on_cpu);
    splat_model_destroy(on_gpu);
    close_place(&cpu);
    close_place(&gpu);
}

/* Hints from training views must not shape another picture: this one has far more instances than they have. */
static void a_model_in_training_renders_as_its_file(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false); /* the deterministic mode plans nothing by what it knows */
    splat_train_options o = busy_options(60);
    splat_error error;
    splat_model *loaded;
    splat_trainer *trainer = make_trainer(&p, &o);
    run_steps(trainer, 20);
    splat_camera camera = enlarged(camera_of(&p, 0), 30);
    must(splat_model_save(splat_trainer_get_model(trainer), "training.ply", NULL, &error), &error);
    must(splat_model_load(p.context, "training.ply", &loaded, &error), &error);
    float *a = render(splat_trainer_get_model(trainer), &camera), *b = render(loaded, &camera);
    print_message("%llu instances\n", (unsigned long long)loaded->frame.n_instances);
    assert_true(loaded->frame.n_instances > 100000);
    assert_memory_equal(a, b, 3 * (size_t)camera.width * (size_t)camera.height * sizeof *a);
    free(a);
    free(b);
    splat_model_destroy(loaded);
    run_steps(trainer, 5);
    splat_trainer_destroy(trainer);
    close_place(&p);
}

/* ---------------------------------------------------------------- degenerate Gaussians */

enum {
    NAN_MEAN,
    ZERO_QUATERNION,
    INFINITE_SCALE,
    N_COUNTED, /* those above are in every view that they are in front of */
    AT_THE_CAMERA = N_COUNTED,
    ZERO_SCALE,
    NAN_OPACITY,
    N_BAD
};

static void write_degenerate(const place *p, const char *from, const char *to)
{
    splat_cloud host;
    splat_error error;
    splat_camera camera = camera_of(p, 1); /* a training view: every eighth is held out, from the first */
    must(splat_cloud_read(from, &host, &error), &error);
    assert_true(host.n > 10 * N_BAD);
    host.means[3 * NAN_MEAN + 1] = NAN;
    memset(host.rotations + 4 * ZERO_QUATERNION, 0, 4 * sizeof *host.rotations);
    host.scales[3 * INFINITE_SCALE] = INFINITY;
    memcpy(host.means + 3 * AT_THE_CAMERA, camera.center, 3 * sizeof *host.means);
    for (int i = 0; i < 3; i++) host.scales[3 * ZERO_SCALE + i] = -INFINITY; /* raw scales are logarithms */
    host.opacities[NAN_OPACITY] = NAN;
    must(splat_cloud_write(to, &host, NULL, &error), &error);
    splat_cloud_free(&host);
}

static bool row_is_finite(const splat_cloud *host, size_t i)
{
    const size_t rest = splat_sh_rest_floats(host->sh_degree);
    float sum = host->opacities[i];
    for (size_t c = 0; c < 3; c++) sum += host->means[3 * i + c] + host->sh_dc[3 * i + c] + host->scales[3 * i + c];
    for (size_t c = 0; c < 4; c++) sum += host->rotations[4 * i + c];
    for (size_t c = 0; c < rest; c++) sum += host->sh_rest[rest * i + c];
    return isfinite(sum + host->filter_3d[i]);
}

/* Rows from `first` on that hold a value that is not finite. */
static size_t count_bad_rows(const splat_model *model, size_t first)
{
    splat_cloud host;
    splat_error error;
    size_t n = 0;
    must(splat_model_save(model, "rows.ply", NULL, &error), &error);
    must(splat_cloud_read("rows.ply", &host, &error), &error);
    for (size_t i = first; i < host.n; i++) n += !row_is_finite(&host, i);
    splat_cloud_free(&host);
    return n;
}

static void degenerate_gaussians_are_counted_and_do_not_spread(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    place p = open_place(device, false);
    splat_train_options o = busy_options(60);
    splat_model *loaded;
    splat_error error;
    splat_metrics mean;
    splat_trainer *trainer = make_trainer(&p, &o);
    must(splat_model_save(splat_trainer_get_model(trainer), "good.ply", NULL, &error), &error);
    write_degenerate(&p, "good.ply", "bad.ply");

    must(splat_model_load(p.context, "bad.ply", &loaded, &error), &error);
    for (size_t view = 0; view < 3; view++) {
        splat_camera camera = camera_of(&p, view);
        float *rgb = render(loaded, &camera);
        for (size_t i = 0; i < 3 * WIDTH * HEIGHT; i++)
            if (!isfinite(rgb[i])) fail_msg("view %zu: value %zu is not finite", view, i);
        free(rgb);
    }
    splat_model_destroy(loaded);

    must(splat_trainer_load_model(trainer, "bad.ply", 5, &error), &error);
    assert_true(count_bad_rows(splat_trainer_get_model(trainer), 0) >= N_COUNTED); /* the zero quaternion is finite */
    size_t n_degenerate = 0;
    for (int i = 0; i < 10; i++) { /* up to 15: before the first density control, rows keep their places */
        splat_step_info info = run_steps(trainer, 1);
        assert_true(isfinite(info.loss));
        n_degenerate = info.n_degenerate > n_degenerate ? info.n_degenerate : n_degenerate;
    }
    assert_true(n_degenerate >= N_COUNTED && n_degenerate <= N_BAD);
    assert_int_equal(count_bad_rows(splat_trainer_get_model(trainer), N_BAD), 0);
    splat_step_info info = run_steps(trainer, 40);
    assert_true(isfinite(info.loss) && info.n_gaussians > 10 * N_BAD);
    assert_true(count_bad_rows(splat_trainer_get_model(trainer), 0) <= N_BAD);
    must(evaluate_set(splat_trainer_get_model(trainer), p.scene, SPLAT_VIEWS_TEST, false, &mean, &error), &error);
    assert_true(isfinite(mean.psnr) && mean.psnr > 10);
    splat_trainer_destroy(trainer);
    close_place(&p);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "training and evaluation");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_listed_or_the_reason_is_told),
        cmocka_unit_test(a_gpu_that_is_not_there_is_refused),
        cmocka_unit_test(first_losses_are_those_of_the_cpu),
        cmocka_unit_test(deterministic_runs_give_the_same_bytes),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(many_resumes_are_the_same_run),
        cmocka_unit_test(options_of_the_step_change_the_result),
        cmocka_unit_test(every_sh_degree_trains),
        cmocka_unit_test(evaluations_agree),
        cmocka_unit_test(meshes_are_measured_alike),
        cmocka_unit_test(a_picture_of_more_tiles_than_16_bits_is_the_same),
        cmocka_unit_test(a_model_in_training_renders_as_its_file),
        cmocka_unit_test(degenerate_gaussians_are_counted_and_do_not_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
