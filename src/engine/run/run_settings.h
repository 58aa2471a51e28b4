/* The settings of a run as tables of texts, for TensorBoard and for its report. */
#ifndef SPLAT_RUN_RUN_SETTINGS_H
#define SPLAT_RUN_RUN_SETTINGS_H

#include "report/tensorboard/tensorboard_report.h"
#include "train/state.h"

typedef struct splat_run_settings splat_run_settings;

/* command: as typed, NULL allowed; it and the trainer must outlive the settings. NULL: no memory. */
splat_run_settings *splat_run_settings_make(const splat_trainer *trainer, const char *command);
const splat_report_config *splat_run_settings_config(const splat_run_settings *settings);
/* NULL is allowed. */
void splat_run_settings_free(splat_run_settings *settings);

#endif
