/* Help, the man page and the bash completion, all made from the table of options. */
#include "cli.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH 100
#define HELP_COLUMN 36

static bool has_option(const cli_command *command, const cli_option *option)
{
    return (option->commands & command->bit) != 0;
}

static bool has_group(const cli_command *command, cli_group group)
{
    for (size_t i = 0; i < cli_n_options; i++)
        if (has_option(command, &cli_options[i]) && cli_options[i].group == group) return true;
    return false;
}

static const cli_values *default_values(void)
{
    static cli_values values; /* large for a stack */
    cli_values_init(&values);
    return &values;
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

static void print_option(FILE *out, const cli_option *option)
{
    char heading[CLI_TEXT_MAX], text[CLI_TEXT_MAX];
    cli_option_heading(option, heading);
    int column = fprintf(out, "  %s%s", option->letter ? "" : "    ", heading);
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    print_wrapped(out, cli_option_text(option, default_values(), text), HELP_COLUMN, HELP_COLUMN);
}

/* The options without effect share one paragraph: their names are all one needs. */
static void print_ignored(FILE *out, const cli_command *command)
{
    char list[CLI_TEXT_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; i < cli_n_options && length < sizeof list; i++)
        if (has_option(command, &cli_options[i]) && cli_options[i].group == CLI_GROUP_IGNORED)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s--%s", length ? " " : "",
                                       cli_options[i].name);
    fputs("  ", out);
    print_wrapped(out, list, 2, 2);
}

static void print_command_help(FILE *out, const cli_command *command)
{
    fprintf(out, "usage: splatsmith %s %s\n\n%s: %s\n", command->name, command->usage, command->name, command->summary);
    if (command->details) fprintf(out, "\n%s\n", command->details);
    for (int group = 0; group < CLI_N_GROUPS; group++) {
        if (!has_group(command, (cli_group)group)) continue;
        fprintf(out, "\n%s\n", cli_group_titles[group]);
        if (group == CLI_GROUP_IGNORED) {
            print_ignored(out, command);
            continue;
        }
        for (size_t i = 0; i < cli_n_options; i++)
            if (has_option(command, &cli_options[i]) && (int)cli_options[i].group == group)
                print_option(out, &cli_options[i]);
    }
}

void cli_print_help(FILE *out, const cli_command *command)
{
    if (command) {
        print_command_help(out, command);
        return;
    }
    fputs("usage: splatsmith COMMAND [options]\n\nPhotos in, a Gaussian splat out.\n\nCommands\n", out);
    for (size_t i = 0; i < cli_n_commands; i++)
        if (!cli_commands[i].hidden) fprintf(out, "  %-15s%s\n", cli_commands[i].name, cli_commands[i].summary);
    fputs("\n'splatsmith COMMAND --help' lists the options of a command, 'splatsmith --version' prints the version.\n"
          "In option names - and _ are the same, and a beginning that fits one option is enough.\n", out);
}

int cmd_help(const cli_values *values)
{
    const cli_command *command = values->operand ? cli_find_command(values->operand) : NULL;
    if (values->operand && !command) {
        cli_unknown_command(values->operand);
        return CLI_USAGE;
    }
    cli_print_help(stdout, command);
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

static void print_roff_option(const cli_option *option)
{
    char text[CLI_TEXT_MAX];
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
    if (option->group == CLI_GROUP_IGNORED) fputs("no effect: ", stdout);
    print_roff(cli_option_text(option, default_values(), text));
    putchar('\n');
}

static void print_roff_command(const cli_command *command)
{
    fputs(".SS \"splatsmith ", stdout);
    print_roff(command->name);
    fputs("\"\n.B splatsmith ", stdout);
    print_roff(command->name);
    putchar('\n');
    print_roff(command->usage);
    fputs("\n.PP\n", stdout);
    print_roff(command->summary);
    fputs(".\n", stdout);
    if (command->details) {
        fputs(".PP\n.nf\n", stdout);
        print_roff(command->details);
        fputs("\n.fi\n", stdout);
    }
    for (int group = 0; group < CLI_N_GROUPS; group++) {
        if (!has_group(command, (cli_group)group)) continue;
        printf(".PP\n.I %s\n", cli_group_titles[group]);
        for (size_t i = 0; i < cli_n_options; i++)
            if (has_option(command, &cli_options[i]) && (int)cli_options[i].group == group)
                print_roff_option(&cli_options[i]);
    }
}

int cmd_man(const cli_values *values)
{
    (void)values;
    printf(".TH SPLATSMITH 1 \"\" \"Splatsmith %s\" \"User Commands\"\n", splat_version());
    fputs(".SH NAME\nsplatsmith \\- photos in, a Gaussian splat out\n"
          ".SH SYNOPSIS\n.B splatsmith\n.I COMMAND\n.RI [ options ]\n"
          ".SH DESCRIPTION\nTrains 3D Gaussian splats (Mip\\-Splatting) from photos whose cameras are known,\n"
          "measures them, renders them and writes them for other viewers.\n.PP\n"
          "Options are written \\fB\\-\\-name\\fR \\fIvalue\\fR or \\fB\\-\\-name=\\fR\\fIvalue\\fR.\n"
          "In names \\- and _ are the same, and a beginning that fits one option is enough.\n"
          "Switches may be followed by True or False.\n"
          ".SH COMMANDS\n", stdout);
    for (size_t i = 0; i < cli_n_commands; i++)
        if (!cli_commands[i].hidden) print_roff_command(&cli_commands[i]);
    fputs(".SH FILES\nA model folder holds cfg_args, cameras.json, input.ply, split.json,\n"
          "point_cloud/iteration_N/point_cloud.ply and point_cloud_fused.ply, results.json and per_view.json.\n"
          ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on the terminal when set\n"
          ".SH EXIT STATUS\n.TP\n.B 0\nsuccess\n.TP\n.B 1\nthe work could not be done\n"
          ".TP\n.B 2\nthe command line is wrong\n"
          ".TP\n.B 130\nended by Ctrl\\-C; a splat in training was saved\n", stdout);
    return CLI_OK;
}

/* ---------------------------------------------------------------- bash completion */

static void print_option_words(const cli_command *command)
{
    char alias[64];
    for (size_t i = 0; i < cli_n_options; i++) {
        const cli_option *option = &cli_options[i];
        if (!has_option(command, option)) continue;
        if (option->letter) printf(" -%c", option->letter);
        printf(" --%s", option->name);
        for (const char *rest = cli_next_name(option->aliases, alias); rest; rest = cli_next_name(rest, alias))
            printf(" --%s", alias);
    }
}

/* The `case` pattern of an option: -m|--model_path|--result_dir */
static void print_case_pattern(const cli_option *option)
{
    char alias[64];
    fputs("        ", stdout);
    if (option->letter) printf("-%c|", option->letter);
    printf("--%s", option->name);
    for (const char *rest = cli_next_name(option->aliases, alias); rest; rest = cli_next_name(rest, alias))
        printf("|--%s", alias);
    fputs(") ", stdout);
}

/* What may follow the option before the cursor. Commands agree on the meaning of a name, or bash takes the first. */
static void print_value_case(const cli_option *option)
{
    if (!option->metavar) return;
    print_case_pattern(option);
    if (option->kind == CLI_CHOICE || option->kind == CLI_WORD) {
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
    for (size_t i = 0; i < cli_n_commands; i++)
        if (!cli_commands[i].hidden) printf("%s ", cli_commands[i].name);
    fputs("--help --version\" -- \"$word\")\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n", stdout);
    for (size_t c = 0; c < cli_n_commands; c++) {
        const cli_command *command = &cli_commands[c];
        if (command->hidden) continue;
        printf("    %s)\n        options=\"", command->name);
        print_option_words(command);
        fputs("\"\n        case $previous in\n", stdout);
        for (size_t i = 0; i < cli_n_options; i++)
            if (has_option(command, &cli_options[i])) print_value_case(&cli_options[i]);
        fputs("        esac ;;\n", stdout);
    }
    fputs("    *) return ;;\n    esac\n"
          "    if [[ $word == -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
          "    elif [[ ${COMP_WORDS[1]} == sample ]]; then\n"
          "        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
          "    elif [[ ${COMP_WORDS[1]} == help ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
    for (size_t i = 0; i < cli_n_commands; i++)
        if (!cli_commands[i].hidden) printf("%s ", cli_commands[i].name);
    fputs("\" -- \"$word\")\n"
          "    else\n        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "    fi\n}\ncomplete -F _splatsmith splatsmith\n", stdout);
    return CLI_OK;
}

int cmd_completion(const cli_values *values)
{
    if (values->operand && strcmp(values->operand, "bash") == 0) return print_bash_completion();
    cli_error("completion exists for bash: 'splatsmith completion bash'");
    return CLI_USAGE;
}
