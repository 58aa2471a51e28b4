/* density_grow and density_prune where a cache has rows of sh_rest and of its moments: every row ends up with the bits
 * that it has without, and the cache keeps those of all survivors. */
#include "ops/densify/densify_test.h"
#include "ops/project/project.h"

enum { N = 3000, MOST = 2 * N, SPARE_COLUMNS = 100 };

typedef struct cache_case {
    int sh_degree;
    bool small, moments_only, has_spare;
    uint32_t share; /* one row in so many is at home */
} cache_case;

/* True if the cache has the rows of Gaussian i at first. */
static bool is_cached(const cache_case *c, uint32_t i)
{
    return splat_random(3, SPLAT_STREAM_TEST, 901, i).x[0] % c->share != 0;
}

/* Rows of an array go into slots, last Gaussian first, some slots stay empty; at home there are other bits. */
static void fill(splat_backend *backend, const splat_rest_cache *rows, const cache_case *c, const uint32_t *host,
                 void *home, uint32_t *in_cache, uint32_t words)
{
    if (!in_cache) return;
    uint32_t *at_home = malloc((size_t)N * words * sizeof *at_home), slot = 0;
    uint32_t *in_slots = calloc((size_t)rows->n_slots * words, sizeof *in_slots);
    memcpy(at_home, host, (size_t)N * words * sizeof *at_home);
    for (uint32_t i = N; i-- > 0;) {
        if (!is_cached(c, i)) continue;
        memcpy(in_slots + (size_t)slot++ * words, host + (size_t)i * words, words * sizeof *host);
        for (uint32_t k = 0; k < words; k++) at_home[(size_t)i * words + k] = 0xffc00000u + i; /* not a number */
    }
    splat_backend_upload(backend, home, at_home, (size_t)N * words * sizeof *at_home, NULL);
    splat_backend_upload(backend, in_cache, in_slots, (size_t)rows->n_slots * words * sizeof *in_slots, NULL);
    free(at_home), free(in_slots);
}

static void open_cache(splat_backend *backend, splat_rest_cache *rows, splat_block *block, const cache_case *c,
                       population *host, population *device)
{
    const int rest = SPLAT_TENSOR_sh_rest;
    const uint32_t rest_words = splat_parameter_words(rest, c->sh_degree, c->small ? SPLAT_SH_FLOAT16
                                                                                   : SPLAT_SH_FLOAT32);
    *rows = (splat_rest_cache){.n_slots = N + 17, .n_rows = MOST, .rest_words = c->moments_only ? 0 : rest_words};
    rows->moment_words = c->small ? splat_quantized_moment_words(rest, c->sh_degree)
                                  : splat_tensor_channels(rest, c->sh_degree);
    rows->home_moments[0] = c->small ? device->moments.quantized[rest] : (uint32_t *)device->moments.m.sh_rest;
    rows->home_moments[1] = c->small ? NULL : (uint32_t *)device->moments.v.sh_rest;
    size_t zeroed, bytes = splat_rest_cache_cut(rows, NULL, &zeroed);
    splat_rest_cache_cut(rows, test_upload(backend, block, NULL, bytes), &zeroed);
    uint32_t slot[MOST] = {0}, owner[N + 17] = {0}, n = 0;
    for (uint32_t i = N; i-- > 0;)
        if (is_cached(c, i)) owner[n] = i + 1, slot[i] = ++n;
    splat_backend_upload(backend, rows->slot, slot, sizeof slot, NULL);
    splat_backend_upload(backend, rows->owner, owner, sizeof owner, NULL);
    fill(backend, rows, c, c->small ? (uint32_t *)(void *)host->g.sh_rest_half : (uint32_t *)host->g.p.sh_rest,
         c->small ? (void *)device->g.sh_rest_half : device->g.p.sh_rest, rows->rest, rest_words);
    fill(backend, rows, c, c->small ? host->moments.quantized[rest] : (uint32_t *)host->moments.m.sh_rest,
         rows->home_moments[0], rows->moments[0], rows->moment_words);
    if (!c->small)
        fill(backend, rows, c, (uint32_t *)host->moments.v.sh_rest, rows->home_moments[1], rows->moments[1],
             rows->moment_words);
    device->g.rest_on_host = true;
}

/* Each survivor that had a slot has one, which is its own, and no slot is another's. */
static int check_slots(splat_backend *backend, const splat_rest_cache *rows, uint32_t n, const float *labels,
                       const cache_case *c)
{
    int failures = 0;
    uint32_t slot[MOST], owner[N + 17], n_owners = 0, n_cached = 0, n_wrong = 0;
    test_download(backend, slot, rows->slot, sizeof slot);
    test_download(backend, owner, rows->owner, sizeof owner);
    for (uint32_t k = 0; k < rows->n_slots; k++) n_owners += owner[k] != 0;
    for (uint32_t j = 0; j < MOST; j++) {
        const bool had_one = j < n && labels[j] > 0 && is_cached(c, (uint32_t)labels[j] - 1);
        n_cached += slot[j] != 0;
        n_wrong += had_one != (slot[j] != 0);
        n_wrong += slot[j] && (slot[j] > rows->n_slots || owner[slot[j] - 1] != j + 1);
    }
    TEST_CHECK(failures, n_wrong == 0, "%u rows have another's slot, or none of their own", n_wrong);
    TEST_CHECK(failures, n_owners == n_cached && n_cached > 100, "%u slots are taken, %u rows in them", n_owners,
               n_cached);
    return failures;
}

/* Grows, prunes with another order, sends all home. filter_3d tells the Gaussians apart: 1 + i, of new ones 0. */
static int run(splat_backend *backend, population *p, const cache_case *c, bool has_cache)
{
    int failures = 0;
    splat_density_pruned pruned = {0};
    splat_error error = {0};
    splat_block spare = {0}, cache_block = {0};
    splat_rest_cache cache;
    population device;
    uint32_t n_clone = 0, n_split = 0;
    for (uint32_t i = 0; i < N; i++) {
        n_clone += p->actions[i] == SPLAT_DENSITY_CLONE;
        n_split += p->actions[i] == SPLAT_DENSITY_SPLIT;
    }
    upload(backend, p, &device);
    if (has_cache) open_cache(backend, &cache, &cache_block, c, p, &device);
    const splat_rest_state rest = {.cache = has_cache ? &cache : NULL};
    struct splat_density_grow_args grow = {.gaussians = &device.g, .moments = &device.moments,
                                           .actions = device.actions, .n_clone = n_clone, .n_split = n_split,
                                           .seed = 77, .step = 600, .rest = &rest};
    TEST_CHECK(failures, splat_op_density_grow(backend, &grow, &error) == SPLAT_OK, "%s", error.message);
    device.g.n = N + n_clone + 2 * n_split;
    float *labels = calloc(MOST, sizeof *labels);
    for (uint32_t i = 0; i < N; i++) labels[i] = (float)(1 + i);
    splat_backend_upload(backend, device.g.filter_3d, labels, MOST * sizeof *labels, NULL);
    struct splat_density_prune_args prune = {.gaussians = &device.g, .moments = &device.moments,
                                             .actions = device.actions, .n_actions = N, .min_opacity = 0.05f,
                                             .target_count = N - 100, .result = &pruned, .reorder = true,
                                             .rest = &rest};
    if (c->has_spare) {
        prune.spare_bytes = (size_t)SPARE_COLUMNS * N * sizeof(uint32_t);
        prune.spare = test_upload(backend, &spare, NULL, prune.spare_bytes);
    }
    TEST_CHECK(failures, splat_op_density_prune(backend, &prune, &error) == SPLAT_OK, "%s", error.message);
    device.g.n = p->g.n = pruned.n_kept;
    TEST_CHECK(failures, pruned.n_kept > N / 2, "%u are left", pruned.n_kept);
    test_download(backend, labels, device.g.filter_3d, MOST * sizeof *labels);
    if (has_cache) {
        const struct splat_settle_rest_args settle = {&device.g, &rest};
        failures += check_slots(backend, &cache, device.g.n, labels, c);
        TEST_CHECK(failures, splat_op_settle_rest(backend, &settle, &error) == SPLAT_OK, "%s", error.message);
    }
    download(backend, &device, p);
    splat_block_free(backend, &spare);
    splat_block_free(backend, &cache_block);
    free(labels);
    return failures;
}

static int check_case(splat_backend *backend, const cache_case *c)
{
    population without = make(N, MOST, c->sh_degree, 13);
    if (c->small) make_small(&without);
    for (uint32_t i = 0; i < N; i++) /* room for all that grow */
        if (without.actions[i] != SPLAT_DENSITY_KEEP && i % 3) without.actions[i] = SPLAT_DENSITY_KEEP;
    population with = copy(&without);
    int failures = run(backend, &without, c, false) + run(backend, &with, c, true);
    TEST_CHECK(failures, without.g.n == with.g.n, "%u are left, not %u", with.g.n, without.g.n);
    for (int a = 0; a < N_PERSISTENT && !failures; a++)
        TEST_CHECK(failures, is_equal_array(&without, &with, a, 0, with.g.n), "array %d has other rows", a);
    if (failures) fprintf(stderr, "cache: SH degree %d, small %d, at home 1/%u\n", c->sh_degree, c->small, c->share);
    release(&without), release(&with);
    return failures;
}

int check_density_cache(splat_backend *backend)
{
    static const cache_case cases[] = {{3, false, false, true, 3},
                                       {3, false, false, false, 7},
                                       {2, true, false, true, 2},
                                       {1, true, true, false, 3},
                                       {3, false, true, true, 5}};
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && backend->caches_rest; i++)
        failures += check_case(backend, &cases[i]);
    return failures;
}
