/* The state of a training on the host of rank 0, or of a trainer that is alone: rows of the whole model, wherever they
 * are. Row i is that of Gaussian i. */
#ifndef SPLAT_TRAIN_HOST_ROWS_H
#define SPLAT_TRAIN_HOST_ROWS_H

#include "train/ranks/shards.h"

/* Rows first .. first + n of an array, by its number in splat_trainer_state_arrays, as they are stored. Nothing happens
 * where the array is empty. Errors: MEMORY, DEVICE, RANK. */
splat_status splat_shards_read(splat_trainer *trainer, int array, uint32_t first, uint32_t n, void *rows,
                               splat_error *error);
/* rows may be written again at once. */
splat_status splat_shards_write(splat_trainer *trainer, int array, uint32_t first, uint32_t n, const void *rows,
                                splat_error *error);
/* The splat of all ranks (splat_cloud_free), and the other way, of as many Gaussians as there are. */
splat_status splat_trainer_download(splat_trainer *trainer, splat_cloud *cloud, splat_error *error);
splat_status splat_trainer_upload(splat_trainer *trainer, splat_cloud *cloud, splat_error *error);

/* The other ranks: one order of that. */
splat_status splat_shards_serve_rows(splat_trainer *trainer, const splat_order *order, splat_error *error);

#endif
