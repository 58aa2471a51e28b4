/* The figures of a mesh report, as plain data. */
#ifndef SPLAT_MESH_MESH_FIGURES_H
#define SPLAT_MESH_MESH_FIGURES_H

#include "splatsmith/core.h"

typedef struct splat_mesh_figure {
    double min, max, mean, deviation; /* deviation: of the population. All 0 when there is nothing to measure */
} splat_mesh_figure;

/* Figures of the mesh in the file: vertices are not merged. An edge is open if one face has it, and manifold if one or
 * two have it; neighbours are the two faces of an edge with exactly these two. */
typedef struct splat_mesh_quality {
    size_t n_vertices, n_faces, n_edges; /* edges: each once */
    size_t n_boundary_edges;             /* open ones */
    size_t n_non_manifold_edges;         /* edges of more than two faces */
    size_t n_components;                 /* pieces of faces that share vertices */
    size_t n_duplicate_vertices;         /* vertices at the place of an earlier one */
    size_t n_isolated_vertices;          /* vertices without a face */
    size_t n_degenerate_faces;           /* area below 1e-10, in squared scene units */
    size_t n_low_quality_faces;          /* aspect below 0.3 */
    size_t n_degenerate_normals;         /* vertex normals (of the file, else computed) shorter than 0.1 */
    size_t n_flipped_normals;            /* neighbours whose normals are more than 90 degrees apart */
    int64_t euler_characteristic;        /* used vertices - edges + faces */
    bool is_watertight;                  /* there are faces, and every edge has two */
    bool is_winding_consistent;          /* no two faces run along an edge in the same direction */
    splat_mesh_figure area;              /* areas of the faces */
    splat_mesh_figure aspect;            /* 4 sqrt(3) area / sum of squared sides: 1 is equilateral */
    splat_mesh_figure edge_length;       /* over the sides of faces: an inner edge counts twice */
    splat_mesh_figure valence;           /* edges at a used vertex; 6 is ideal inside */
    double edge_uniformity;              /* 1 - deviation / mean of edge_length */
    double normal_consistency;           /* mean cosine between neighbours */
    double surface_area, volume;         /* signed; it means something for closed meshes only */
    double low[3], high[3], diagonal;    /* bounding box */
    double box_volume, box_aspect;       /* box_aspect: largest over smallest side; 0 when one is 0 */
    uint64_t file_bytes;
    int score;                           /* 0 to 100: watertight 20, no open edge 10, mean aspect > 0.6 20, no
                                            degenerate face 10, normal_consistency > 0.8 20, no flipped normal 10,
                                            edge_uniformity > 0.7 10; 0 without faces */
    const char *verdict;                 /* "EXCELLENT" from 90 on, "GOOD" 75, "FAIR" 60, "POOR" */
} splat_mesh_quality;

#define SPLAT_MESH_THRESHOLDS 8
#define SPLAT_MESH_SUBSETS 8
#define SPLAT_MESH_SUBSET_NAME 32

typedef struct splat_mesh_report_options {
    size_t size;
    const char *reference;   /* a mesh or points; NULL: no distances */
    size_t n_samples;        /* points drawn on the surface of the mesh, and of a reference with faces: 200,000 */
    uint64_t seed;
    double reference_margin; /* the mesh is compared inside the box of the reference, grown on every side by this part
                                of its diagonal: 0.02, as the largest of the usual thresholds; -1: all of the mesh */
    double thresholds[SPLAT_MESH_THRESHOLDS]; /* scene units */
    size_t n_thresholds;     /* 0: 0.005, 0.01, 0.02 and 0.05 where points have subsets, as those of splat_sample_write;
                                else 0.25, 0.5, 1 and 2 % of the diagonal of the reference */
    const char *reference_points; /* points that a mesh ought to reach, such as those that the photos show: completeness
                                     is theirs, precision stays the reference's; NULL: the reference's own */
    bool scan; /* also a virtual scan, with the photos' cameras in sparse/0 next to the reference, which has faces */
} splat_mesh_report_options;

/* Points of the reference that are counted apart: the property `subset` of a PLY. */
typedef struct splat_mesh_subset {
    char name[SPLAT_MESH_SUBSET_NAME];
    size_t n;              /* points */
    double to_mesh_median;
    double completeness[SPLAT_MESH_THRESHOLDS];
} splat_mesh_subset;

/* Exact distances from points of one side to the faces of the other (to its points when it has no faces). Points are
 * drawn evenly by area with the seed; a reference without faces, and a list of points next to it, give their own.
 * Points of the mesh count if they lie inside the box of the reference, grown by the margin. */
typedef struct splat_mesh_distances {
    size_t n_mesh_samples, n_reference_samples;
    double mesh_samples_per_area;        /* density, per squared scene unit */
    double reference_diagonal;
    double reference_margin;             /* scene units; -1: the whole mesh was compared */
    double mesh_part;                    /* part of the mesh's area that was compared */
    double to_reference_mean, to_reference_rms, to_reference_max, to_reference_p95; /* accuracy */
    double to_mesh_mean, to_mesh_rms, to_mesh_max, to_mesh_p95;                     /* completeness */
    double chamfer;                      /* the mean of the two means */
    size_t n_thresholds;
    double thresholds[SPLAT_MESH_THRESHOLDS];
    double precision[SPLAT_MESH_THRESHOLDS];    /* part of the mesh at most so far from the reference */
    double completeness[SPLAT_MESH_THRESHOLDS]; /* part of the reference at most so far from the mesh */
    double f_score[SPLAT_MESH_THRESHOLDS];      /* their harmonic mean */
    double to_reference_median, to_mesh_median;
    size_t n_subsets;                    /* those that have points */
    splat_mesh_subset subsets[SPLAT_MESH_SUBSETS];
} splat_mesh_distances;

enum { SPLAT_SCAN_FOOTPRINTS = 3 };

/* Parts of the rays of a scan. t: the distance of the first surface. A ray is right if both t differ by less than the
 * threshold / max(0.2, cos), cos between ray and true surface. */
typedef struct splat_mesh_scan_row {
    double threshold; /* scene units, or footprints of a photo's pixel */
    double precision; /* right, of the rays that meet the mesh */
    double recall;    /* right, of the rays that meet a truth that 3 photos see */
    double f_score;   /* their harmonic mean */
    double invented;  /* the mesh is nearer by 5 thresholds, of all rays */
    double hole;      /* it is farther by 5 thresholds or absent, of the rays that meet a truth that 3 photos see */
} splat_mesh_scan_row;

/* A truth farther than 4 median depths is the background: rows leave it out, and what the mesh has behind that. */
typedef struct splat_mesh_scan {
    size_t n_views;      /* 0: no scan */
    size_t n_rays, n_near, n_seen; /* all; that meet the near truth; and that 3 photos see */
    size_t n_mesh;       /* rays that meet the mesh */
    size_t n_far, n_sky; /* rays to the background, and to nothing */
    double near_limit;   /* scene units */
    double far_recall;   /* part of the background whose t is right to 2 % */
    double sky_covered;  /* part of the rays to nothing that meet the mesh */
    size_t n_rows;
    splat_mesh_scan_row rows[SPLAT_MESH_THRESHOLDS];        /* at the thresholds of the distances */
    splat_mesh_scan_row footprints[SPLAT_SCAN_FOOTPRINTS];  /* at 1, 2 and 4 footprints */
} splat_mesh_scan;

#define SPLAT_MESH_PAGES 256

/* All 0 for a mesh without texture coordinates. */
typedef struct splat_mesh_texture {
    bool has_coordinates;
    size_t n_pages;       /* 0 with coordinates: the pictures are not there */
    int page_sizes[SPLAT_MESH_PAGES][2]; /* width, height */
    uint64_t n_texels;    /* texels of all pages */
    double used;          /* share of the texels that faces lie on; those that several faces show count each time */
    double texel_density; /* texels of faces a unit of length: sqrt(their texels / their area) */
} splat_mesh_texture;

typedef struct splat_mesh_report {
    char file[512], reference[512];      /* reference "": none, and distances are all 0 */
    char reference_points[512];          /* "": no list of points next to the reference */
    splat_mesh_quality quality;
    splat_mesh_distances distances;
    uint64_t seed;
    splat_mesh_texture texture;
    splat_mesh_scan scan;
} splat_mesh_report;

#endif
