/* From photos to a textured mesh with one call, with the library only.
 *
 *     pipeline_minimal PHOTOS FOLDER [NAME=VALUE...]
 *
 * NAME is an option of `splatsmith pipeline`, such as eval=true or high_poly=true. Ctrl-C ends the run; the same
 * command goes on from there.
 */
#include <splatsmith.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MAX_SETTINGS 64

static splat_stop *stop;

static void on_signal(int number)
{
    splat_stop_request(stop, number);
}

static void on_message(void *user, splat_pipeline_message kind, const char *text)
{
    (void)user;
    printf("%s%s\n", kind == SPLAT_PIPELINE_WARNING ? "warning: " : "", text);
}

/* NAME=VALUE as a setting; the word is cut at the sign. */
static splat_pipeline_setting read_setting(char *word)
{
    char *sign = strchr(word, '=');
    if (sign) *sign = '\0';
    return (splat_pipeline_setting){word, sign ? sign + 1 : NULL};
}

static int run(const splat_pipeline_options *options)
{
    char text[2048];
    splat_error error;
    splat_pipeline_callbacks callbacks;
    static splat_pipeline_result result; /* large for a stack */
    splat_pipeline_callbacks_init(&callbacks);
    callbacks.message = on_message;
    callbacks.stop = stop;
    splat_status status = splat_pipeline_run(options, &callbacks, &result, &error);
    for (size_t i = 0; i < result.n_files; i++) printf("%s\n", result.files[i]);
    splat_pipeline_result_free(&result);
    if (status != SPLAT_OK) fprintf(stderr, "%s\n", splat_error_format(&error, text, sizeof text));
    return status == SPLAT_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    splat_pipeline_setting settings[MAX_SETTINGS];
    splat_pipeline_options options;
    if (argc < 3 || argc - 3 > MAX_SETTINGS) {
        fprintf(stderr, "usage: pipeline_minimal PHOTOS FOLDER [NAME=VALUE...]\n");
        return 2;
    }
    splat_pipeline_options_init(&options);
    options.source = argv[1];
    options.folder = argv[2];
    options.settings = settings;
    for (int i = 3; i < argc; i++) settings[options.n_settings++] = read_setting(argv[i]);
    if (splat_stop_create(&stop, NULL) != SPLAT_OK) return 1;
    signal(SIGINT, on_signal);
    int code = run(&options);
    splat_stop_destroy(stop);
    return code;
}
