/* splatsmith coarse */
#include "ranks.h"
#include "stage/coarse.h"
#include "session.h"
#include "train.h"

int cmd_coarse(splat_line *line)
{
    splat_error error;
    int code = cli_end(splat_ranks_count_gpus(line, &error), &error);
    if (code == CLI_OK) code = cli_ranks_open(line);
    if (code == CLI_OK) code = cli_train(line, splat_stage_begin_coarse, NULL);
    cli_ranks_close(line);
    return code;
}
