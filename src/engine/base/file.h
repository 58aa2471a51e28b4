/* Files: whole reads, atomic writes, folders. Paths are UTF-8 byte strings. */
#ifndef SPLAT_BASE_FILE_H
#define SPLAT_BASE_FILE_H

#include "base/error.h"

#include <stdio.h>

/* Opens a file for reading, and gives its size. What is not a regular file (a folder, a device, a FIFO, whose reader
 * would wait for ever) is an IO error; every input is opened by one of these. The caller closes. */
splat_status splat_file_open(const char *path, int *descriptor, uint64_t *size, splat_error *error);
splat_status splat_file_open_stream(const char *path, FILE **stream, uint64_t *size, splat_error *error);
/* Reads a whole file into malloc'd memory; one NUL byte is appended beyond *size. The caller frees *data. */
splat_status splat_file_read(const char *path, uint8_t **data, size_t *size, splat_error *error);

/* An atomic save: everything is written to a temporary file in the same folder (NAME.tmp-XXXXXX); commit flushes it to
 * the disk, renames it over `path` and flushes the folder. Until commit, and when anything fails, the old file stays as
 * it was. What is no file (a device like /dev/null, a pipe) is written to in place and never replaced. A symbolic link
 * is followed: the file that it names is the one replaced, in that file's folder. A file that existed keeps its mode.
 * Not to be moved while it is open: the stream knows its address. */
typedef struct splat_save {
    FILE *stream;   /* write here; errors may be left to commit, which knows the reason of the first */
    char *path, *temporary; /* path: of the file, links followed */
    bool in_place;  /* there is no temporary */
    int descriptor; /* descriptor of the temporary file; -1: closed */
    int failure;    /* errno of the first write that failed; 0: none did */
} splat_save;

splat_status splat_save_open(splat_save *save, const char *path, splat_error *error);
/* On failure the temporary is removed. Either way the save is closed. */
splat_status splat_save_commit(splat_save *save, splat_error *error);
/* Gives the save up and removes the temporary. Harmless after commit. */
void splat_save_abort(splat_save *save);
/* Checks that an output can be written, before the work that makes it: its folder must exist. An existing file does not
 * change. */
splat_status splat_save_check(const char *path, splat_error *error);
/* The three steps for a buffer in memory. */
splat_status splat_file_write(const char *path, const void *data, size_t size, splat_error *error);

/* Puts the file at `from` to `to` as well: a hard link, or a copy where the file system has none. A file or a symbolic
 * link that was at `to` stays until then, and is replaced. Errors: IO, MEMORY. */
splat_status splat_file_share(const char *from, const char *to, splat_error *error);

/* IO, naming both figures, when the disk of the file `path` lacks room for `bytes` and a margin of 16 MiB. */
splat_status splat_disk_check(const char *path, uint64_t bytes, splat_error *error);
/* Deletes the temporaries that killed saves left in a folder; what cannot be deleted stays. No run may be saving there.
 * Returns how many went. */
size_t splat_temporaries_delete(const char *folder);

bool splat_path_exists(const char *path);
bool splat_path_is_folder(const char *path);
/* A symbolic link, whether or not there is something at its end. */
bool splat_path_is_link(const char *path);
/* mkdir -p. */
splat_status splat_folder_create(const char *path, splat_error *error);
/* The folder that a file is to lie in. */
splat_status splat_folder_create_for(const char *path, splat_error *error);
/* rm -r, never following links. Absent is fine. */
splat_status splat_folder_delete(const char *path, splat_error *error);
/* The names in a folder (files and folders, not . and ..), sorted by bytes; free with splat_names_free. */
splat_status splat_folder_list(const char *path, char ***names, size_t *n, splat_error *error);
void splat_names_free(char **names, size_t n);
/* printf into malloc'd memory; NULL when memory is exhausted. */
char *splat_format(const char *format, ...) SPLAT_PRINTF(1, 2);
/* A path as a word for another program, which takes it neither for an option nor for a URL (ffmpeg knows pipe:1):
 * a relative one begins with "./". malloc'd; NULL: memory is exhausted. */
char *splat_path_word(const char *path);
/* The word for the numbered files of a folder, `name` being ffmpeg's pattern ("%05d.jpg"): percent signs of the folder
 * are doubled. malloc'd; NULL: memory is exhausted. */
char *splat_pattern_word(const char *folder, const char *name);
/* The part after the last slash. */
const char *splat_basename(const char *path);
/* True when the name ends so (".json"), in this case of letters, with something before it. */
bool splat_name_ends_with(const char *name, const char *ending);
/* True when a relative name stays inside its folder: not empty, not absolute, no ".." part, no NUL or backslash. */
bool splat_name_is_inside(const char *name);

#endif
