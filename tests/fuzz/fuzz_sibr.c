/* Requests of SIBR's network viewers: the length, then the JSON. */
#include "fuzz.h"

#include "viewer/message.h"
#include "viewer/sibr_request.h"

#include <math.h>

static void check_request(const splat_sibr_request *r)
{
    const splat_camera *c = &r->camera;
    if (!r->has_picture) return;
    if (!(r->scaling >= 1e-3f && r->scaling <= 10)) abort();
    if (c->width < 1 || c->height < 1 || (int64_t)c->width * c->height > SPLAT_VIEWER_PIXELS_MAX) abort();
    if (!(c->fx > 0 && c->fy > 0 && isfinite(c->fx) && isfinite(c->fy))) abort();
    for (int k = 0; k < 9; k++)
        if (!(c->rotation[k] >= -1.0001f && c->rotation[k] <= 1.0001f)) abort();
    for (int k = 0; k < 3; k++)
        if (!isfinite(c->translation[k]) || !isfinite(c->center[k])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_sibr_request request;
    splat_error error;
    if (size < 4) return 0;
    const size_t length = splat_sibr_request_length(data);
    if (length > SPLAT_SIBR_REQUEST_MAX) abort();
    splat_status status = splat_sibr_request_parse((const char *)data + 4, size - 4, &request, &error);
    fuzz_judge(status, &error);
    if (status == SPLAT_OK) check_request(&request);
    return 0;
}
