/* splatsmith bench compare, splatsmith bench report: measurements next to each other. */
#ifndef SPLAT_CLI_BENCH_COMPARE_H
#define SPLAT_CLI_BENCH_COMPARE_H

#include "cli.h"

/* The commands after the first word of bench. */
int cmd_bench_compare(const splat_line *line);
int cmd_bench_report(const splat_line *line);

#endif
