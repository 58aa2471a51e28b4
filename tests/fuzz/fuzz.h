/* Code shared by the fuzzers. Each defines LLVMFuzzerTestOneInput; run_one.sh starts it in a scratch folder of its own,
 * so inputs that are read from files are written to names in the current folder. */
#ifndef SPLAT_TESTS_FUZZ_H
#define SPLAT_TESTS_FUZZ_H

#include "base/error.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The input as a file. Not splat_file_write: its fsync and rename take longer than most parses. */
static inline void fuzz_file(const char *path, const void *data, size_t size)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size) abort();
    close(descriptor);
}

/* A parser takes its input or says in a sentence why not. It finds no fault with itself, and it does not ask for memory
 * that the size of its input cannot explain. */
static inline void fuzz_judge(splat_status status, const splat_error *error)
{
    if (getenv("SPLATSMITH_FUZZ_SAY")) puts(status == SPLAT_OK ? "accepted" : error->message); /* of one input */
    if (status == SPLAT_OK) return;
    if (status == SPLAT_ERROR_INTERNAL || status == SPLAT_ERROR_MEMORY || !error->message[0]) {
        fprintf(stderr, "an error that must not be: %s, \"%s\"\n", splat_status_name(status), error->message);
        abort();
    }
}

/* Setup of a fuzzer before its first input. */
static inline void fuzz_must(splat_status status, const splat_error *error)
{
    if (status == SPLAT_OK) return;
    fprintf(stderr, "cannot begin: %s (%s)\n", error->message, error->file);
    abort();
}

/* Reads what was parsed, so that a pointer into nothing is found. */
static inline void fuzz_touch(const void *data, size_t size)
{
    static volatile uint8_t sink;
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 64) sink = (uint8_t)(sink ^ bytes[i]);
    if (size) sink = (uint8_t)(sink ^ bytes[size - 1]);
}

#endif
