/* The viewer after a training. */
#include "viewer.h"
#include "progress.h"
#include "signals.h"

#include <unistd.h>

/* Unless the command line says it: where somebody looks, or has had no time to, and can press Ctrl-C. */
static bool stays(const splat_line *line, splat_viewer *viewer)
{
    int now;
    uint64_t ever;
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
