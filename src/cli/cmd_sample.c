/* splatsmith sample */
#include "cli.h"
#include "progress.h"

int cmd_sample(const cli_values *values)
{
    splat_context *context = NULL;
    splat_error error;
    if (!values->operand) {
        cli_error("name the folder to write: splatsmith sample FOLDER");
        return CLI_USAGE;
    }
    int code = cli_context_create(values, &context);
    if (code == CLI_OK && splat_sample_write(context, values->operand, &values->sample, &error) != SPLAT_OK)
        code = cli_report(&error);
    if (code == CLI_OK) {
        cli_say("%s: %d pictures of %dx%d, %d points", values->operand, values->sample.n_cameras, values->sample.width,
                values->sample.height, values->sample.n_points);
        cli_say("Try: splatsmith train -s %s --eval --iterations 2000", values->operand);
    }
    splat_context_destroy(context);
    return code;
}
