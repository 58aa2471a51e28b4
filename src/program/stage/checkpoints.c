/* The names of checkpoints in a model folder. */
#include "stage/checkpoints.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>

int splat_checkpoint_number(const char *name)
{
    int number, end = 0;
    return sscanf(name, "chkpnt%9d.splatsmith%n", &number, &end) == 1 && end && !name[end] ? number : -1;
}

int splat_checkpoint_newest(const char *folder)
{
    DIR *stream = opendir(folder);
    int newest = -1;
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (splat_checkpoint_number(entry->d_name) > newest) newest = splat_checkpoint_number(entry->d_name);
    if (stream) closedir(stream);
    return newest;
}
