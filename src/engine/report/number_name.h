/* Numbers in names of files. */
#ifndef SPLAT_REPORT_NUMBER_NAME_H
#define SPLAT_REPORT_NUMBER_NAME_H

#include "splatsmith/core.h"

/* A number as SuGaR's file names have it: the shortest decimal without its point, 0.3 as "03", 0.05 as "005", 1 as
 * "10". Returns text. */
const char *splat_number_name(char text[32], float value);

#endif
