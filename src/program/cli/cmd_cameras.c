/* splatsmith cameras */
#include "find_cameras.h"
#include "progress.h"

int cmd_cameras(splat_line *line)
{
    if (!line->operand || !line->output->path) {
        cli_error("name the photos and the scene to write: splatsmith cameras PHOTOS -o SCENE");
        return CLI_USAGE;
    }
    splat_cameras_info info;
    int code = cli_find_cameras(line, line->operand, line->output->path, &info);
    if (code == CLI_OK) cli_say("Try: splatsmith train -s %s --eval", line->output->path);
    return code;
}
