/* density_prune with `reorder`: it changes neither which Gaussians survive nor their rows, only the order of the rows.
 * The CPU keeps the old one; other backends follow a Morton curve, ties by index. */
#include "ops/densify/densify_test.h"

enum { N = 3000, CELL_BITS = 21, SPARE_COLUMNS = 13, MAX_WORDS = 45 /* of a row */ };
typedef enum means_kind { MEANS_RANDOM, MEANS_EQUAL, MEANS_OUTLIERS, N_MEANS_KINDS } means_kind;
static const char *const kind_names[N_MEANS_KINDS] = {"random", "all equal", "huge outliers"};

static population make_for_reorder(int sh_degree, means_kind kind)
{
    population p = make(N, N, sh_degree, 11);
    for (uint32_t i = 0; i < N; i++) p.g.filter_3d[i] = (float)i; /* a label that moves with its row */
    for (uint32_t k = 0; k < 3 * N; k++) {
        if (kind == MEANS_EQUAL) p.g.p.means[k] = 0.5f;
        if (kind == MEANS_OUTLIERS && k % 21 == 0) p.g.p.means[k] *= 1e37f;
    }
    if (kind == MEANS_OUTLIERS) p.g.p.means[0] = 3e38f, p.g.p.means[21] = -3e38f; /* the side of their box overflows */
    return p;
}

/* With outliers nothing is removed: the order changes all the same, and rows move through spare memory; with equal
 * means through a block of it, whole. */
static splat_density_pruned run_reorder(splat_backend *backend, population *p, means_kind kind, bool reorder)
{
    splat_density_pruned result = {0};
    population device;
    upload(backend, p, &device);
    struct splat_density_prune_args args = {.gaussians = &device.g, .moments = &device.moments,
                                            .actions = device.actions, .n_actions = N, .min_opacity = 0.005f,
                                            .target_count = N / 2, .result = &result, .reorder = reorder};
    splat_block spare = {0};
    if (kind == MEANS_OUTLIERS) {
        args.n_actions = args.target_count = 0, args.min_opacity = 0;
        args.spare_bytes = SPARE_COLUMNS * N * sizeof(uint32_t);
        args.spare = test_upload(backend, &spare, NULL, args.spare_bytes);
    } else if (kind == MEANS_EQUAL) {
        test_upload(backend, &spare, NULL, MAX_WORDS * N * sizeof(uint32_t));
        args.spare_block = &spare;
    }
    if (splat_op_density_prune(backend, &args, NULL) != SPLAT_OK) result.n_kept = 0;
    download(backend, &device, p);
    splat_block_free(backend, &spare);
    return result;
}

/* The old index of a row. A label that is damaged gives row 0, whose label is another. */
static uint32_t old_index(const population *p, uint32_t row)
{
    float label = p->g.filter_3d[row];
    return label >= 0 && label < N ? (uint32_t)label : 0;
}

/* Every array holds, in each row, what the Gaussian of the row's label had before. */
static int check_rows(population *before, population *after, uint32_t n)
{
    int failures = 0;
    void **old[N_ARRAYS], **new[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(before, old, words);
    list_arrays(after, new, words);
    for (int a = 0; a < N_PERSISTENT; a++) {
        uint32_t n_torn = 0;
        for (uint32_t r = 0; words[a] && r < n; r++)
            n_torn += memcmp(row_of(new[a], words[a], r), row_of(old[a], words[a], old_index(after, r)),
                             words[a] * sizeof(uint32_t)) != 0;
        TEST_CHECK(failures, n_torn == 0, "array %d: %u of %u rows are not those of their Gaussian", a, n_torn, n);
    }
    return failures;
}

static int check_survivors(const population *plain, const population *after, uint32_t n)
{
    int failures = 0;
    uint8_t expected[N] = {0}, kept[N] = {0};
    for (uint32_t r = 0; r < n; r++) expected[old_index(plain, r)]++, kept[old_index(after, r)]++;
    TEST_CHECK(failures, memcmp(kept, expected, N) == 0, "others survive than without reorder");
    return failures;
}

/* The cell of each row's mean in the box of all, bits interleaved. Halves: the side of a box of floats may overflow. */
static void list_codes(const float *means, uint32_t n, uint64_t *codes)
{
    memset(codes, 0, n * sizeof *codes);
    for (uint32_t k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t r = 0; r < n; r++) low = fminf(low, means[3 * r + k]), high = fmaxf(high, means[3 * r + k]);
        low *= 0.5f;
        float side = 0.5f * high - low;
        for (uint32_t r = 0; r < n; r++) {
            float place = side > 0 ? (0.5f * means[3 * r + k] - low) / side : 0;
            uint32_t cell = (uint32_t)(place * (float)(1 << CELL_BITS)), last = (1 << CELL_BITS) - 1;
            if (cell > last) cell = last;
            for (uint32_t b = 0; b < CELL_BITS; b++) codes[r] |= (uint64_t)(cell >> b & 1) << (3 * b + k);
        }
    }
}

static int check_order(const population *after, uint32_t n)
{
    int failures = 0;
    uint32_t n_wrong = 0;
    static uint64_t codes[N];
    list_codes(after->g.p.means, n, codes);
    for (uint32_t r = 1; r < n; r++) {
        bool tie = codes[r] == codes[r - 1];
        n_wrong += tie ? old_index(after, r) <= old_index(after, r - 1) : codes[r] < codes[r - 1];
    }
    TEST_CHECK(failures, n_wrong == 0, "%u of %u rows are not where the Morton curve has them", n_wrong, n);
    return failures;
}

static int check_reorder(splat_backend *backend, int sh_degree, means_kind kind, bool small)
{
    int failures = 0;
    population before = make_for_reorder(sh_degree, kind);
    if (small) make_small(&before);
    population plain = copy(&before), after = copy(&before);
    splat_density_pruned expected = run_reorder(backend, &plain, kind, false);
    splat_density_pruned pruned = run_reorder(backend, &after, kind, true);
    uint32_t n = pruned.n_kept;
    TEST_CHECK(failures, memcmp(&pruned, &expected, sizeof pruned) == 0, "%u are kept, not %u", n, expected.n_kept);
    TEST_CHECK(failures, n == (kind == MEANS_OUTLIERS ? N : N / 2), "%u are kept", n);
    if (!failures) {
        failures += check_rows(&before, &after, n) + check_survivors(&plain, &after, n);
        if (strcmp(splat_backend_name(backend), "cpu") == 0)
            TEST_CHECK(failures, is_equal_array(&plain, &after, SPLAT_N_TENSORS, 0, n), "the CPU changed the order");
        else
            failures += check_order(&after, n);
    }
    if (failures) fprintf(stderr, "reorder: SH degree %d, means %s\n", sh_degree, kind_names[kind]);
    release(&before), release(&plain), release(&after);
    return failures;
}

int check_density_reorder(splat_backend *backend)
{
    int failures = 0;
    for (int sh_degree = 0; sh_degree <= 3; sh_degree += 3)
        for (int kind = 0; kind < N_MEANS_KINDS; kind++)
            for (int small = 0; small < 2; small++) failures += check_reorder(backend, sh_degree, kind, small);
    return failures;
}
