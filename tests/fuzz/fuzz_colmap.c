/* COLMAP's models. The first byte says which of the six files the rest is; the other two of its model are sound. */
#include "fuzz.h"

#include "io/colmap/colmap.h"
#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"

static const char *const names[] = {"cameras.bin", "images.bin", "points3D.bin",
                                    "cameras.txt", "images.txt", "points3D.txt"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char cameras[] = "1 PINHOLE 640 480 500 501 320 240\n2 SIMPLE_PINHOLE 64 48 50 32 24\n";
    static const char images[] = "1 1 0 0 0 0 0 0 1 a.jpg\n\n2 0.5 0.5 0.5 0.5 1 2 3 1 b.jpg\n10 20 -1\n";
    char path[32];
    splat_colmap_model model;
    splat_error error;
    if (size == 0) return 0;
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s", names[i]);
        unlink(path);
    }
    fuzz_file("cameras.txt", cameras, sizeof cameras - 1);
    fuzz_file("images.txt", images, sizeof images - 1);
    fuzz_file(names[data[0] % 6], data + 1, size - 1);
    splat_status status = splat_colmap_read(".", &model, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    for (size_t i = 0; i < model.n_images; i++) {
        if (!splat_colmap_find_camera(&model, model.images[i].camera_id) || !splat_name_is_inside(model.images[i].name))
            abort();
        fuzz_touch(model.images[i].name, strlen(model.images[i].name));
    }
    splat_colmap_tracks tracks = {0};
    model.tracks = &tracks;
    fuzz_judge(splat_colmap_read_points(".", &model, &error), &error);
    fuzz_touch(model.points, model.n_points * sizeof *model.points);
    if (model.n_points && tracks.n != model.n_points) abort();
    if (tracks.n) fuzz_touch(tracks.image_ids, tracks.ends[tracks.n - 1] * sizeof *tracks.image_ids);
    splat_colmap_tracks_free(&tracks);
    splat_colmap_free(&model);
    return 0;
}
