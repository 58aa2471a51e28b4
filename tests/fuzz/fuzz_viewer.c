/* Messages of the viewer's clients, and Host and Origin headers. */
#include "fuzz.h"

#include "viewer/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_viewer_message message;
    splat_error error;
    splat_status status = splat_viewer_message_parse((const char *)data, size, &message, &error);
    fuzz_judge(status, &error);
    if (status == SPLAT_OK && message.has_wish) {
        const splat_camera *c = &message.wish.camera;
        const splat_camera small = splat_viewer_scale_camera(c, 0.125);
        for (int k = 0; k < 9; k++)
            if (!(c->rotation[k] >= -1.0001f && c->rotation[k] <= 1.0001f)) abort();
        if (c->width < 16 || c->height < 16 || (int64_t)c->width * c->height > SPLAT_VIEWER_PIXELS_MAX) abort();
        if (message.wish.kind >= SPLAT_VIEWER_ERROR && message.wish.view < 0) abort();
        for (int k = 0; k < 3 && message.wish.has_box; k++)
            if (!(message.wish.box.low[k] <= message.wish.box.high[k])) abort();
        if (!(c->fy > 0) || small.width < 16 || small.height < 16 || small.width > c->width) abort();
    }
    if (status == SPLAT_OK && message.has_command && message.command >= SPLAT_VIEWER_N_COMMANDS) abort();
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    bool good = splat_viewer_host_is_good(text, "gpubox");
    if (splat_viewer_origin_is_good(text, text) && good) abort(); /* an origin begins with http, no host does */
    free(text);
    return 0;
}
