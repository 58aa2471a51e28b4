/* splatsmith sample */
#include "cli.h"
#include "progress.h"
#include "session.h"

/* The options of the command line, with the scene's own defaults. */
static splat_sample_options own_options(const splat_line *line)
{
    const splat_sample_options *said = line->sample;
    splat_sample_options own = *said;
    splat_sample_options_choose(&own, said->scene);
    splat_line_put_given(line, said, sizeof *said, &own);
    if (own.distortion == SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR) own.height = (own.width + 1) / 2;
    splat_line_put_given(line, &said->height, sizeof own.height, &own.height);
    return own;
}

int cmd_sample(splat_line *line)
{
    splat_context *context = NULL;
    splat_error error;
    if (!line->operand) {
        cli_error("name the folder to write: splatsmith sample FOLDER");
        return CLI_USAGE;
    }
    splat_sample_options options = own_options(line);
    int code = cli_context_create_on_cpu(line, &context);
    if (code == CLI_OK && splat_sample_write(context, line->operand, &options, &error) != SPLAT_OK)
        code = cli_report(&error);
    if (code == CLI_OK) {
        cli_say("%s: %d pictures of %dx%d, %d points", line->operand, options.n_cameras, options.width,
                options.height, options.n_points);
        cli_say("Try: splatsmith train -s %s --eval --iterations 2000", line->operand);
    }
    splat_context_destroy(context);
    return code;
}
