/* A request to end work early. */
#include "stage/stop.h"

#include "base/error.h"

#include <signal.h>
#include <stdlib.h>

splat_status splat_stop_create(splat_stop **stop, splat_error *error)
{
    *stop = calloc(1, sizeof **stop);
    return *stop ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
}

void splat_stop_destroy(splat_stop *stop)
{
    free(stop);
}

void splat_stop_request(splat_stop *stop, int number)
{
    splat_trainer *trainer = atomic_load(&stop->trainer);
    splat_comm *ranks = atomic_load(&stop->ranks);
    atomic_store(&stop->number, number ? number : SIGINT);
    if (ranks) splat_comm_interrupt_by(ranks, number ? number : SIGINT);
    if (trainer) splat_trainer_request_stop(trainer);
}

int splat_stop_number(const splat_stop *stop)
{
    return stop ? atomic_load(&stop->number) : 0;
}

void splat_stop_begin_training(splat_stop *stop, splat_trainer *trainer, splat_comm *ranks)
{
    if (!stop) return;
    atomic_store(&stop->ranks, ranks);
    atomic_store(&stop->trainer, trainer);
    atomic_store(&stop->work, SPLAT_STOP_TRAINING);
    if (atomic_load(&stop->number))
        splat_stop_request(stop, atomic_load(&stop->number)); /* before there was a trainer */
}

void splat_stop_begin_cameras(splat_stop *stop)
{
    if (stop) atomic_store(&stop->work, SPLAT_STOP_CAMERAS);
}

void splat_stop_end_work(splat_stop *stop)
{
    if (!stop) return;
    atomic_store(&stop->work, SPLAT_STOP_NOTHING);
    atomic_store(&stop->trainer, NULL);
    atomic_store(&stop->ranks, NULL);
}

int splat_stop_exit_code(const splat_stop *stop, splat_status status)
{
    const int number = splat_stop_number(stop);
    switch (status) {
    case SPLAT_OK: return 0;
    case SPLAT_ERROR_STOPPED: return 128 + (number ? number : SIGINT);
    case SPLAT_ERROR_ARGUMENT: return 2;
    case SPLAT_ERROR_CHECKPOINT: return 3;
    default: return 1;
    }
}
