/* cfg_args of a model folder: the options that the published scripts look for. */
#ifndef SPLAT_RUN_CFG_ARGS_H
#define SPLAT_RUN_CFG_ARGS_H

#include "base/error.h"
#include "splatsmith/model.h"
#include "splatsmith/train.h"

/* One line, a valid Python Namespace(...) with the keys of the published trainer in its order. Of `train` it has what
 * the scene's options of that trainer hold. */
splat_status splat_cfg_args_write(const char *model_path, const splat_model_config *config,
                                  const splat_train_options *train, splat_error *error);
/* Reads any Namespace(...) of the 3DGS family; unknown keys are skipped, missing ones take the defaults. */
splat_status splat_cfg_args_read(const char *model_path, splat_model_config *config, splat_error *error);

#endif
