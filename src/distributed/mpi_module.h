/* What the module splatsmith_mpi offers: the one file that is compiled with MPI's headers and linked with its library,
 * and opened only where ranks were launched. Plain C, without a symbol of the program. */
#ifndef SPLAT_DISTRIBUTED_MPI_MODULE_H
#define SPLAT_DISTRIBUTED_MPI_MODULE_H

#include "distributed/comm.h"

#define SPLAT_MPI_MODULE_VERSION 1
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

typedef struct splat_mpi_module {
    int version;
    /* MPI_Init, once. */
    splat_mpi_outcome (*open)(int *rank, int *size, splat_mpi_failure *failure);
    /* splat_comm_functions.exchange. *interrupted: the process was asked to end; of rank 0 the waits end soon then. */
    splat_mpi_outcome (*exchange)(const splat_comm_part *send, const splat_comm_part *receive,
                                  const volatile sig_atomic_t *interrupted, splat_mpi_failure *failure);
    void (*fail)(const char *text);
    /* MPI_Finalize, which waits for all ranks; nothing when one is lost. */
    void (*close)(void);
} splat_mpi_module;

#endif
