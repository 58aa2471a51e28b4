/* The table of worlds, and what worlds after the first three have in common. */
#include "sample/sample_designs.h"

#include "sample/sample_gate.h"
#include "sample/sample_glossy.h"
#include "sample/sample_hall.h"
#include "sample/sample_loft.h"
#include "sample/sample_objects.h"
#include "sample/sample_office.h"
#include "sample/sample_place.h"
#include "sample/sample_room.h"
#include "sample/sample_room2.h"
#include "sample/sample_street.h"
#include "sample/sample_table.h"
#include "sample/sample_wheel.h"

static const struct {
    void (*init)(splat_parts *parts, uint64_t seed);
    void (*camera)(uint64_t seed, int index, int n, splat_sample_camera *camera);
    double largest_thing; /* the longest side of the user's largest thing, scene units; 0: the scene takes none */
    /* instead of `camera`, in a world that tells where one can stand */
    bool (*stand)(const splat_parts *parts, uint64_t seed, int index, splat_sample_camera *camera);
} designs[] = {
    [SPLAT_SAMPLE_SCENE_OBJECTS] = {splat_sample_objects_init, splat_sample_objects_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_ROOM] = {splat_sample_room_init, splat_sample_room_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_STREET] = {splat_sample_street_init, splat_sample_street_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_HALL] = {splat_sample_hall_init, splat_sample_hall_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_GATE] = {splat_sample_gate_init, splat_sample_gate_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_ROOM2] = {splat_sample_room2_init, splat_sample_room2_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_GLOSSY] = {splat_sample_glossy_init, splat_sample_glossy_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_WHEEL] = {splat_sample_wheel_init, splat_sample_wheel_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_TABLE] = {splat_sample_table_init, splat_sample_table_camera, SPLAT_SAMPLE_TABLE_LARGEST, NULL},
    [SPLAT_SAMPLE_SCENE_PLACE] = {splat_sample_place_init, NULL, SPLAT_SAMPLE_PLACE_SIZE, splat_sample_place_camera},
    [SPLAT_SAMPLE_SCENE_PRODUCT] = {splat_sample_product_init, splat_sample_table_camera, SPLAT_SAMPLE_TABLE_LARGEST,
                                    NULL},
    [SPLAT_SAMPLE_SCENE_FLIGHT] = {splat_sample_place_init, splat_sample_place_flight, SPLAT_SAMPLE_PLACE_SIZE, NULL},
    [SPLAT_SAMPLE_SCENE_LOFT] = {splat_sample_loft_init, splat_sample_loft_camera, 0, NULL},
    [SPLAT_SAMPLE_SCENE_OFFICE] = {splat_sample_office_init, splat_sample_office_camera, 0, NULL},
};

bool splat_sample_is_photographic(splat_sample_scene scene)
{
    return scene > SPLAT_SAMPLE_SCENE_ROOM;
}

double splat_sample_largest_thing(splat_sample_scene scene)
{
    return designs[scene].largest_thing;
}

/* The last of seeds 0, 1, 2 turns and the middle one of 3, 4, 5: every sky meets both. */
static double turn_of(splat_sample_scene scene, uint64_t seed)
{
    if (!splat_sample_is_photographic(scene) || (seed + seed / 3) % 3 != 2) return 0;
    return 0.3 + 0.11 * (double)(seed % 8);
}

void splat_sample_design_init(splat_parts *parts, splat_sample_scene scene, uint64_t seed)
{
    double turn = turn_of(scene, seed);
    designs[scene].init(parts, seed);
    if (turn > 0) splat_parts_turn(parts, turn);
    if (splat_sample_is_photographic(scene)) splat_parts_make_tree(parts);
}

bool splat_sample_design_camera(const splat_parts *parts, splat_sample_scene scene, uint64_t seed, int index, int n,
                                splat_sample_camera *camera)
{
    if (designs[scene].stand) return designs[scene].stand(parts, seed, index, camera);
    double turn = turn_of(scene, seed);
    designs[scene].camera(seed, index, n, camera);
    if (turn <= 0) return true;
    camera->center = splat_vec3_turn(camera->center, turn);
    for (int k = 0; k < 3; k++) camera->rows[k] = splat_vec3_turn(camera->rows[k], turn);
    return true;
}
