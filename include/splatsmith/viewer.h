/* splatsmith/viewer.h - a splat in a browser, also while it is trained: a small HTTP server whose one page shows
 * pictures that this program renders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_VIEWER_H
#define SPLATSMITH_VIEWER_H

#include "splatsmith/core.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"
#include "splatsmith/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct splat_viewer splat_viewer;

typedef struct splat_viewer_options {
    size_t size;
    const char *host;  /* an address of this machine to listen at; NULL: 127.0.0.1, which other machines do not reach */
    int port;          /* port of the page; 0: any free port; -1: no page; default 8080 */
    const char *title; /* title of the page, UTF-8; NULL: "Splatsmith" */
    double budget;     /* share of the training time for pictures, above 0 and at most 1; 0.05 */
    int sibr_port;     /* port for the network viewers of the original 3D Gaussian splatting, which need no token; 0:
                          any free port; -1 (default): closed */
    const char *sibr_host; /* address to listen at for these viewers; NULL: 127.0.0.1, independent of `host` */
    int n_ports;       /* number of ports to try, from `port` on, until one is free; 1 */
    double pause_limit; /* a pause without a client ends after so many seconds, above 0; 300 */
    int n_sibr_ports;  /* number of ports to try, from `sibr_port` on; 1 */
} splat_viewer_options;

void splat_viewer_options_init_sized(splat_viewer_options *options, size_t size);
#define splat_viewer_options_init(options) splat_viewer_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_viewer_options_set(splat_viewer_options *options, const char *name, const char *text,
                                      splat_error *error);
/* Starts the server, in threads of its own; it renders pictures only inside splat_viewer_serve. The caller owns *viewer
 * (splat_viewer_close). Errors: ARGUMENT, IO (the port is taken), UNSUPPORTED (built without civetweb), MEMORY. */
splat_status splat_viewer_open(const splat_viewer_options *options, splat_viewer **viewer, splat_error *error);
void splat_viewer_close(splat_viewer *viewer);
/* "http://127.0.0.1:8080/?token=...": the token in it admits anyone who has it; "" without a page. Lives as long as the
 * viewer. */
const char *splat_viewer_get_address(const splat_viewer *viewer);
/* -1: there is none. */
int splat_viewer_get_port(const splat_viewer *viewer);
int splat_viewer_get_sibr_port(const splat_viewer *viewer);
/* Sets the scene (borrowed until the next call): clients begin at its cameras, see them drawn, and may compare with its
 * photos. NULL: clients begin around the splat. Without a model (NULL) the scene's points say where the splat is.
 * Errors: MEMORY, DEVICE. */
splat_status splat_viewer_set_scene(splat_viewer *viewer, const splat_model *model, splat_scene *scene,
                                    splat_error *error);
/* The same as splat_viewer_set_scene for a model with a Gaussian on each point of the scene: the page counts points,
 * begins outside of them and draws the cameras. Errors: ARGUMENT (no model or no scene), MEMORY, DEVICE. */
splat_status splat_viewer_set_points(splat_viewer *viewer, const splat_model *points, splat_scene *scene,
                                     splat_error *error);
/* Shows a mesh (splat_mesh_get_format) in place of a splat, with the cameras and photos of a scene (NULL: none) as
 * above: splat_viewer_serve is called without a model then. It is drawn on the CPU, in the colours of its texture, else
 * of its vertices, else grey. The file is read now; the context is borrowed as long as the viewer lives. Errors: IO,
 * FORMAT, UNSUPPORTED, ARGUMENT (no faces), MEMORY. */
splat_status splat_viewer_set_mesh(splat_viewer *viewer, splat_context *context, const char *path, splat_scene *scene,
                                   splat_error *error);
/* Lets pages fetch the splat in this file and draw it themselves, if the build has the drawer (SPLATSMITH_EXPLORE).
 * They draw it as `model`, which was saved to the file or read from it, is rendered now, over the background (rgb in
 * [0,1]). Each call is a new splat. iteration: the one after which it was saved; 0: none. The file is read when a page
 * asks for it, by a thread of low priority, and held packed in memory until the next call. During a training
 * splat_viewer_event calls this. Errors: MEMORY. */
splat_status splat_viewer_offer(splat_viewer *viewer, const char *path, int iteration, const splat_model *model,
                                const float background[3], splat_error *error);
/* Reads the exposures of the photos of the scene from an exposure.json, until the next splat_viewer_set_scene: the
 * error against a photo is then that of the picture with the photo's exposure. A training that finds exposures uses its
 * own instead. Errors: IO, FORMAT, MEMORY. */
splat_status splat_viewer_load_exposures(splat_viewer *viewer, const char *path, splat_error *error);
/* Waits at most `seconds` until a client wants a picture, and renders it; 0: returns at once if no client does. Other
 * threads encode and send. model: NULL renders the mesh. background: rgb in [0,1]. *rendered (may be NULL): true if
 * there was a picture. Errors: those of splat_model_render, ARGUMENT (neither model nor mesh). */
splat_status splat_viewer_serve(splat_viewer *viewer, splat_model *model, const float background[3], double seconds,
                                bool *rendered, splat_error *error);

/* ---------------------------------------------------------------- during a training */

/* Shows the splat that `trainer` trains, with its scene and figures, under the name `stage` ("train"; copied). The
 * trainer is borrowed until the next call. Before it is destroyed, call this with NULL and the next stage, or NULL.
 * Errors: MEMORY. */
splat_status splat_viewer_watch(splat_viewer *viewer, splat_trainer *trainer, const char *stage, splat_error *error);
/* A splat_event_function for splat_run_options.event, or to call from that function; its user is the viewer. A program
 * that calls splat_trainer_step itself passes a SPLAT_EVENT_STEP after each step.
 *
 * It notes the event for the page. After a step it renders at most one picture, if a client wants one and the budget
 * allows it. It waits for no client, and logs failures without ending the training. A client may pause the training:
 * then the call returns when a client ends the pause, when no client has been connected for `pause_limit` seconds, or
 * when the run must stop. Requests to save or stop become splat_trainer_request_save and _stop, which splat_trainer_run
 * obeys. The result of a training does not depend on its clients. */
void splat_viewer_event(void *viewer, const splat_event *event);
/* Declares the training ended: pages show this sentence (copied), also after the program has ended, and send no more
 * commands. Holds until the next splat_viewer_watch. */
void splat_viewer_finish(splat_viewer *viewer, const char *result);
/* After splat_viewer_finish: serves the trained splat as splat_viewer_serve does. The trainer must still be watched,
 * and the other ranks must still serve. A picture that fails is logged. */
void splat_viewer_stay(splat_viewer *viewer, double seconds);
/* *now: connected clients; *ever: all clients so far. Either may be NULL. */
void splat_viewer_get_clients(splat_viewer *viewer, int *now, uint64_t *ever);

#ifdef __cplusplus
}
#endif
#endif
