/* A step of one rank. */
#ifndef SPLAT_TRAIN_ALONE_H
#define SPLAT_TRAIN_ALONE_H

#include "train/ranks/way.h"

extern const splat_way splat_way_alone;

#endif
