/* splatsmith sample */
#include "cli.h"
#include "progress.h"

/* What was not said is the scene's own. */
static splat_sample_options own_options(const cli_values *values)
{
    const splat_sample_options *said = &values->sample;
    splat_sample_options own = *said;
    splat_sample_options_choose(&own, said->scene);
    cli_put_given(values, said, sizeof *said, &own);
    if (own.distortion == SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR && !cli_given(values, "height"))
        own.height = (own.width + 1) / 2;
    return own;
}

int cmd_sample(const cli_values *values)
{
    splat_context *context = NULL;
    splat_error error;
    if (!values->operand) {
        cli_error("name the folder to write: splatsmith sample FOLDER");
        return CLI_USAGE;
    }
    splat_sample_options options = own_options(values);
    int code = cli_context_create(values, &context);
    if (code == CLI_OK && splat_sample_write(context, values->operand, &options, &error) != SPLAT_OK)
        code = cli_report(&error);
    if (code == CLI_OK) {
        cli_say("%s: %d pictures of %dx%d, %d points", values->operand, options.n_cameras, options.width,
                options.height, options.n_points);
        cli_say("Try: splatsmith train -s %s --eval --iterations 2000", values->operand);
    }
    splat_context_destroy(context);
    return code;
}
