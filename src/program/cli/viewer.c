/* The viewer beside the commands: its address, and which training it shows. */
#include "viewer.h"
#include "progress.h"
#include "stop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORTS_TRIED 100 /* from the usual one on, where none is named */

/* The viewers without a token. */
static void tell_sibr(const splat_line *line, const splat_viewer *viewer)
{
    const char *host = line->viewer->sibr_host ? line->viewer->sibr_host : "127.0.0.1";
    const int port = splat_viewer_get_sibr_port(viewer);
    if (port >= 0)
        cli_notice("SIBR's viewers: --ip %s --port %d; there is no token: whoever reaches it may look, and hold a "
                   "training",
                   host, port);
}

/* Where to look, and how from another machine. */
void cli_viewer_tell(const splat_line *line, const splat_viewer *viewer)
{
    char host[256] = "";
    int port = splat_viewer_get_port(viewer);
    tell_sibr(line, viewer);
    if (port < 0) return;
    cli_say("%s", splat_viewer_get_address(viewer));
    gethostname(host, sizeof host - 1);
    if (!line->viewer->host)
        cli_notice("from another machine: ssh -L %d:127.0.0.1:%d %s, then the same address there", port, port,
                   host[0] ? host : "HOST");
    else
        cli_notice("whoever reaches %s and knows the token may look; nothing is encrypted", line->viewer->host);
}

bool cli_viewer_is_wanted(const splat_line *line)
{
    return line->page->port >= 0 || line->viewer->sibr_port >= 0;
}

void cli_viewer_tell_unused(const splat_line *line)
{
    static const char *const names[] = {"viewer_stay", "viewer_budget", "viewer_pause_limit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!cli_viewer_is_wanted(line)) cli_tell_unused(line, names[i], " without --viewer or --sibr");
}

/* The last name of a path; "." and "garden/" have one, too. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int cli_viewer_open(const splat_line *line, int port, bool is_named, const char *path, splat_viewer **viewer)
{
    splat_error error;
    char *resolved = path ? realpath(path, NULL) : NULL; /* a folder that is made later has no path yet */
    splat_viewer_options options = *line->viewer;
    options.port = port;
    options.n_ports = is_named ? 1 : PORTS_TRIED;
    options.n_sibr_ports = splat_line_names_value(line, "sibr") ? 1 : PORTS_TRIED;
    options.title = resolved ? name_of(resolved) : path ? name_of(path) : NULL;
    options.budget = 0.01 * line->page->budget;
    splat_status status = splat_viewer_open(&options, viewer, &error);
    free(resolved);
    if (status != SPLAT_OK) return cli_report(&error);
    const int found = splat_viewer_get_port(*viewer);
    if (port > 0 && found != port) cli_notice("port %d is busy; the page is at port %d", port, found);
    const int sibr_port = splat_viewer_get_sibr_port(*viewer);
    if (options.sibr_port > 0 && sibr_port != options.sibr_port)
        cli_notice("port %d is busy; SIBR's viewers are listened for at port %d", options.sibr_port, sibr_port);
    return CLI_OK;
}

int cli_viewer_begin(const splat_line *line, const char *path, const char *stage, splat_trainer *trainer,
                     splat_viewer **viewer)
{
    splat_error error;
    *viewer = line->shared_viewer;
    if (!line->outcome) cli_viewer_tell_unused(line); /* a pipeline says it once */
    if (!*viewer && !cli_viewer_is_wanted(line)) return CLI_OK;
    const bool is_named = splat_line_names_value(line, "viewer");
    int code = *viewer ? CLI_OK : cli_viewer_open(line, line->page->port, is_named, path, viewer);
    if (code != CLI_OK) return code;
    if (splat_viewer_watch(*viewer, trainer, stage, &error) == SPLAT_OK) {
        if (!line->shared_viewer) cli_viewer_tell(line, *viewer);
        return CLI_OK;
    }
    cli_viewer_end(line, *viewer);
    *viewer = NULL;
    return cli_report(&error);
}

/* Unless the command line says it: where somebody looks, or has had no time to, and can press Ctrl-C. */
static bool stays(const splat_line *line, splat_viewer *viewer)
{
    int now;
    uint64_t ever;
    if (viewer == line->shared_viewer) return false; /* the next stage waits */
    splat_viewer_get_clients(viewer, &now, &ever);
    bool stay = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && (now > 0 || ever == 0);
    splat_line_put_given(line, &line->page->stay, sizeof stay, &stay);
    return stay;
}

void cli_viewer_stay(const splat_line *line, splat_viewer *viewer)
{
    if (!viewer || !stays(line, viewer)) return;
    cli_stop_install(true); /* the second one ends a render that takes long */
    cli_notice("everything is saved; the viewer goes on showing the splat, and Ctrl-C ends it");
    while (!cli_stop_is_asked()) splat_viewer_stay(viewer, 0.1);
}

void cli_viewer_end(const splat_line *line, splat_viewer *viewer)
{
    if (!viewer) return;
    if (viewer == line->shared_viewer)
        splat_viewer_watch(viewer, NULL, NULL, NULL);
    else
        splat_viewer_close(viewer); /* its pages keep what they show */
}
