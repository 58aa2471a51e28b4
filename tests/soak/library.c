/* One process that makes and frees everything that the library has, again and again: what it does not give back adds
 * up. tests/soak/soak.py runs it, watches its memory and handles, and reads a line a round.
 *
 *     soak_library SCENE FOLDER SECONDS [BACKEND]
 *
 * SCENE is a small one, FOLDER exists and is its own. Each line is the number of the round, a hash of all bytes that
 * the round made, which every round must have again (another one ends it with 1), and what is there between rounds:
 * resident KiB, open handles and threads. */
#include <splatsmith.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 30
#define PATH_MAX_LENGTH 1024

static splat_error error;

static void must(splat_status status, const char *what)
{
    char text[2048];
    if (status == SPLAT_OK) return;
    fprintf(stderr, "%s: %s\n", what, splat_error_format(&error, text, sizeof text));
    exit(1);
}

/* A failed call must also free everything. */
static void must_fail(splat_status status, const char *what)
{
    if (status != SPLAT_OK) return;
    fprintf(stderr, "%s was taken\n", what);
    exit(1);
}

static const char *inside(const char *folder, const char *name)
{
    static char paths[8][PATH_MAX_LENGTH];
    static unsigned next;
    char *path = paths[next++ % 8];
    if (snprintf(path, PATH_MAX_LENGTH, "%s/%s", folder, name) >= PATH_MAX_LENGTH) exit(2);
    return path;
}

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_file(uint64_t hash, const char *path)
{
    static char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t n;
    if (!file) must(SPLAT_ERROR_IO, path);
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) hash = hash_bytes(hash, bytes, n);
    fclose(file);
    return hash;
}

static splat_trainer *make_trainer(splat_context *context, splat_scene *scene)
{
    splat_train_options options;
    splat_trainer *trainer = NULL;
    splat_train_options_init(&options);
    options.iterations = 10 * STEPS;
    options.densify_from_iter = 1;
    options.densification_interval = 10;
    options.target_gaussian_count = 2000;
    must(splat_trainer_create(context, scene, &options, &trainer, &error), "a trainer");
    return trainer;
}

static void step(splat_trainer *trainer, int n)
{
    for (int i = 0; i < n; i++) must(splat_trainer_step(trainer, NULL, &error), "a step");
}

/* A training with a viewer without visitors; then the same from its checkpoint, which must give the same end. */
static uint64_t train(splat_context *context, splat_scene *scene, const char *folder, uint64_t hash)
{
    splat_viewer_options options;
    splat_viewer *viewer = NULL;
    splat_trainer *first = make_trainer(context, scene), *second;
    splat_viewer_options_init(&options);
    options.port = 0;
    options.sibr_port = 0;
    must(splat_viewer_open(&options, &viewer, &error), "a viewer");
    must(splat_viewer_watch(viewer, first, "train", &error), "to be watched");
    step(first, STEPS / 2);
    must(splat_trainer_save_checkpoint(first, inside(folder, "half.splatsmith"), &error), "a checkpoint");
    step(first, STEPS / 2);
    must(splat_viewer_watch(viewer, NULL, NULL, &error), "to be left");
    must(splat_model_save(splat_trainer_get_model(first), inside(folder, "first.ply"), NULL, &error), "the splat");
    splat_viewer_close(viewer);
    splat_trainer_destroy(first);
    second = make_trainer(context, scene);
    must(splat_trainer_load_checkpoint(second, inside(folder, "half.splatsmith"), &error), "to go on");
    step(second, STEPS / 2);
    must(splat_model_save(splat_trainer_get_model(second), inside(folder, "second.ply"), NULL, &error), "the splat");
    splat_trainer_destroy(second);
    if (hash_file(hash, inside(folder, "first.ply")) != hash_file(hash, inside(folder, "second.ply"))) {
        fprintf(stderr, "the training that went on from its checkpoint has another splat\n");
        exit(1);
    }
    return hash_file(hash, inside(folder, "first.ply"));
}

/* All formats there and, where they can be read, back; pictures, figures, a mesh. */
static uint64_t use(splat_context *context, splat_scene *scene, const char *folder, uint64_t hash)
{
    splat_model *model = NULL;
    splat_file_format format;
    splat_view_info view;
    splat_view_job job;
    splat_metrics mean;
    splat_mesh_extract_options mesh;
    splat_mesh_extract_info info;
    const float background[3] = {0};
    must(splat_model_load(context, inside(folder, "first.ply"), &model, &error), "the splat");
    for (size_t i = 0; splat_model_get_format(i, &format); i++) {
        char name[64];
        splat_model *again = NULL;
        if (!format.writes) continue;
        snprintf(name, sizeof name, "written%s", format.ending);
        must(splat_model_save(model, inside(folder, name), NULL, &error), name);
        hash = hash_file(hash, inside(folder, name));
        if (format.reads) must(splat_model_load(context, inside(folder, name), &again, &error), name);
        splat_model_destroy(again);
    }
    splat_view_job_init(&job);
    must(splat_model_evaluate(model, scene, &job, &mean, &error), "figures");
    hash = hash_bytes(hash, &mean.psnr, sizeof mean.psnr);
    must(splat_scene_get_view(scene, 0, &view, &error), "a view");
    size_t n = (size_t)3 * (size_t)view.camera.width * (size_t)view.camera.height;
    float *rgb = malloc(n * sizeof *rgb);
    if (!rgb) exit(1);
    must(splat_model_render(model, &view.camera, background, rgb, &error), "a picture");
    hash = hash_bytes(hash, rgb, n * sizeof *rgb);
    free(rgb);
    splat_mesh_extract_options_init(&mesh);
    mesh.method = SPLAT_MESH_TSDF;
    const char *path = inside(folder, "mesh.ply");
    must(splat_mesh_extract(context, scene, model, &mesh, &path, 1, &info, &error), "a mesh");
    hash = hash_file(hash, path);
    splat_model_destroy(model);
    return hash;
}

/* Files cut short and folders that are none. */
static void fail(splat_context *context, const char *folder)
{
    splat_scene_options options;
    splat_scene *scene = NULL;
    splat_model *model = NULL;
    splat_file_format format;
    static char bytes[4095]; /* whole Gaussians have 32 bytes in .splat */
    splat_scene_options_init(&options);
    options.source_path = inside(folder, "absent");
    must_fail(splat_scene_open(context, &options, &scene, &error), "an absent scene");
    for (size_t i = 0; splat_model_get_format(i, &format); i++) {
        char name[64], cut[64];
        if (!format.reads || !format.writes) continue;
        snprintf(name, sizeof name, "written%s", format.ending);
        snprintf(cut, sizeof cut, "cut%s", format.ending);
        FILE *in = fopen(inside(folder, name), "rb"), *out = fopen(inside(folder, cut), "wb");
        if (!in || !out || fwrite(bytes, 1, fread(bytes, 1, sizeof bytes, in), out) == 0) exit(1);
        fclose(in);
        if (fclose(out)) exit(1);
        must_fail(splat_model_load(context, inside(folder, cut), &model, &error), cut);
    }
}

static uint64_t make_all(const char *source, const char *folder, const char *backend)
{
    splat_context_options context_options;
    splat_scene_options scene_options;
    splat_context *context = NULL;
    splat_scene *scene = NULL;
    splat_context_options_init(&context_options);
    context_options.backend = backend;
    context_options.threads = 1;
    context_options.deterministic = true;
    must(splat_context_create(&context_options, &context, &error), "a context");
    splat_scene_options_init(&scene_options);
    scene_options.source_path = source;
    scene_options.eval = true;
    must(splat_scene_open(context, &scene_options, &scene, &error), "the scene");
    uint64_t hash = train(context, scene, folder, 0xcbf29ce484222325u);
    hash = use(context, scene, folder, hash);
    fail(context, folder);
    splat_scene_close(scene);
    splat_context_destroy(context);
    return hash;
}

/* A number of this process, from the system's file about it. */
static long number_of(const char *name)
{
    char line[256];
    long number = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) number = atol(line + strlen(name));
    if (file) fclose(file);
    return number;
}

static int count_handles(void)
{
    int n = -3; /* ".", ".." and the folder itself */
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) n++;
    if (folder) closedir(folder);
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: soak_library SCENE FOLDER SECONDS [BACKEND]\n");
        return 2;
    }
    time_t end = time(NULL) + atol(argv[3]);
    uint64_t first = 0;
    for (int round = 1; round == 1 || time(NULL) < end; round++) {
        uint64_t hash = make_all(argv[1], argv[2], argc > 4 ? argv[4] : "cpu");
        printf("%d %016llx %ld %d %ld\n", round, (unsigned long long)hash, number_of("VmRSS:"), count_handles(),
               number_of("Threads:"));
        fflush(stdout);
        if (round == 1) first = hash;
        if (hash == first) continue;
        fprintf(stderr, "round %d made other bytes than the first\n", round);
        return 1;
    }
    return 0;
}
