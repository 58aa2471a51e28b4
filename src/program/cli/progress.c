/* Messages on stderr, and the line that is redrawn on a terminal or printed now and then elsewhere. */
#include "progress.h"
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_LENGTH 512
#define SENTENCE_MAX 8192 /* two long paths; what is longer is cut */

/* The screen is one, so is its state. */
static bool screen_quiet, screen_silent;
static char last_error[1024];
static bool screen_has_line; /* a progress line stands on the terminal without a newline */

void cli_set_quiet(bool quiet)
{
    screen_quiet = quiet;
}

bool cli_is_quiet(void)
{
    return screen_quiet || screen_silent;
}

void cli_set_silent(void)
{
    screen_silent = true;
}

const char *cli_last_error(void)
{
    return last_error;
}

static bool is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

static bool has_colour(void)
{
    const char *no_color = getenv("NO_COLOR");
    return is_terminal() && !(no_color && no_color[0]);
}

/* ---------------------------------------------------------------- text from outside, such as a file's name */

/* The bytes of the character at text, and its number; 0: it is no UTF-8. */
static size_t decode(const unsigned char *text, unsigned long *character)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = text[0];
    size_t n = c < 0x80 ? 1 : c >= 0xc0 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf8 ? 4 : 0;
    *character = n < 2 ? c : c & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        *character = *character << 6 | (text[i] & 0x3f);
    }
    bool is_surrogate = *character >= 0xd800 && *character < 0xe000;
    return n && *character >= least[n] && *character <= 0x10ffff && !is_surrogate ? n : 0;
}

static bool is_control(unsigned long character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* Copies text. Control characters (below 0x20, 0x7f, and U+0080 to U+009F) and bytes that are no UTF-8 become \x1b and
 * the like: a terminal would obey them. Cuts what does not fit. Returns out. */
static const char *printable(const char *text, char *out, size_t size)
{
    size_t length = 0;
    unsigned long character;
    while (*text) {
        size_t n = decode((const unsigned char *)text, &character);
        bool shown = n > 0 && !is_control(character);
        size_t n_bytes = n ? n : 1;
        if (length + (shown ? n_bytes : 4 * n_bytes) >= size) break;
        for (size_t i = 0; i < n_bytes; i++) {
            if (shown) out[length++] = text[i];
            else length += (size_t)snprintf(out + length, size - length, "\\x%02x", (unsigned char)text[i]);
        }
        text += n_bytes;
    }
    out[length] = '\0';
    return out;
}

/* ---------------------------------------------------------------- messages */

void cli_progress_end(void)
{
    if (screen_has_line) fputs("\r\x1b[K", stderr);
    screen_has_line = false;
}

/* A line of formatted text. Paths and names in it may come from anybody: their control characters are made visible. */
static void print_line(FILE *out, const char *format, va_list arguments)
{
    char text[SENTENCE_MAX], shown[2 * SENTENCE_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(out, "%s\n", printable(text, shown, sizeof shown));
}

static void print_message(const char *kind, const char *colour, const char *format, va_list arguments)
{
    bool coloured = has_colour();
    cli_progress_end();
    fflush(stdout); /* where both go to one place the order is kept */
    fprintf(stderr, "splatsmith: %s%s:%s ", coloured ? colour : "", kind, coloured ? "\x1b[0m" : "");
    print_line(stderr, format, arguments);
}

void cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    if (!screen_silent) print_message("error", "\x1b[1;31m", format, arguments);
    va_end(arguments);
}

void cli_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!cli_is_quiet()) print_message("warning", "\x1b[33m", format, arguments);
    va_end(arguments);
}

void cli_notice(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!cli_is_quiet()) print_message("notice", "\x1b[36m", format, arguments);
    va_end(arguments);
}

void cli_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!cli_is_quiet()) {
        cli_progress_end();
        fflush(stderr);
        for (; *format == '\n'; format++) putchar('\n');
        print_line(stdout, format, arguments);
        fflush(stdout);
    }
    va_end(arguments);
}

static bool is_option(const char *name, size_t length)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (strlen(splat_line_options[i].name) == length && memcmp(splat_line_options[i].name, name, length) == 0)
            return true;
    return false;
}

const char *cli_library_text(const char *sentence, char *text, size_t size)
{
    size_t n = 0;
    while (*sentence && n + 1 < size) {
        const char *option = sentence + 1, *end = *sentence == '`' ? strchr(option, '`') : NULL;
        if (end && is_option(option, strcspn(option, " `"))) { /* a value may follow: "`resolution 1`" */
            n += (size_t)snprintf(text + n, size - n, "--%.*s", (int)(end - option), option);
            if (n >= size) n = size - 1;
            sentence = end + 1;
        } else {
            text[n++] = *sentence++;
        }
    }
    text[n] = '\0';
    return text;
}

int cli_report(const splat_error *error)
{
    char text[sizeof error->file + sizeof error->message + 64], shown[sizeof text + 64];
    cli_error("%s", cli_library_text(splat_error_format(error, text, sizeof text), shown, sizeof shown));
    if (error->status == SPLAT_ERROR_CHECKPOINT) return CLI_CHECKPOINT;
    return error->status == SPLAT_ERROR_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}

void cli_log(void *user, splat_log_level level, const char *message)
{
    char text[2048];
    (void)user;
    cli_library_text(message, text, sizeof text);
    if (level == SPLAT_LOG_WARNING) cli_warning("%s", text);
    if (level == SPLAT_LOG_NOTICE) cli_notice("%s", text);
}

/* ---------------------------------------------------------------- what work says */

static void on_message(void *user, splat_talk_kind kind, const char *message)
{
    char text[SENTENCE_MAX];
    (void)user;
    cli_library_text(message, text, sizeof text);
    switch (kind) {
    case SPLAT_TALK_RESULT: cli_say("%s", text); break;
    case SPLAT_TALK_NOTICE: cli_notice("%s", text); break;
    case SPLAT_TALK_WARNING: cli_warning("%s", text); break;
    case SPLAT_TALK_ERROR: cli_error("%s", text); break;
    }
}

/* The length of the part that a terminal can show: cut between two figures, as half a number is another number. */
static int fitting(const char *line, int width)
{
    int length = (int)strlen(line), end = width;
    if (length <= width) return length;
    while (end > 0 && strncmp(line + end, " | ", 3) != 0) end--;
    return end > 0 ? end : width;
}

/* Draws over the line before; what is wider than the terminal would wrap and stay, so it is cut. */
static void draw(const char *text)
{
    char line[LINE_MAX_LENGTH];
    printable(text, line, sizeof line);
    if (!is_terminal()) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    struct winsize window;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1 : 79;
    fprintf(stderr, "\r%.*s\x1b[K", fitting(line, width), line);
    fflush(stderr);
    screen_has_line = true;
}

/* On a terminal one line that is drawn over itself; a log file gets a line when the percent changes, a hundred in all,
 * and the last step of a training. */
static bool on_progress(void *user, const splat_talk_progress *progress)
{
    static char activity[64];
    static int last_percent;
    const int percent = (int)(100 * progress->fraction);
    char line[LINE_MAX_LENGTH];
    (void)user;
    if (cli_is_quiet()) return true;
    const bool is_same = percent == last_percent && strcmp(activity, progress->activity) == 0;
    if (is_same && !is_terminal() && !(progress->iteration && progress->fraction >= 1)) return true;
    last_percent = percent;
    snprintf(activity, sizeof activity, "%s", progress->activity);
    snprintf(line, sizeof line, "%s%s%s", progress->iteration ? "" : progress->activity,
             progress->iteration ? "" : ": ", progress->text);
    draw(line);
    return true;
}

splat_talk *cli_talk(void)
{
    static splat_talk talk = {.message = on_message, .progress = on_progress};
    talk.interval = is_terminal() ? 0.1 : 1.0;
    return &talk;
}
