/* States of the pixels of a training view. */
#ifndef SPLAT_SURFACE_EXTRACT_PIXEL_STATE_H
#define SPLAT_SURFACE_EXTRACT_PIXEL_STATE_H

/* The evidence for a pixel, beyond the splat. */
typedef enum splat_pixel_state {
    SPLAT_PIXEL_SILENT,  /* nothing: the depth, if there is one, is the splat's alone */
    SPLAT_PIXEL_MASKED,  /* not even that: its mask leaves it out */
    SPLAT_PIXEL_AGAINST, /* the photos contradict the depth */
    SPLAT_PIXEL_AGREED,  /* the maps of other views agree, which are of the same splat */
    SPLAT_PIXEL_SHADED,  /* on a surface that the shading of plain photos shows */
    SPLAT_PIXEL_FITTED,  /* on a plane of the scene */
    SPLAT_PIXEL_MATCHED, /* the photos show the same texture there */
    SPLAT_PIXEL_SKY      /* no surface up to infinity; also where a mask says that nothing shall be */
} splat_pixel_state;

#endif
