/* COLMAP's text encoding: the parser of each file. */
#ifndef SPLAT_IO_COLMAP_TEXT_H
#define SPLAT_IO_COLMAP_TEXT_H

#include "io/colmap/colmap_parse.h"

splat_colmap_parser splat_colmap_parse_cameras_text, splat_colmap_parse_images_text, splat_colmap_parse_points_text;

#endif
