/* Figures of a training of several ranks for curves and reports: the Gaussians of all, and the work of each rank. */
#ifndef SPLAT_TRAIN_RANKS_REPORT_H
#define SPLAT_TRAIN_RANKS_REPORT_H

#include "ops/summary/summary.h"
#include "train/ranks/shards.h"

/* Op summary of the trainer's Gaussians, at rank 0 or alone; args->gaussians is filled in. Each rank has its part of a
 * sample. Errors: MEMORY, RANK, DEVICE. */
splat_status splat_shards_summarize(splat_trainer *trainer, const struct splat_summary_args *args, splat_error *error);
/* Another rank's part in splat_shards_summarize. */
splat_status splat_shards_serve_summary(splat_trainer *trainer, const splat_order *order, splat_error *error);

/* A step begins, and has ended well. */
void splat_shards_begin_traffic(splat_trainer *trainer);
void splat_shards_end_traffic(splat_trainer *trainer);
/* Notes the Gaussians and pairs that this rank blended in a view, once they are known. */
void splat_shards_note_view(splat_trainer *trainer, uint64_t n_visible, uint64_t n_instances);
/* Sends the work of this rank to rank 0; there all[ranks]. Errors: RANK. */
splat_status splat_shards_send_info(splat_trainer *trainer, splat_rank_info *all, splat_error *error);

#endif
