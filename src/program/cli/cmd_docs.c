/* Help, the man page and the bash completion, all made from the table of options. */
#include "cmd_docs.h"

#include "line/command_bits.h"
#include "options.h"
#include "parse.h"
#include "progress.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH 100
#define HELP_COLUMN 36
#define FEW_OPTIONS 15 /* so many are shown without being asked for */

static bool has_option(const splat_line_command *command, const splat_line_option *option)
{
    return (option->commands & command->bit) != 0;
}

static bool is_shown(const splat_line_command *command, const splat_line_option *option, splat_line_help help)
{
    if (!has_option(command, option)) return false;
    if (help == SPLAT_LINE_HELP_ALL || option->level == SPLAT_LINE_BASIC) return true;
    return option->level == SPLAT_LINE_STAGE && command->bit != BIT_PIPELINE;
}

/* How many options of a group are shown; SPLAT_LINE_N_GROUPS: of all groups. */
static size_t count_shown(const splat_line_command *command, splat_line_group group, splat_line_help help)
{
    size_t n = 0;
    for (size_t i = 0; i < splat_line_n_options; i++)
        n += is_shown(command, &splat_line_options[i], help) &&
             (group == SPLAT_LINE_N_GROUPS || splat_line_options[i].group == group);
    return n;
}

/* ---------------------------------------------------------------- --help */

/* Prints words between `column` (already reached) and the right edge; lines that follow are indented to `indent`. */
static void print_wrapped(FILE *out, const char *text, int column, int indent)
{
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", length, text);
        column += length + !first;
        first = false;
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const splat_line_option *option)
{
    char heading[SPLAT_LINE_TEXT_MAX], text[SPLAT_LINE_TEXT_MAX];
    cli_option_heading(option, heading);
    int column = fprintf(out, "  %s%s", option->letter ? "" : "    ", heading);
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    print_wrapped(out, cli_option_text(option, text), HELP_COLUMN, HELP_COLUMN);
}

/* The options without effect share one paragraph: their names are all one needs. */
static void print_ignored(FILE *out, const splat_line_command *command)
{
    char list[SPLAT_LINE_TEXT_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; i < splat_line_n_options && length < sizeof list; i++)
        if (has_option(command, &splat_line_options[i]) && splat_line_options[i].group == SPLAT_LINE_GROUP_IGNORED)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s--%s", length ? " " : "",
                                       splat_line_options[i].name);
    fputs("  ", out);
    print_wrapped(out, list, 2, 2);
}

static void print_command_help(FILE *out, const splat_line_command *command, splat_line_help help)
{
    const size_t n = count_shown(command, SPLAT_LINE_N_GROUPS, SPLAT_LINE_HELP_ALL);
    if (n <= FEW_OPTIONS) help = SPLAT_LINE_HELP_ALL;
    fprintf(out, "usage: splatsmith %s %s\n\n%s: %s\n", command->name, command->usage, command->name, command->summary);
    if (command->details) fprintf(out, "\n%s\n", command->details);
    for (int group = 0; group < SPLAT_LINE_N_GROUPS; group++) {
        if (count_shown(command, (splat_line_group)group, help) == 0) continue;
        fprintf(out, "\n%s\n", splat_line_group_titles[group]);
        if (group == SPLAT_LINE_GROUP_IGNORED) {
            print_ignored(out, command);
            continue;
        }
        for (size_t i = 0; i < splat_line_n_options; i++)
            if (is_shown(command, &splat_line_options[i], help) && (int)splat_line_options[i].group == group)
                print_option(out, &splat_line_options[i]);
    }
    const size_t n_shown = count_shown(command, SPLAT_LINE_N_GROUPS, help);
    if (n_shown < n)
        fprintf(out, "\nThese are %zu of %zu options. 'splatsmith %s --help all' shows all of them.\n", n_shown, n,
                command->name);
}

static const char about[] = "Photos or a video in, a Gaussian splat and a textured mesh out.";

void cli_print_help(FILE *out, const splat_line_command *command, splat_line_help help)
{
    if (command) {
        print_command_help(out, command, help);
        return;
    }
    fprintf(out, "usage: splatsmith COMMAND [options]\n\n%s\n\n"
                 "  splatsmith train -s photos -m out/garden           a splat\n"
                 "  splatsmith pipeline -s photos -o out/garden_mesh   a splat and a textured mesh\n"
                 "  splatsmith view out/garden                         look at it\n\n"
                 "Photos need no cameras: COLMAP finds them.\n\nCommands\n", about);
    for (size_t i = 0; i < splat_line_n_commands; i++)
        if (!splat_line_commands[i].hidden)
            fprintf(out, "  %-15s%s\n", splat_line_commands[i].name, splat_line_commands[i].summary);
    fputs("\n'splatsmith COMMAND --help' lists the options that people need, 'splatsmith COMMAND --help all' every\n"
          "option, and 'splatsmith --version' prints the version.\n"
          "In option names - and _ are the same, and a beginning that fits one option is enough.\n", out);
}

int cmd_help(splat_line *line)
{
    const splat_line_command *command = line->operand ? splat_line_find_command(line->operand) : NULL;
    if (line->operand && !command) {
        cli_unknown_command(line->operand);
        return CLI_USAGE;
    }
    if (line->n_words > 1 || (line->n_words == 1 && strcmp(line->words[0], "all") != 0)) {
        cli_error("help takes a command, and all after it for every option: splatsmith help %s all", command->name);
        return CLI_USAGE;
    }
    cli_print_help(stdout, command, line->n_words ? SPLAT_LINE_HELP_ALL : SPLAT_LINE_HELP_BASIC);
    return CLI_OK;
}

/* ---------------------------------------------------------------- the man page */

/* roff text: backslashes and hyphens are escaped, and no line may begin with a control character. */
static void print_roff(const char *text)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        at_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
}

static void print_roff_option(const splat_line_option *option)
{
    char text[SPLAT_LINE_TEXT_MAX];
    fputs(".TP\n", stdout);
    if (option->letter) printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB", stdout);
    print_roff("--");
    print_roff(option->name);
    fputs("\\fR", stdout);
    if (option->metavar) {
        fputs(" \\fI", stdout);
        print_roff(cli_option_metavar(option));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    if (option->group == SPLAT_LINE_GROUP_IGNORED) fputs("no effect: ", stdout);
    print_roff(cli_option_text(option, text));
    putchar('\n');
}

/* "SPLATSMITH\-MESH\-REPORT" of "mesh-report" */
static void print_roff_title(const splat_line_command *command)
{
    fputs(".TH SPLATSMITH", stdout);
    if (command) fputs("\\-", stdout);
    for (const char *c = command ? command->name : ""; *c; c++)
        if (*c == '-') fputs("\\-", stdout);
        else putchar(toupper((unsigned char)*c));
    printf(" 1 \"\" \"Splatsmith %s\" \"User Commands\"\n", splat_version());
}

static void print_roff_options(const splat_line_command *command)
{
    fputs(".SH OPTIONS\n", stdout);
    for (int group = 0; group < SPLAT_LINE_N_GROUPS; group++) {
        if (count_shown(command, (splat_line_group)group, SPLAT_LINE_HELP_ALL) == 0) continue;
        printf(".SS %s\n", splat_line_group_titles[group]);
        for (size_t i = 0; i < splat_line_n_options; i++)
            if (has_option(command, &splat_line_options[i]) && (int)splat_line_options[i].group == group)
                print_roff_option(&splat_line_options[i]);
    }
}

/* splatsmith-train(1) and so on */
static void print_command_page(const splat_line_command *command)
{
    print_roff_title(command);
    fputs(".SH NAME\nsplatsmith\\-", stdout);
    print_roff(command->name);
    fputs(" \\- ", stdout);
    print_roff(command->summary);
    fputs("\n.SH SYNOPSIS\n.B splatsmith ", stdout);
    print_roff(command->name);
    putchar('\n');
    print_roff(command->usage);
    putchar('\n');
    if (command->details) {
        fputs(".SH DESCRIPTION\n.nf\n", stdout);
        print_roff(command->details);
        fputs("\n.fi\n", stdout);
    }
    print_roff_options(command);
    fputs(".SH SEE ALSO\n.BR splatsmith (1)\n", stdout);
}

static void print_main_page(void)
{
    print_roff_title(NULL);
    fputs(".SH NAME\nsplatsmith \\- photos in, a Gaussian splat and a textured mesh out\n"
          ".SH SYNOPSIS\n.B splatsmith\n.I COMMAND\n.RI [ options ]\n"
          ".SH DESCRIPTION\nTrains 3D Gaussian splats (Mip\\-Splatting) from photos or a video, measures and renders\n"
          "them, writes them for other viewers, and makes textured meshes of them (SuGaR). Photos need no\n"
          "cameras: COLMAP finds them.\n.PP\n"
          "Options are written \\fB\\-\\-name\\fR \\fIvalue\\fR or \\fB\\-\\-name=\\fR\\fIvalue\\fR.\n"
          "In names \\- and _ are the same, and a beginning that fits one option is enough.\n"
          "Switches may be followed by True or False.\n"
          ".SH COMMANDS\nEach has a page with its options: \\fBsplatsmith\\-train\\fR(1) and so on.\n", stdout);
    for (size_t i = 0; i < splat_line_n_commands; i++) {
        if (splat_line_commands[i].hidden) continue;
        fputs(".TP\n.BR splatsmith\\-", stdout);
        print_roff(splat_line_commands[i].name);
        fputs(" (1)\n", stdout);
        print_roff(splat_line_commands[i].summary);
        putchar('\n');
    }
    fputs(".SH FILES\nA model folder holds cfg_args, cameras.json, input.ply, split.json,\n"
          "point_cloud/iteration_N/point_cloud.ply and point_cloud_fused.ply, results.json and per_view.json.\n"
          ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on the terminal when set\n"
          ".SH EXIT STATUS\n.TP\n.B 0\nsuccess\n.TP\n.B 1\nthe work could not be done\n"
          ".TP\n.B 2\nthe command line is wrong\n"
          ".TP\n.B 130\nended by Ctrl\\-C; a splat in training was saved\n", stdout);
}

int cmd_man(splat_line *line)
{
    const splat_line_command *command = line->operand ? splat_line_find_command(line->operand) : NULL;
    if (line->operand && !command) {
        cli_unknown_command(line->operand);
        return CLI_USAGE;
    }
    if (command) print_command_page(command);
    else print_main_page();
    return CLI_OK;
}

/* ---------------------------------------------------------------- bash completion */

static void print_option_words(const splat_line_command *command)
{
    char alias[64];
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if (!has_option(command, option)) continue;
        if (option->letter) printf(" -%c", option->letter);
        printf(" --%s", option->name);
        for (const char *rest = splat_line_next_name(option->aliases, alias); rest;
             rest = splat_line_next_name(rest, alias))
            printf(" --%s", alias);
    }
}

/* The `case` pattern of an option: -m|--model_path|--result_dir */
static void print_case_pattern(const splat_line_option *option)
{
    char alias[64];
    fputs("        ", stdout);
    if (option->letter) printf("-%c|", option->letter);
    printf("--%s", option->name);
    for (const char *rest = splat_line_next_name(option->aliases, alias); rest;
         rest = splat_line_next_name(rest, alias))
        printf("|--%s", alias);
    fputs(") ", stdout);
}

/* Prints the values of the option before the cursor. Commands agree on the meaning of a name; otherwise bash takes the
 * first. */
static void print_value_case(const splat_line_option *option)
{
    if (!option->metavar) return;
    print_case_pattern(option);
    if (option->kind == SPLAT_LINE_CHOICE || option->kind == SPLAT_LINE_WORD) {
        fputs("mapfile -t COMPREPLY < <(compgen -W \"", stdout);
        for (const char *c = option->metavar; *c; c++) putchar(*c == '|' ? ' ' : *c);
        fputs("\" -- \"$word\"); return ;;\n", stdout);
    } else if (strcmp(option->metavar, "FOLDER") == 0) {
        fputs("compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\"); return ;;\n", stdout);
    } else if (strcmp(option->metavar, "FILE") == 0) {
        fputs("compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n", stdout);
    } else {
        fputs("COMPREPLY=(); return ;;\n", stdout);
    }
}

static int print_bash_completion(void)
{
    fputs("# bash completion of splatsmith; made by 'splatsmith completion bash'\n"
          "_splatsmith()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    for (size_t i = 0; i < splat_line_n_commands; i++)
        if (!splat_line_commands[i].hidden) printf("%s ", splat_line_commands[i].name);
    fputs("--help --version\" -- \"$word\")\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n", stdout);
    for (size_t c = 0; c < splat_line_n_commands; c++) {
        const splat_line_command *command = &splat_line_commands[c];
        if (command->hidden) continue;
        printf("    %s)\n        options=\"", command->name);
        print_option_words(command);
        fputs("\"\n        case $previous in\n", stdout);
        for (size_t i = 0; i < splat_line_n_options; i++)
            if (has_option(command, &splat_line_options[i])) print_value_case(&splat_line_options[i]);
        fputs("        esac ;;\n", stdout);
    }
    fputs("    *) return ;;\n    esac\n"
          "    if [[ $word == -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
          "    elif [[ ${COMP_WORDS[1]} == sample ]]; then\n"
          "        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
          "    elif [[ ${COMP_WORDS[1]} == help ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    for (size_t i = 0; i < splat_line_n_commands; i++)
        if (!splat_line_commands[i].hidden) printf("%s ", splat_line_commands[i].name);
    fputs("\" -- \"$word\")\n"
          "    else\n        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "    fi\n}\ncomplete -F _splatsmith splatsmith\n", stdout);
    return CLI_OK;
}

int cmd_completion(splat_line *line)
{
    if (line->operand && strcmp(line->operand, "bash") == 0) return print_bash_completion();
    cli_error("completion exists for bash: 'splatsmith completion bash'");
    return CLI_USAGE;
}
