/* splatsmith/viewer.h - a splat in a browser: a small HTTP server whose one page shows pictures that this program
 * renders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_VIEWER_H
#define SPLATSMITH_VIEWER_H

#include "splatsmith/core.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct splat_viewer splat_viewer;

typedef struct splat_viewer_options {
    size_t size;
    const char *host;  /* an address of this machine to listen at; NULL: 127.0.0.1, which other machines do not reach */
    int port;          /* 0: any that is free; default 8080 */
    const char *title; /* of the page, UTF-8; NULL: "Splatsmith" */
} splat_viewer_options;

void splat_viewer_options_init_sized(splat_viewer_options *options, size_t size);
#define splat_viewer_options_init(options) splat_viewer_options_init_sized(options, sizeof *(options))
/* Listens from now on, in threads of its own; pictures are rendered where splat_viewer_serve is called. Owned by the
 * caller (splat_viewer_close). Errors: ARGUMENT, IO (the port is taken), UNSUPPORTED (built without civetweb), MEMORY.
 */
splat_status splat_viewer_open(const splat_viewer_options *options, splat_viewer **viewer, splat_error *error);
void splat_viewer_close(splat_viewer *viewer);
/* "http://127.0.0.1:8080/?token=...": whoever knows it may look. Lives as long as the viewer. */
const char *splat_viewer_get_address(const splat_viewer *viewer);
int splat_viewer_get_port(const splat_viewer *viewer);
/* Where clients begin, and which cameras they see drawn: those of the scene, or without one (NULL) around the splat.
 * Errors: MEMORY, DEVICE. */
splat_status splat_viewer_set_scene(splat_viewer *viewer, const splat_model *model, const splat_scene *scene,
                                    splat_error *error);
/* Waits at most `seconds` until a client wants a picture, and renders it; with 0, returns at once when nobody does.
 * Encoding and sending are done by other threads. background: rgb in [0,1]. *rendered: whether there was one; may be
 * NULL. Errors: those of splat_model_render. */
splat_status splat_viewer_serve(splat_viewer *viewer, splat_model *model, const float background[3], double seconds,
                                bool *rendered, splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
