/* The words of options for --help, the man page and the bash completion. */
#ifndef SPLAT_CLI_OPTIONS_H
#define SPLAT_CLI_OPTIONS_H

#include "line/line.h"
#include "line/set.h"
#include "line/text.h"

#include <stdio.h>

/* The text after the name, or NULL: "FOLDER", or "WORD" if there are so many words that they are in the description. */
const char *cli_option_metavar(const splat_line_option *option);
/* "-s, --source_path FOLDER" */
const char *cli_option_heading(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX]);
/* The help, with the words of a choice if the heading lacks them. */
const char *cli_option_words(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX]);
/* The default; "" if there is nothing to say. */
void cli_option_default(const splat_line_option *option, char *text, size_t size);
/* " (also --max_steps, --iter)"; "" without aliases. */
void cli_option_aliases(const splat_line_option *option, char *text, size_t size);
/* The help with its default and aliases. */
const char *cli_option_text(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX]);

#endif
