/* The viewer during a training: its address, and the training that it shows. */
#include "stage/viewer.h"

#include "stage/session.h"

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
        splat_notice(line->talk,
                     "SIBR's viewers: --ip %s --port %d; there is no token: everyone who reaches it may look, and "
                     "hold a training",
                     host, port);
}

/* Prints the address, and the way to it from another machine. */
void splat_stage_tell_viewer(const splat_line *line, const splat_viewer *viewer)
{
    char host[256] = "";
    int port = splat_viewer_get_port(viewer);
    tell_sibr(line, viewer);
    if (port < 0) return;
    splat_say(line->talk, "%s", splat_viewer_get_address(viewer));
    gethostname(host, sizeof host - 1);
    if (!line->viewer->host)
        splat_notice(line->talk, "from another machine: ssh -L %d:127.0.0.1:%d %s, then the same address there", port,
                     port, host[0] ? host : "HOST");
    else
        splat_notice(line->talk, "everyone who reaches %s and has the token may look; nothing is encrypted",
                     line->viewer->host);
}

bool splat_stage_wants_viewer(const splat_line *line)
{
    return line->page->port >= 0 || line->viewer->sibr_port >= 0;
}

void splat_stage_tell_unused_viewer(const splat_line *line)
{
    static const char *const names[] = {"viewer_stay", "viewer_budget", "viewer_pause_limit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!splat_stage_wants_viewer(line)) splat_stage_tell_unused(line, names[i], " without `viewer` or `sibr`");
}

/* The last name of a path; "." and "garden/" have one, too. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

splat_status splat_stage_open_viewer(const splat_line *line, int port, bool is_named, const char *path,
                                     splat_viewer **viewer, splat_error *error)
{
    char *resolved = path ? realpath(path, NULL) : NULL; /* a folder that is made later has no path yet */
    splat_viewer_options options = *line->viewer;
    options.port = port;
    options.n_ports = is_named ? 1 : PORTS_TRIED;
    options.n_sibr_ports = splat_line_names_value(line, "sibr") ? 1 : PORTS_TRIED;
    options.title = resolved ? name_of(resolved) : path ? name_of(path) : NULL;
    options.budget = 0.01 * line->page->budget;
    splat_status status = splat_viewer_open(&options, viewer, error);
    free(resolved);
    SPLAT_TRY(status);
    const int found = splat_viewer_get_port(*viewer);
    if (port > 0 && found != port) splat_notice(line->talk, "port %d is busy; the page is at port %d", port, found);
    const int sibr_port = splat_viewer_get_sibr_port(*viewer);
    if (options.sibr_port > 0 && sibr_port != options.sibr_port)
        splat_notice(line->talk, "port %d is busy; SIBR's viewers are listened for at port %d", options.sibr_port,
                     sibr_port);
    return SPLAT_OK;
}

splat_status splat_stage_begin_viewer(const splat_line *line, const char *path, const char *stage,
                                      splat_trainer *trainer, splat_viewer **viewer, splat_error *error)
{
    *viewer = line->shared_viewer;
    if (!line->outcome) splat_stage_tell_unused_viewer(line); /* a pipeline says it once */
    if (!*viewer && !splat_stage_wants_viewer(line)) return SPLAT_OK;
    const bool is_named = splat_line_names_value(line, "viewer");
    if (!*viewer) SPLAT_TRY(splat_stage_open_viewer(line, line->page->port, is_named, path, viewer, error));
    splat_status status = splat_viewer_watch(*viewer, trainer, stage, error);
    if (status == SPLAT_OK && !line->shared_viewer) splat_stage_tell_viewer(line, *viewer);
    if (status == SPLAT_OK) return SPLAT_OK;
    splat_stage_end_viewer(line, *viewer);
    *viewer = NULL;
    return status;
}

void splat_stage_end_viewer(const splat_line *line, splat_viewer *viewer)
{
    if (!viewer) return;
    if (viewer == line->shared_viewer)
        splat_viewer_watch(viewer, NULL, NULL, NULL);
    else
        splat_viewer_close(viewer); /* its pages keep what they show */
}
