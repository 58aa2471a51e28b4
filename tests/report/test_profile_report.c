/* Reading memory profiles: verdicts on good, leaking and broken ones, finding them, the timeline, and the command. */
#include "base/file.h"
#include "check.h"
#include "report/profile/profile.h"
#include "report/profile/profile_chart.h"
#include "report/profile/profile_read.h"
#include "splatsmith.h"
#include "text_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- verdicts, on made profiles */

#define HEADER                                                                                                         \
    "{\"format\":\"splatsmith memory profile\",\"version\":1,\"backend\":\"cuda (made up)\",\"gpu\":true,"             \
    "\"iterations\":2000,\"densify_until\":500,\"train_views\":20,\"largest_photo_bytes\":1000,\"sh_degree\":3}\n"

typedef enum leak { NO_LEAK, LEAK, ONE_JUMP, HOST_LEAK, PROCESS_LEAK, NEW_BLOCKS } leak;

#define N_MADE 2000u
#define MADE_SH (180u * N_MADE) /* what a model of so many Gaussians has */

/* A line with the blocks "sh_rest", "adam_m.sh_rest", "photos", "frame" and on the host "decoded photos". */
static void make_line(FILE *file, int iteration, unsigned n, leak kind)
{
    unsigned sh = 180 * n, frame = 1000000, host = 500000, process = 90000000, extra = 0;
    if (kind == LEAK) frame += (unsigned)iteration * 1000;
    if (kind == ONE_JUMP && iteration > 1200) frame += 700000;
    if (kind == HOST_LEAK) host += (unsigned)iteration * 512;
    if (kind == PROCESS_LEAK) process += (unsigned)iteration * 20000;
    if (kind == NEW_BLOCKS) extra = (unsigned)iteration / 100;
    unsigned allocated = 2 * sh + 50000 + frame + extra * 8192, reserved = allocated + 4096;
    fprintf(file, "{\"iteration\":%d,\"gaussians\":%u,\"seconds\":%d.5,\"allocated\":%u,\"reserved\":%u,\"peak\":%u,"
                  "\"driver\":%u,\"pinned\":0,\"host\":%u,\"process\":%u,\"categories\":{\"parameters\":[%u,%u],"
                  "\"optimizer\":[%u,%u],\"images\":[50000,50000],\"activations\":[%u,%u],\"other\":[%u,%u]},"
                  "\"blocks\":[",
            iteration, n, iteration, allocated, reserved, reserved, reserved + 500000000, host, process, sh, sh, sh, sh,
            frame, frame + 4096, extra * 8192, extra * 8192);
    static const char format[] = "{\"name\":\"%s\",\"owner\":\"o\",\"category\":\"%s\",\"place\":\"%s\","
                                 "\"type\":\"%s\",\"bytes\":%u,\"reserved\":%u}%s";
    fprintf(file, format, "sh_rest", "parameters", "device", "float32", sh, sh, ",");
    fprintf(file, format, "adam_m.sh_rest", "optimizer", "device", "float32", sh, sh, ",");
    fprintf(file, format, "photos", "images", "device", "uint8", 50000u, 50000u, ",");
    for (unsigned i = 0; i < extra; i++) fprintf(file, format, "lists", "other", "device", "mixed", 8192u, 8192u, ",");
    fprintf(file, format, "frame", "activations", "device", "mixed", frame, frame + 4096, ",");
    fprintf(file, format, "decoded photos", "images", "host", "uint8", host, host, "]}\n");
}

/* Samples every `interval` iterations; the count grows until `grown`. */
static splat_profile *made_grown_profile(leak kind, int interval, int last, int grown)
{
    splat_profile *profile;
    splat_error error;
    FILE *file = fopen("made.jsonl", "w");
    assert_non_null(file);
    fputs(HEADER, file);
    for (int i = interval; i <= last; i += interval) make_line(file, i, i < grown ? 2 * (unsigned)i : N_MADE, kind);
    fclose(file);
    must(splat_profile_read("made.jsonl", &profile, &error), &error);
    return profile;
}

static splat_profile *made_profile(leak kind, int interval, int last)
{
    return made_grown_profile(kind, interval, last, 500);
}

static const splat_profile_trend *trend_of(const splat_profile *profile, const char *what)
{
    for (size_t i = 0; i < profile->n_trends; i++)
        if (strcmp(profile->trends[i].what, what) == 0) return &profile->trends[i];
    fail_msg("no trend '%s'", what);
    return NULL;
}

static void assert_verdicts(const splat_profile *profile, splat_profile_verdict device, splat_profile_verdict host,
                            splat_profile_verdict process)
{
    assert_int_equal(profile->n_trends, 4);
    assert_int_equal(trend_of(profile, "allocated on the device")->verdict, device);
    assert_int_equal(trend_of(profile, "counted on the host")->verdict, host);
    assert_int_equal(trend_of(profile, "resident memory of the process")->verdict, process);
    assert_int_equal(trend_of(profile, "the driver's figure")->verdict, SPLAT_PROFILE_FLAT);
}

static void test_flat_runs(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(NO_LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    assert_int_equal(profile->settled_iteration, 550); /* after the growth of the first 500 */
    assert_float_equal(trend_of(profile, "allocated on the device")->bytes_per_1000_steps, 0, 1e-6);
    splat_profile_free(profile);
    profile = made_grown_profile(NO_LEAK, 50, 2000, 1000); /* more Gaussians are no leak, whatever the options say */
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    assert_int_equal(profile->settled_iteration, 1000);
    splat_profile_free(profile);
    profile = made_profile(ONE_JUMP, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    splat_profile_free(profile);
}

static void test_leaks(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_GROWS, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    const splat_profile_trend *trend = trend_of(profile, "allocated on the device");
    assert_float_equal(trend->bytes_per_1000_steps, 1e6, 1); /* a straight line: rounding only */
    assert_non_null(strstr(trend->reason, "'frame' (activations)"));
    splat_profile_free(profile);

    profile = made_profile(HOST_LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_GROWS, SPLAT_PROFILE_FLAT);
    assert_non_null(strstr(trend_of(profile, "counted on the host")->reason, "'decoded photos'"));
    splat_profile_free(profile);

    profile = made_profile(PROCESS_LEAK, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_GROWS);
    splat_profile_free(profile);

    profile = made_profile(NEW_BLOCKS, 50, 2000);
    assert_verdicts(profile, SPLAT_PROFILE_GROWS, SPLAT_PROFILE_FLAT, SPLAT_PROFILE_FLAT);
    assert_non_null(strstr(trend_of(profile, "allocated on the device")->reason, "'lists' (other) went from 5 to 20"));
    splat_profile_free(profile);
}

static void test_too_few_samples_are_not_judged(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 850); /* 7 samples from 550 on */
    assert_int_equal(trend_of(profile, "allocated on the device")->verdict, SPLAT_PROFILE_UNKNOWN);
    splat_profile_free(profile);
    profile = made_profile(LEAK, 50, 900);
    assert_int_equal(trend_of(profile, "allocated on the device")->verdict, SPLAT_PROFILE_GROWS);
    splat_profile_free(profile);
}

static void test_peaks_and_savings(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 2000);
    bool found_resolution = false;
    assert_int_equal(profile->samples[profile->peak].iteration, 2000);
    assert_int_equal(profile->samples[profile->category_peaks[SPLAT_MEMORY_PARAMETERS]].iteration, 500);
    assert_int_equal(profile->samples[profile->category_peaks[SPLAT_MEMORY_ACTIVATIONS]].iteration, 2000);
    assert_int_equal(profile->overhead_bytes, 500000000);
    for (size_t i = 0; i < profile->n_savings; i++) {
        const splat_profile_saving *s = &profile->savings[i];
        if (strcmp(s->option, "`sh_storage float16`") == 0) assert_int_equal(s->bytes, MADE_SH - 92 * N_MADE);
        if (strcmp(s->option, "`sh_offload`") == 0) assert_int_equal(s->bytes, 2 * MADE_SH);
        if (strcmp(s->option, "`data_device cpu`") == 0) assert_int_equal(s->bytes, 50000 - 2000);
        if (strcmp(s->option, "`resolution` (half the width and height)") == 0) {
            assert_int_equal(s->bytes, (50000 + 32 * 1000 / 3.0) * 0.75); /* photos, a frame of 1000 / 3 pixels */
            found_resolution = true;
        }
        if (i) assert_true(s[-1].bytes >= s->bytes);
    }
    assert_string_equal(profile->savings[0].option, "`sh_offload`");
    assert_true(found_resolution);
    static const char *const largest[] = {"frame", "sh_rest", "adam_m.sh_rest", "photos"}; /* the device's, by size */
    assert_int_equal(profile->n_largest, 4);
    for (size_t i = 0; i < 4; i++) assert_string_equal(profile->largest[i].name, largest[i]);
    assert_int_equal(profile->largest[0].bytes, 3000000 + 4096);
    assert_string_equal(profile->largest[3].category, "images");
    assert_string_equal(profile->largest[3].type, "uint8");
    splat_profile_free(profile);
    profile = made_profile(NEW_BLOCKS, 50, 2000); /* twenty small ones more: only so many are kept */
    assert_int_equal(profile->n_largest, SPLAT_PROFILE_LARGEST);
    assert_string_equal(profile->largest[4].name, "lists");
    splat_profile_free(profile);
}

/* ---------------------------------------------------------------- broken files */

#define GOOD                                                                                                           \
    "\"gaussians\":1,\"seconds\":1,\"allocated\":10,\"reserved\":16,\"peak\":16,\"driver\":0,\"pinned\":0,\"host\":0," \
    "\"process\":0,"
#define GOOD_SUMS "\"categories\":{\"other\":[10,16]},"
#define GOOD_BLOCKS                                                                                                    \
    "\"blocks\":[{\"name\":\"a\",\"category\":\"other\",\"place\":\"device\",\"type\":\"mixed\",\"bytes\":10,"         \
    "\"reserved\":16}]"
#define LINE(iteration) "{\"iteration\":" iteration "," GOOD GOOD_SUMS GOOD_BLOCKS "}\n"

static void check_text(const char *text, splat_status status, uint64_t line, const char *part)
{
    splat_profile *profile;
    splat_error error;
    must(splat_file_write("broken.jsonl", text, strlen(text), &error), &error);
    splat_status found = splat_profile_read("broken.jsonl", &profile, &error);
    if (found != status || (status != SPLAT_OK && (error.line != line || !strstr(error.message, part))))
        fail_msg("%s\n-> %s, line %llu: %s", text, splat_status_name(found),
                 found ? (unsigned long long)error.line : 0, found ? error.message : "");
    if (found == SPLAT_OK) splat_profile_free(profile);
    else assert_null(profile);
}

static void test_broken_files(void **state)
{
    (void)state;
    static const struct { const char *text; uint64_t line; const char *part; } cases[] = {
        {"", 1, "no samples"},
        {HEADER, 1, "no samples"},
        {"{}\n", 1, "not a memory profile"},
        {"[1]\n", 1, "not a JSON object"},
        {LINE("1"), 1, "not a memory profile"},
        {HEADER LINE("1") "{\"iteration\":2,\"gauss\n" LINE("3"), 3, "not valid JSON"},
        {HEADER LINE("1") "\n", 3, "not valid JSON"},
        {HEADER LINE("1") LINE("1"), 3, "not in order"},
        {HEADER LINE("1") LINE("-2"), 3, "\"iteration\" must be"},
        {HEADER LINE("99999999999"), 2, "\"iteration\" is"},
        {HEADER LINE("1e3"), 2, "\"iteration\" must be"},
        {HEADER LINE("\"1\""), 2, "\"iteration\" must be"},
        {HEADER "{\"iteration\":1,\"iteration\":2," GOOD GOOD_SUMS GOOD_BLOCKS "}\n", 2, "duplicate"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":[]}\n", 2, "the blocks add up to 0 bytes"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":{}}\n", 2, "\"blocks\" must be an array"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":[7]}\n", 2, "a block must have"},
        {HEADER "{\"iteration\":1," GOOD GOOD_SUMS "\"blocks\":[{\"name\":\"a\",\"category\":\"odd\"}]}\n", 2,
         "a known \"category\""},
        {HEADER "{\"iteration\":1," GOOD "\"categories\":{\"other\":[10,15]}," GOOD_BLOCKS "}\n", 2,
         "the categories add up to 15 bytes, but 16"},
        {HEADER "{\"iteration\":1," GOOD "\"categories\":{\"other\":7}," GOOD_BLOCKS "}\n", 2, "two whole numbers"},
        {HEADER "{\"iteration\":1," GOOD_SUMS GOOD_BLOCKS "}\n", 2, "\"gaussians\" must be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_text(cases[i].text, SPLAT_ERROR_FORMAT, cases[i].line, cases[i].part);
    check_text("{\"format\":\"splatsmith memory profile\",\"version\":2}\n", SPLAT_ERROR_UNSUPPORTED, 1, "version 2");
    check_text(HEADER LINE("1"), SPLAT_OK, 0, "");
}

static const char whole[] = HEADER LINE("1") LINE("2");

/* An atomic save waits for the disk. */
static void write_quickly(const char *text, size_t length)
{
    FILE *file = fopen("cut.jsonl", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

/* For the sanitizers: any byte may be wrong, and nothing but an error may come of it. */
/* As when the run was killed while it wrote, which the system does when memory is out; or goes on. */
static void test_a_cut_line_is_left_out(void **state)
{
    (void)state;
    splat_profile *profile;
    splat_error error;
    write_quickly(whole, sizeof whole - 20);
    must(splat_profile_read("cut.jsonl", &profile, &error), &error);
    assert_true(profile->is_cut && profile->n_samples == 1);
    splat_profile_free(profile);
    write_quickly(whole, sizeof whole - 1);
    must(splat_profile_read("cut.jsonl", &profile, &error), &error);
    assert_true(!profile->is_cut && profile->n_samples == 2);
    splat_profile_free(profile);
    check_text(HEADER "{\"iteration\":1", SPLAT_ERROR_FORMAT, 2, "no samples");
    check_text("{\"format\":\"splatsm", SPLAT_ERROR_FORMAT, 1, "not valid JSON");
}

static void test_wrong_bytes(void **state)
{
    (void)state;
    static const char wrong[] = {'9', '"', '{', '\n', '\0', '-'};
    char text[sizeof whole];
    for (size_t i = 0; i < sizeof whole - 1; i++) {
        splat_profile *profile;
        splat_error error;
        memcpy(text, whole, sizeof whole);
        text[i] = wrong[i % sizeof wrong];
        write_quickly(text, sizeof whole - 1);
        if (splat_profile_read("cut.jsonl", &profile, &error) == SPLAT_OK)
            splat_profile_free(profile);
        else
            assert_true((error.status == SPLAT_ERROR_FORMAT || error.status == SPLAT_ERROR_UNSUPPORTED) && error.line);
    }
}

static void test_every_cut_is_an_error_or_a_shorter_profile(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        splat_profile *profile;
        splat_error error;
        write_quickly(whole, length);
        if (splat_profile_read("cut.jsonl", &profile, &error) != SPLAT_OK) {
            assert_int_equal(error.status, SPLAT_ERROR_FORMAT);
            assert_true(error.line > 0);
            continue;
        }
        assert_true(profile->n_samples >= 1 && profile->n_samples <= 2);
        splat_profile_free(profile);
    }
}

/* ---------------------------------------------------------------- finding */

static void make_profile_file(const char *path, long seconds)
{
    splat_error error;
    struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    must(splat_file_write(path, "", 0, &error), &error);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void assert_found(const char *run, const char *folder, const char *wanted)
{
    char path[256];
    splat_error error;
    must(splat_profile_find(run, folder, path, sizeof path, &error), &error);
    assert_string_equal(path, wanted);
}

static void test_latest_is_the_newest(void **state)
{
    (void)state;
    static const char *const folders[] = {"runs/a/profiles", "runs/b/c/profiles", "runs/d/e/f/profiles",
                                          "runs/empty/profiles"};
    splat_error error;
    char path[256];
    must(splat_folder_delete("runs", &error), &error);
    must(splat_folder_create("runs", &error), &error);
    for (int i = 0; i < 4; i++) must(splat_folder_create(folders[i], &error), &error);
    make_profile_file("runs/a/profiles/tensor_profile_20260101_000000.jsonl", 5000);
    make_profile_file("runs/a/profiles/tensor_profile_20260101_000001.jsonl", 4000); /* newer by name, as in a copy */
    make_profile_file("runs/a/profiles/tensor_profile_20269999_000001.log", 9000);
    assert_found("latest", "runs", "runs/a/profiles/tensor_profile_20260101_000001.jsonl");
    make_profile_file("runs/b/c/profiles/tensor_profile_20260102_000000.jsonl", 100);
    assert_found("latest", "runs", "runs/b/c/profiles/tensor_profile_20260102_000000.jsonl");
    make_profile_file("runs/a/profiles/tensor_profile_20260102_000000.jsonl", 200); /* the same second, written later */
    assert_found("latest", "runs", "runs/a/profiles/tensor_profile_20260102_000000.jsonl");
    make_profile_file("runs/d/e/f/profiles/tensor_profile_20270101_000000.jsonl", 9000); /* too deep */
    assert_found("latest", "runs", "runs/a/profiles/tensor_profile_20260102_000000.jsonl");
    assert_found("runs/b/c", NULL, "runs/b/c/profiles/tensor_profile_20260102_000000.jsonl");
    assert_found("runs/b/c/profiles/tensor_profile_20260102_000000.jsonl", NULL,
                 "runs/b/c/profiles/tensor_profile_20260102_000000.jsonl");
    assert_int_equal(splat_profile_find("runs/empty", NULL, path, sizeof path, &error), SPLAT_ERROR_IO);
    assert_non_null(strstr(error.message, "`profile_tensors`"));
    assert_int_equal(splat_profile_find("nowhere", NULL, path, sizeof path, &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_profile_find("runs/a", NULL, path, 10, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_profile_find("latest", NULL, path, sizeof path, &error), SPLAT_ERROR_ARGUMENT);
}

/* ---------------------------------------------------------------- the timeline */

/* Tags nest and close, attributes are quoted, and no bare & or < stands in text. Returns the number of elements. */
static int check_xml(const char *text)
{
    char stack[16][32];
    int depth = 0, n = 0;
    while (*text) {
        if (*text == '&') assert_true(strchr("lgaq", text[1]) && strchr(text, ';') && strchr(text, ';') - text <= 5);
        if (*text != '<') {
            assert_true(depth > 0 || *text == '\n');
            text++;
            continue;
        }
        bool closes = text[1] == '/';
        const char *name = text + 1 + closes, *end = name;
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        assert_true(length > 0 && length < 32);
        for (bool quoted = false; *end && (quoted || *end != '>'); end++) {
            assert_true(*end != '<');
            if (*end == '"') quoted = !quoted;
        }
        assert_int_equal(*end, '>');
        if (closes) {
            assert_true(depth > 0 && strlen(stack[depth - 1]) == length);
            assert_memory_equal(stack[--depth], name, length);
        } else if (end[-1] != '/') {
            assert_true(depth < 16);
            snprintf(stack[depth++], 32, "%.*s", (int)length, name);
        }
        n += !closes;
        text = end + 1;
    }
    assert_int_equal(depth, 0);
    return n;
}

static void check_svg(const splat_profile *profile, int n_areas)
{
    uint8_t *data;
    size_t size;
    splat_error error;
    must(splat_profile_write_svg(profile, "timeline.svg", &error), &error);
    must(splat_file_read("timeline.svg", &data, &size, &error), &error);
    const char *text = (const char *)data;
    assert_int_equal(strlen(text), size);
    assert_true(check_xml(strchr(text, '\n') + 1) > 20); /* after <?xml ... ?> */
    assert_int_equal(text_count(text, "<polygon"), n_areas);
    assert_int_equal(text_count(text, "stroke-width=\"2\" d="), 1); /* the driver's figure */
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_true(size < 200000); /* however long the run was */
    free(data);
}

static void test_timeline(void **state)
{
    (void)state;
    splat_profile *profile = made_profile(LEAK, 50, 2000);
    check_svg(profile, 4);
    splat_error error;
    assert_int_equal(splat_profile_write_svg(profile, "nowhere/timeline.svg", &error), SPLAT_ERROR_IO);
    splat_profile_free(profile);
    profile = made_profile(NEW_BLOCKS, 50, 50); /* one sample, no extra block yet */
    check_svg(profile, 4);
    splat_profile_free(profile);
    profile = made_profile(NO_LEAK, 1, 5000);
    check_svg(profile, 4);
    splat_profile_free(profile);
}

/* ---------------------------------------------------------------- the command */

static void test_command(void **state)
{
    (void)state;
    const char *binary = getenv("SPLATSMITH_BINARY");
    char command[1024], text[8192];
    splat_profile_free(made_profile(LEAK, 50, 2000));
    snprintf(command, sizeof command, "%s help profile > help.txt 2>&1", binary ? binary : "false");
    if (system(command) != 0) {
        print_message("SKIPPED: the program has no command 'profile', or SPLATSMITH_BINARY is not set\n");
        skip();
    }
    snprintf(command, sizeof command, "%s profile made.jsonl --svg command.svg > report.txt 2>&1", binary);
    assert_int_equal(system(command), 0);
    FILE *file = fopen("report.txt", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    static const char *const parts[] = {"40 samples, iterations 50 to 2000", "GROWS 976.6 KiB per 1000 steps",
                                        "'frame' (activations)", "Largest blocks", "Fragmentation", "--sh_offload",
                                        "command.svg"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i])) fail_msg("'%s' is not in:\n%s", parts[i], text);
    snprintf(command, sizeof command, "%s profile made.jsonl --svg ./timeline.png >report.txt 2>&1", binary);
    assert_int_equal(WEXITSTATUS(system(command)), 2); /* an SVG by that name would open nowhere */
    assert_int_not_equal(access("timeline.png", F_OK), 0);
    snprintf(command, sizeof command, "%s profile broken.jsonl > report.txt 2>&1", binary);
    check_text(HEADER LINE("1") LINE("1"), SPLAT_ERROR_FORMAT, 3, "not in order");
    assert_int_equal(WEXITSTATUS(system(command)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_runs),
        cmocka_unit_test(test_leaks),
        cmocka_unit_test(test_too_few_samples_are_not_judged),
        cmocka_unit_test(test_peaks_and_savings),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_a_cut_line_is_left_out),
        cmocka_unit_test(test_wrong_bytes),
        cmocka_unit_test(test_every_cut_is_an_error_or_a_shorter_profile),
        cmocka_unit_test(test_latest_is_the_newest),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
