/* Interprets COLMAP's output: the progress of a stage, and the reason of a failure. Versions 3.6 to 4.1. */
#ifndef SPLAT_CAPTURE_COLMAP_OUTPUT_H
#define SPLAT_CAPTURE_COLMAP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* How far a line says that a stage is, 0 to 1; -1: it does not say. "[3/50]", "[2/3, 1/3]" (blocks), and for the mapper
 * "Registering image #4 (12)" of n_photos. */
double splat_colmap_line_progress(const char *line, size_t n_photos);

/* The reaction to a failure, in addition to its report. */
typedef enum splat_colmap_fault {
    SPLAT_COLMAP_NO_FAULT,
    SPLAT_COLMAP_FAULT_GPU,        /* worth a second try without one */
    SPLAT_COLMAP_FAULT_OPTIONS,
    SPLAT_COLMAP_FAULT_DISK,
    SPLAT_COLMAP_FAULT_DATABASE,
    SPLAT_COLMAP_FAULT_MEMORY,
    SPLAT_COLMAP_FAULT_NO_MATCHES,
    SPLAT_COLMAP_FAULT_NO_START,   /* no pair to begin with: worth a second try with lower demands */
    SPLAT_COLMAP_FAULT_SIZES,
    SPLAT_COLMAP_FAULT_PHOTO       /* a photo could not be read; the others go on */
} splat_colmap_fault;

/* The fault that a line tells of. */
splat_colmap_fault splat_colmap_line_fault(const char *line);
/* Returns the fault that explains more. */
splat_colmap_fault splat_colmap_worse_fault(splat_colmap_fault a, splat_colmap_fault b);
/* The meaning of a fault and the remedy, as the end of a sentence; NULL for SPLAT_COLMAP_NO_FAULT. */
const char *splat_colmap_fault_advice(splat_colmap_fault fault);

#endif
