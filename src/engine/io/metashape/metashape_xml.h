/* The values of Metashape's XML that are read, unchanged. */
#ifndef SPLAT_IO_METASHAPE_XML_H
#define SPLAT_IO_METASHAPE_XML_H

#include "base/error.h"

#include <stdbool.h>

/* Parameters of a sensor; pixels, and numbers without a unit. The last two stand for the higher tangential terms. */
enum { MS_F, MS_CX, MS_CY, MS_B1, MS_B2, MS_K1, MS_K2, MS_K3, MS_K4, MS_P1, MS_P2, MS_P3, MS_P4, MS_VALUES };

typedef struct metashape_sensor {
    int id;
    char type[32];            /* "frame", "fisheye", "spherical", ... */
    int width, height;        /* 0: not said */
    bool has_calibration, is_adjusted;
    double values[MS_VALUES]; /* the adjusted calibration, else the initial one; 0: absent */
} metashape_sensor;

/* X_world = scale R X_chunk + t */
typedef struct metashape_placement {
    int id;                   /* id of the component */
    double rotation[9], translation[3], scale;
} metashape_placement;

typedef struct metashape_camera {
    char *label;
    int sensor, component;    /* ids; -1: not said */
    bool is_on, has_pose;
    double pose[16];          /* row-major, camera to chunk; x right, y down, z forward */
} metashape_camera;

typedef struct metashape_file {
    metashape_sensor *sensors; size_t n_sensors;
    metashape_placement *components; size_t n_components;
    metashape_placement chunk; /* placement of cameras without a component; identity if absent */
    metashape_camera *cameras; size_t n_cameras;
} metashape_file;

/* Errors: IO, FORMAT with the line, MEMORY; UNSUPPORTED in builds without expat. */
splat_status metashape_file_read(const char *path, metashape_file *file, splat_error *error);
void metashape_file_free(metashape_file *file);

#endif
