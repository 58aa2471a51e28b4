/* A training on the command line. */
#ifndef SPLAT_CLI_TRAIN_H
#define SPLAT_CLI_TRAIN_H

#include "cli.h"
#include "stage/training.h"

/* A whole run of train, coarse or refine; `finish` (NULL: none) says more after a run that went well. Returns an exit
 * code: after a signal 128 + its number. */
int cli_train(const splat_line *line, splat_training_begin *begin, splat_training_finish *finish);

#endif
