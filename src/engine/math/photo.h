/* Photos hold levels from 0 to 255. */
#ifndef SPLAT_MATH_PHOTO_H
#define SPLAT_MATH_PHOTO_H

/* Levels from here on are saturated: they say only the least light that there was. Values that a
 * camera cut off at 255 have noise after compression. */
#define SPLAT_PHOTO_SATURATED 250

#endif
