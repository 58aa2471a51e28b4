/* Options that stand for others, and options without effect. */
#ifndef SPLAT_STAGE_ALIASES_H
#define SPLAT_STAGE_ALIASES_H

#include "line/line.h"

/* Options that stand for a value of another one become that one, with a notice. Errors: ARGUMENT (the other one is set,
 * too, to another value). */
splat_status splat_stage_take_aliases(splat_line *line, splat_error *error);
/* A notice for each option of other programs that is set and has no effect. */
void splat_stage_tell_ignored(const splat_line *line);

#endif
