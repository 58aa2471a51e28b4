/* splatsmith cameras */
#include "cmd_cameras.h"

#include "progress.h"
#include "session.h"
#include "signals.h"
#include "stage/cameras.h"

#include <signal.h>

int cli_find_cameras(const splat_line *line, const char *source, const char *folder, splat_cameras_info *info)
{
    splat_error error;
    signal(SIGCHLD, SIG_DFL); /* the parent process may have left it ignored, and then no child can be waited for */
    cli_signals_begin();
    splat_status status = splat_stage_find_cameras(line, source, folder, info, &error);
    cli_signals_end();
    return cli_end(status, &error);
}

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
