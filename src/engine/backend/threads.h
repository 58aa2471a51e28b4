/* How many threads the process may use. */
#ifndef SPLAT_BACKEND_THREADS_H
#define SPLAT_BACKEND_THREADS_H

#define SPLAT_MAX_THREADS 1024

/* CPUs that this process may run on. */
int splat_usable_cpus(void);
/* Returns `requested`, or the number of threads, at least one, that the system lets the process start in addition to
 * those for photos. */
int splat_startable_threads(int requested);

#endif
