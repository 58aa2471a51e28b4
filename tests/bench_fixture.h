/* Results of benchmarks as files, for the tests that read them. */
#ifndef SPLAT_TESTS_BENCH_FIXTURE_H
#define SPLAT_TESTS_BENCH_FIXTURE_H

#include "scene_fixture.h"

/* Times around `ms` that scatter by a tenth of it, the same for the same seed. */
static inline double fixture_time(double ms, uint32_t seed, uint32_t i)
{
    return ms * (0.95 + 0.1 * (double)splat_uniform(splat_random(seed, SPLAT_STREAM_TEST, i, 0).x[0]));
}

/* n times; psnr = 0: without quality. `more` is put in front of the times and ends with a comma, or is empty. */
static inline void fixture_result(const char *path, double ms, uint32_t n, uint32_t seed, double psnr, const char *more)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"schema\": \"splatsmith-bench-2\", \"mode\": \"training\",\n"
                  "\"memory\": {\"training\": {\"peak_bytes\": 2097152}, \"evaluation\": {\"peak_bytes\": 1048576}},\n"
                  "\"measurement\": {\"gaussians_first\": 1000, \"gaussians_last\": 1000}, %s\n", more);
    if (psnr > 0) fprintf(file, "\"quality\": {\"views\": 3, \"PSNR\": %.6f, \"SSIM\": 0.9, \"L1\": 0.02},\n", psnr);
    fprintf(file, "\"iteration_ms\": [");
    for (uint32_t i = 0; i < n; i++) fprintf(file, "%s%.9f", i ? ", " : "", fixture_time(ms, seed, i));
    fprintf(file, "]}\n");
    assert_int_equal(fclose(file), 0);
}

/* Every opened element is closed in its order, and attributes are quoted: what a reader of XML needs to show it. */
static inline bool fixture_is_xml(const char *text)
{
    const char *open[64];
    size_t lengths[64];
    int depth = 0, n_elements = 0;
    for (const char *at = strchr(text, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        if (!end) return false;
        if (at[1] == '?' || at[1] == '!') continue;
        if (at[1] == '/') {
            if (depth-- == 0) return false;
            if (strncmp(at + 2, open[depth], lengths[depth]) != 0 || at + 2 + lengths[depth] != end) return false;
            continue;
        }
        int n_quotes = 0;
        for (const char *c = at; c < end; c++) n_quotes += *c == '"';
        n_elements++;
        if (n_quotes % 2 != 0 || depth == 64) return false;
        if (end[-1] == '/') continue;
        open[depth] = at + 1;
        lengths[depth++] = strcspn(at + 1, " >\n");
    }
    return depth == 0 && n_elements > 0;
}

/* The same by Python's parser, where there is one. */
static inline void assert_xml_file(const char *path)
{
    uint8_t *data;
    size_t size;
    splat_error error;
    char command[512];
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    if (!fixture_is_xml((const char *)data)) fail_msg("%s is not well-formed", path);
    free(data);
    if (system("command -v python3 >/dev/null 2>&1") != 0) {
        print_message("SKIPPED: python3 is not installed, so its XML parser did not look at %s\n", path);
        return;
    }
    snprintf(command, sizeof command, "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '%s'", path);
    if (system(command) != 0) fail_msg("Python's XML parser refuses %s", path);
}

#endif
