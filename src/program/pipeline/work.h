/* A run of the pipeline: its options, its folder, and what each stage has come to. */
#ifndef SPLAT_PIPELINE_WORK_H
#define SPLAT_PIPELINE_WORK_H

#include "pipeline/stage_file.h"
#include "pipeline/stages.h"
#include "splatsmith/pipeline.h"
#include "stage/talk.h"

/* A stage in this run. */
typedef struct splat_pipeline_stage_work {
    splat_pipeline_state state;
    int exit_code;
    char folder[SPLAT_PIPELINE_PATH], aside[SPLAT_PIPELINE_PATH]; /* aside: where an earlier result waits */
    char path[SPLAT_PIPELINE_PATH];                               /* path of stage.json */
    splat_stage_file file;
} splat_pipeline_stage_work;

typedef struct splat_pipeline_work {
    splat_pipeline_job job;
    splat_line line;     /* job.line */
    splat_talk talk;     /* line.talk; its user is the work */
    splat_stop own_stop; /* without one of the caller */
    splat_kept_sky sky;  /* job.sky */
    splat_pipeline_callbacks callbacks;
    const char *stage;                  /* name of the running stage; NULL: none */
    char overview[SPLAT_PIPELINE_PATH]; /* pipeline.json */
    int lock;                           /* lock of the folder; -1: none */
    bool has_begun;                     /* the folder is ours, and pipeline.json is written */
    json_t *files, *files_before;       /* names of results in the folder, and those of the run before */
    char cameras_folder[SPLAT_PIPELINE_PATH];
    splat_pipeline_state cameras; /* WAITING: the scene had them */
    int cameras_code;             /* exit code of finding them */
    splat_cameras_info cameras_info;
    splat_pipeline_stage_work stages[SPLAT_PIPELINE_STAGES];
} splat_pipeline_work;

#endif
