/* splatsmith mesh-report: the figures of a mesh, and how far it is from the truth. */
#include "cli.h"
#include "progress.h"
#include "mesh/measure/mesh_report.h"

#include <inttypes.h>
#include <stdlib.h>

/* "0.01,0.02": numbers with commas between. */
static bool read_thresholds(const char *text, splat_mesh_report_options *options)
{
    char *end;
    options->n_thresholds = 0;
    for (;; text = end + 1) {
        double value = strtod(text, &end);
        if (end == text || (*end != ',' && *end != '\0') || !(value > 0) ||
            options->n_thresholds == SPLAT_MESH_THRESHOLDS) {
            cli_error("--thresholds takes 1 to %d numbers above 0 with commas between, such as 0.01,0.02",
                      SPLAT_MESH_THRESHOLDS);
            return false;
        }
        options->thresholds[options->n_thresholds++] = value;
        if (!*end) return true;
    }
}

static const char *yes_no(bool value)
{
    return value ? "yes" : "no";
}

static void print_figure(const char *name, const splat_mesh_figure *figure)
{
    cli_say("  %-22s%.6g (from %.6g to %.6g, deviation %.6g)", name, figure->mean, figure->min, figure->max,
            figure->deviation);
}

static void print_topology(const splat_mesh_quality *q)
{
    cli_say("\nTopology");
    cli_say("  vertices              %zu (%zu duplicate, %zu in no face)", q->n_vertices, q->n_duplicate_vertices,
            q->n_isolated_vertices);
    cli_say("  faces                 %zu in %zu piece%s", q->n_faces, q->n_components, splat_plural(q->n_components));
    cli_say("  edges                 %zu (%zu open, %zu of more than two faces)", q->n_edges, q->n_boundary_edges,
            q->n_non_manifold_edges);
    cli_say("  watertight            %s", yes_no(q->is_watertight));
    cli_say("  consistent winding    %s", yes_no(q->is_winding_consistent));
    cli_say("  Euler characteristic  %" PRId64, q->euler_characteristic);
    print_figure("valence", &q->valence);
}

static void print_quality(const splat_mesh_quality *q)
{
    cli_say("\nTriangles");
    print_figure("area", &q->area);
    print_figure("aspect", &q->aspect);
    cli_say("  low quality           %zu (aspect below 0.3)", q->n_low_quality_faces);
    cli_say("  degenerate            %zu (area below 1e-10)", q->n_degenerate_faces);
    print_figure("edge length", &q->edge_length);
    cli_say("  edge uniformity       %.4f", q->edge_uniformity);
    cli_say("\nSurface");
    cli_say("  normal consistency    %.4f", q->normal_consistency);
    cli_say("  flipped normals       %zu", q->n_flipped_normals);
    cli_say("  degenerate normals    %zu", q->n_degenerate_normals);
    cli_say("\nGeometry");
    cli_say("  box                   %.6g x %.6g x %.6g, diagonal %.6g", q->high[0] - q->low[0], q->high[1] - q->low[1],
            q->high[2] - q->low[2], q->diagonal);
    cli_say("  area, volume          %.6g, %.6g%s", q->surface_area, q->volume,
            q->is_watertight ? "" : " (the surface is open: its volume means little)");
}

static void print_texture(const splat_mesh_texture *t)
{
    if (!t->has_coordinates) return;
    cli_say("\nTexture");
    if (t->n_pages == 0) {
        cli_say("  pages                 none: there are texture coordinates only");
        return;
    }
    for (size_t first = 0, i; first < t->n_pages; first = i) { /* pages of one size together */
        const int *size = t->page_sizes[first];
        for (i = first; i < t->n_pages && t->page_sizes[i][0] == size[0] && t->page_sizes[i][1] == size[1];) i++;
        cli_say("  %-22s%zu of %d x %d", first ? "" : "pages", i - first, size[0], size[1]);
    }
    cli_say("  used                  %.1f %% of the texels", 100 * t->used);
    cli_say("  density               %.6g texels a unit of length", t->texel_density);
}

/* A row of completeness at each threshold, below a row of thresholds. */
static void print_subset(const splat_mesh_distances *d, const splat_mesh_subset *subset, bool is_first)
{
    char head[16 * SPLAT_MESH_THRESHOLDS] = "", row[16 * SPLAT_MESH_THRESHOLDS] = "";
    for (size_t i = 0, n = 0, m = 0; i < d->n_thresholds; i++) {
        n += (size_t)snprintf(head + n, sizeof head - n, "  %8.6g", d->thresholds[i]);
        m += (size_t)snprintf(row + m, sizeof row - m, "  %8.4f", subset->completeness[i]);
    }
    if (is_first) cli_say("  completeness of     points  %s    median", head);
    cli_say("    %-14s%10zu  %s  %8.6g", subset->name, subset->n, row, subset->to_mesh_median);
}

static void print_distances(const splat_mesh_report *report)
{
    const splat_mesh_distances *d = &report->distances;
    cli_say("\nAgainst %s%s%s", report->reference, report->reference_points[0] ? " and the points " : "",
            report->reference_points);
    cli_say("  %zu points on the mesh (%.4g a squared unit, seed %" PRIu64 "), %zu of the reference", d->n_mesh_samples,
            d->mesh_samples_per_area, report->seed, d->n_reference_samples);
    if (d->mesh_part < 0.9995)
        cli_say("  %.1f %% of the mesh is compared: the rest lies more than %.4g outside of the reference's box "
                "(--reference_margin)", 100 * d->mesh_part, d->reference_margin);
    cli_say("  threshold    precision   completeness   F-score");
    for (size_t i = 0; i < d->n_thresholds; i++)
        cli_say("  %9.6g    %9.4f   %12.4f   %7.4f", d->thresholds[i], d->precision[i], d->completeness[i],
                d->f_score[i]);
    for (size_t i = 0; i < d->n_subsets; i++) print_subset(d, &d->subsets[i], i == 0);
    cli_say("                        median        95 %%         max         rms        mean");
    cli_say("  mesh to reference  %9.6g   %9.6g   %9.6g   %9.6g   %9.6g", d->to_reference_median, d->to_reference_p95,
            d->to_reference_max, d->to_reference_rms, d->to_reference_mean);
    cli_say("  reference to mesh  %9.6g   %9.6g   %9.6g   %9.6g   %9.6g", d->to_mesh_median, d->to_mesh_p95,
            d->to_mesh_max, d->to_mesh_rms, d->to_mesh_mean);
    cli_say("  Chamfer distance   %9.6g, %.3f %% of the diagonal", d->chamfer,
            d->reference_diagonal > 0 ? 100 * d->chamfer / d->reference_diagonal : 0);
}

static void print_scan_rows(const splat_mesh_scan_row *rows, size_t n, const char *unit)
{
    for (size_t i = 0; i < n; i++)
        cli_say("  %9.6g%-3s %9.4f   %9.4f   %7.4f   %8.4f   %8.4f", rows[i].threshold, unit, rows[i].precision,
                rows[i].recall, rows[i].f_score, rows[i].invented, rows[i].hole);
}

static void print_scan(const splat_mesh_scan *s)
{
    cli_say("\nVirtual scan: %zu rays of %zu cameras near the photos", s->n_rays, s->n_views);
    cli_say("  threshold    precision      recall   F-score   invented       hole");
    print_scan_rows(s->rows, s->n_rows, "");
    print_scan_rows(s->footprints, SPLAT_SCAN_FOOTPRINTS, " px");
    if (s->n_far) cli_say("  background (beyond %.4g): %.4f of it right to 2 %%", s->near_limit, s->far_recall);
    if (s->n_sky) cli_say("  sky: %.4f of it covered by the mesh", s->sky_covered);
}

/* Rooms and landscapes cannot be closed: points lost for open edges would say nothing of how good they are. */
static void print_score(const splat_mesh_quality *q)
{
    if (q->n_boundary_edges == 0) {
        cli_say("\nScore %d of 100: %s", q->score, q->verdict);
        return;
    }
    cli_say("\nThe mesh is open at %zu of %zu edges, as meshes of rooms and landscapes are: the score, which asks for "
            "closed surfaces, is left out", q->n_boundary_edges, q->n_edges);
}

static int write_files(const splat_line *line, const splat_mesh_report *report)
{
    splat_error error;
    if (line->mesh_report->json && splat_mesh_report_write(report, line->mesh_report->json, &error) != SPLAT_OK)
        return cli_report(&error);
    if (line->mesh_report->tensorboard && splat_mesh_report_write_tensorboard(report, line->mesh_report->tensorboard,
                                                                        line->mesh_report->step, &error) != SPLAT_OK)
        return cli_report(&error);
    return CLI_OK;
}

int cmd_mesh_report(splat_line *line)
{
    splat_mesh_report_options options = line->mesh_report->options;
    splat_context_options context_options = line->machine->context;
    splat_context *context;
    static splat_mesh_report report;
    splat_error error;
    if (!line->operand) {
        cli_error("name the mesh to measure");
        return CLI_USAGE;
    }
    if (line->mesh_report->thresholds && !read_thresholds(line->mesh_report->thresholds, &options)) return CLI_USAGE;
    context_options.backend = "cpu";
    context_options.log = cli_log;
    if (splat_context_create(&context_options, &context, &error) != SPLAT_OK) return cli_report(&error);
    splat_status status = splat_mesh_report_make(context, line->operand, &options, &report, &error);
    splat_context_destroy(context);
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("Mesh %s", report.file);
    print_topology(&report.quality);
    print_quality(&report.quality);
    print_texture(&report.texture);
    if (report.reference[0]) print_distances(&report);
    if (report.scan.n_views) print_scan(&report.scan);
    print_score(&report.quality);
    return write_files(line, &report);
}
