/* The interface of the module splatsmith_mpi. Only this file is compiled with MPI's headers and linked with its
 * library, and it is opened only after a launcher started ranks. Plain C, without a symbol of the program. */
#ifndef SPLAT_DISTRIBUTED_MPI_MODULE_H
#define SPLAT_DISTRIBUTED_MPI_MODULE_H

#include "distributed/comm.h"

#define SPLAT_MPI_MODULE_VERSION 2
#define SPLAT_MPI_MODULE_SYMBOL "splat_mpi_module_table"

typedef enum splat_mpi_outcome {
    SPLAT_MPI_OK = 0,
    SPLAT_MPI_FAILED, /* a rank said that it failed */
    SPLAT_MPI_LOST,   /* a rank is gone without a word */
    SPLAT_MPI_ERROR   /* a call of MPI's was refused */
} splat_mpi_outcome;

/* rank: which one failed or is lost, -1: not known. After either every call has the same outcome. */
typedef struct splat_mpi_failure {
    int rank;
    char text[1600];
} splat_mpi_failure;

/* How the program follows the waits of an exchange. */
typedef struct splat_mpi_watch {
    const volatile sig_atomic_t *interrupted; /* as in splat_comm: ends waits of rank 0; other ranks pass it on */
    splat_comm_interruption *interrupt;       /* rank 0: filled once another rank was interrupted */
    double patience;                          /* rank 0: seconds; then late is called, at most once an exchange, */
    void (*late)(void *user, const char *who, int n_others, double seconds);
    void (*end_of_wait)(void *user, const char *who, double seconds); /* and this when the exchange is complete */
    void *user;
} splat_mpi_watch;

typedef struct splat_mpi_module {
    int version;
    /* MPI_Init, once. */
    splat_mpi_outcome (*open)(int *rank, int *size, splat_mpi_failure *failure);
    /* Those of splat_comm_functions. */
    splat_mpi_outcome (*exchange)(const splat_comm_part *send, const splat_comm_part *receive,
                                  const splat_mpi_watch *watch, splat_mpi_failure *failure);
    void (*listen)(const splat_mpi_watch *watch);
    void (*fail)(const char *text);
    /* MPI_Finalize, which waits for all ranks; nothing when one is lost. */
    void (*close)(void);
} splat_mpi_module;

#endif
