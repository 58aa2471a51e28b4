/* The commands as bits: which of them a row of the option table is for. */
#ifndef SPLAT_CLI_COMMAND_BITS_H
#define SPLAT_CLI_COMMAND_BITS_H

/* The pipeline takes the options of its stages: a row that names one of them is the pipeline's too. ALONE(commands):
 * not the pipeline's, because it sets this itself, or because the name or letter would be there twice. */
#define ALONE(commands) ((commands) & ~PIPELINE)
enum { PIPELINE = 32768, TRAIN = 1 | PIPELINE, EVAL = 2, RENDER = 4, EXPORT = 8, SHEET = 16, SAMPLE = 32, INFO = 64,
       DOCS = 128, BENCH = 256, PLAN = 512, MONITOR = 1024, PROFILE = 2048, MESH = 4096 | PIPELINE, MESH_REPORT = 8192,
       COARSE = 16384 | PIPELINE, REFINE = 65536, TEXTURE = 131072,
       CAMERAS = 262144, VIEW = 524288 };
enum { STEPS = TRAIN | BENCH | PLAN, MODEL = EVAL | RENDER | SHEET | ALONE(MESH) | TEXTURE | VIEW };
enum { WORK = STEPS | MODEL | EXPORT | SAMPLE | COARSE | REFINE,
       ALL = WORK | INFO | DOCS | MONITOR | PROFILE | MESH_REPORT | CAMERAS,
       TALKING = WORK | MESH_REPORT | CAMERAS };

enum { MESH_ALONE = ALONE(MESH) };

#endif
