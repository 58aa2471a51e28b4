/* Memory profiles: finding and reading them. */
#ifndef SPLAT_REPORT_PROFILE_READ_H
#define SPLAT_REPORT_PROFILE_READ_H

#include "report/profile/profile.h"

/* The newest profile (profiles/tensor_profile_<time>.jsonl) of a run: `run` is a model folder, such a file, or
 * "latest", the newest in `folder`, its folders and theirs. path[size] receives it. Errors: IO (there is none),
 * ARGUMENT. */
splat_status splat_profile_find(const char *run, const char *folder, char *path, size_t size, splat_error *error);
/* Reads and judges a profile; free it with splat_profile_free. Errors: IO, FORMAT (with the line), UNSUPPORTED,
 * MEMORY. */
splat_status splat_profile_read(const char *path, splat_profile **profile, splat_error *error);
void splat_profile_free(splat_profile *profile);

#endif
