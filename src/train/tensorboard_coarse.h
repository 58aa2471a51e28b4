/* The tags of coarse training, those of the tuned SuGaR trainer: Time/, Performance/, VRAM/, System/, Stats/, Test/ and
 * the text Training_Guide. tensorboard_report.c calls these when the run is one (coarse_iterations > 0). */
#ifndef SPLAT_TRAIN_TENSORBOARD_COARSE_H
#define SPLAT_TRAIN_TENSORBOARD_COARSE_H

#include "train/tensorboard_report.h"

void splat_tensorboard_coarse_guide(splat_tensorboard_report *report);
/* Times are means of the steps since the last call. sample: NULL: none. */
void splat_tensorboard_coarse_machine(splat_tensorboard_report *report, int iteration, double allocated_bytes,
                                      double reserved_bytes, const splat_monitor_sample *sample);
/* summary: with spreads. */
void splat_tensorboard_coarse_model(splat_tensorboard_report *report, int iteration, const splat_summary *summary);
/* lpips: NAN when it was not measured. */
void splat_tensorboard_coarse_test(splat_tensorboard_report *report, int iteration, const splat_metrics *metrics,
                                   double lpips);

#endif
