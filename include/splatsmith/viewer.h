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
    int port;          /* of the page; 0: any that is free; -1: there is no page; default 8080 */
    const char *title; /* of the page, UTF-8; NULL: "Splatsmith" */
    double budget;     /* the share of the time of a training that pictures may take, above 0 and at most 1; 0.05 */
    int sibr_port;     /* of the network viewers of the original 3D Gaussian splatting, who need no token; 0: any that
                          is free; -1, the default: they are not listened for */
    const char *sibr_host; /* where they are, an address as `host`; NULL: 127.0.0.1, whatever `host` is */
    int n_ports;       /* how many ports are tried, from `port` on, until one is not busy; 1 */
    double pause_limit; /* a pause without any client ends by itself after so many seconds, above 0; 300 */
    int n_sibr_ports;  /* how many ports are tried, from `sibr_port` on; 1 */
} splat_viewer_options;

void splat_viewer_options_init_sized(splat_viewer_options *options, size_t size);
#define splat_viewer_options_init(options) splat_viewer_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_viewer_options_set(splat_viewer_options *options, const char *name, const char *text,
                                      splat_error *error);
/* Listens from now on, in threads of its own; pictures are rendered where splat_viewer_serve is called. Owned by the
 * caller (splat_viewer_close). Errors: ARGUMENT, IO (the port is taken), UNSUPPORTED (built without civetweb), MEMORY.
 */
splat_status splat_viewer_open(const splat_viewer_options *options, splat_viewer **viewer, splat_error *error);
void splat_viewer_close(splat_viewer *viewer);
/* "http://127.0.0.1:8080/?token=...": whoever knows it may look; "" without a page. Lives as long as the viewer. */
const char *splat_viewer_get_address(const splat_viewer *viewer);
/* -1: there is none. */
int splat_viewer_get_port(const splat_viewer *viewer);
int splat_viewer_get_sibr_port(const splat_viewer *viewer);
/* Where clients begin, which cameras they see drawn, and which photos they may compare with: those of the scene, which
 * is borrowed until the next call, or without one (NULL) around the splat. Without a model (NULL) the scene's points
 * tell where the splat is. Errors: MEMORY, DEVICE. */
splat_status splat_viewer_set_scene(splat_viewer *viewer, const splat_model *model, splat_scene *scene,
                                    splat_error *error);
/* splat_viewer_set_scene of a model that has a Gaussian for each point of the scene: the page counts points, begins
 * outside of them and draws the cameras. Errors: ARGUMENT (no model or no scene), MEMORY, DEVICE. */
splat_status splat_viewer_set_points(splat_viewer *viewer, const splat_model *points, splat_scene *scene,
                                     splat_error *error);
/* Shows a mesh (splat_mesh_get_format) in place of a splat, with the cameras and photos of a scene (NULL: none) as
 * above: splat_viewer_serve is called without a model then. It is drawn on the CPU, in the colours of its texture, else
 * of its vertices, else grey. The file is read now; the context is borrowed as long as the viewer lives. Errors: IO,
 * FORMAT, UNSUPPORTED, ARGUMENT (no faces), MEMORY. */
splat_status splat_viewer_set_mesh(splat_viewer *viewer, splat_context *context, const char *path, splat_scene *scene,
                                   splat_error *error);
/* Pages may fetch the splat in this file and draw it themselves, as `model`, of which it was saved or read, is rendered
 * now, over the background (rgb in [0,1]), where the build has the drawer (SPLATSMITH_EXPLORE). Each call is a new
 * splat. iteration: after which it was saved; 0: none. The file is read when a page asks, by a thread of low priority,
 * and held packed in memory until the next call. Beside a training splat_viewer_event does this. Errors: MEMORY. */
splat_status splat_viewer_offer(splat_viewer *viewer, const char *path, int iteration, const splat_model *model,
                                const float background[3], splat_error *error);
/* What an exposure.json tells of the photos of the scene that was set, until the next is set: the error against them is
 * then that of the picture as they were exposed. Beside a training that finds them its own are taken. Errors: IO,
 * FORMAT, MEMORY. */
splat_status splat_viewer_load_exposures(splat_viewer *viewer, const char *path, splat_error *error);
/* Waits at most `seconds` until a client wants a picture, and renders it; with 0, returns at once when nobody does.
 * Encoding and sending are done by other threads. model NULL: of the mesh. background: rgb in [0,1]. *rendered: whether
 * there was one; may be NULL. Errors: those of splat_model_render, ARGUMENT (neither model nor mesh). */
splat_status splat_viewer_serve(splat_viewer *viewer, splat_model *model, const float background[3], double seconds,
                                bool *rendered, splat_error *error);

/* ---------------------------------------------------------------- beside a training */

/* From now on the page shows the splat that `trainer` trains, in its scene, with its figures; what it calls it is
 * `stage` ("train"; copied). Both are borrowed until the next call: NULL for a trainer that is about to go, with the
 * stage that comes next, or NULL. Errors: MEMORY. */
splat_status splat_viewer_watch(splat_viewer *viewer, splat_trainer *trainer, const char *stage, splat_error *error);
/* A splat_event_function, whose user is a viewer that watches the trainer: splat_run_options.event, or called from
 * there. Who steps the trainer alone gives it a SPLAT_EVENT_STEP after each step. It notes the event for the page.
 * After a step it renders at most one picture, if somebody looks and the budget allows it; it waits for no client, and
 * what fails is logged and ends nothing. When a client pauses the training it returns when one ends the pause, when no
 * client has been connected for `pause_limit` seconds, or when the run must stop. Saves and stops that clients ask for
 * become splat_trainer_request_save and _stop, which splat_trainer_run obeys. Results do not depend on who looks. */
void splat_viewer_event(void *viewer, const splat_event *event);
/* The training has ended: pages show this sentence (copied), also when the program is gone, and take no more commands.
 * In force until the next splat_viewer_watch. */
void splat_viewer_finish(splat_viewer *viewer, const char *result);
/* After splat_viewer_finish: splat_viewer_serve of the splat that was trained. Its trainer is still watched, and
 * the other ranks still serve. A picture that fails is logged. */
void splat_viewer_stay(splat_viewer *viewer, double seconds);
/* *now: clients that are connected; *ever: how many ever were. Either may be NULL. */
void splat_viewer_get_clients(splat_viewer *viewer, int *now, uint64_t *ever);

#ifdef __cplusplus
}
#endif
#endif
