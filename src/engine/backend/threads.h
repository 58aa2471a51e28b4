/* How many threads the process may use. */
#ifndef SPLAT_BACKEND_THREADS_H
#define SPLAT_BACKEND_THREADS_H

#define SPLAT_MAX_THREADS 1024

/* CPUs that this process may run on. */
int splat_usable_cpus(void);
/* `wanted` threads, or as many, at least one, as the system lets the process start beside those for photos. */
int splat_startable_threads(int wanted);

#endif
