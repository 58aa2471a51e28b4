/* The names of checkpoints in a model folder. */
#ifndef SPLAT_STAGE_CHECKPOINTS_H
#define SPLAT_STAGE_CHECKPOINTS_H

/* The N of chkpntN.splatsmith, -1 for another name; the highest one in a folder, -1 without any. */
int splat_checkpoint_number(const char *name);
int splat_checkpoint_newest(const char *folder);

#endif
