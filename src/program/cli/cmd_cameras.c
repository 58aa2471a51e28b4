/* splatsmith cameras */
#include "find_cameras.h"
#include "progress.h"

int cmd_cameras(const cli_values *values)
{
    if (!values->operand || !values->output) {
        cli_error("name the photos and the scene to write: splatsmith cameras PHOTOS -o SCENE");
        return CLI_USAGE;
    }
    splat_cameras_info info;
    int code = cli_find_cameras(values, values->operand, values->output, &info);
    if (code == CLI_OK) cli_say("Try: splatsmith train -s %s --eval", values->output);
    return code;
}
