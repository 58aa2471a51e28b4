/* splatsmith texture */
#include "cli.h"
#include "session.h"
#include "stage/texture.h"

int cmd_texture(splat_line *line)
{
    splat_error error;
    return cli_end(splat_stage_texture(line, &error), &error);
}
