/* One writer in a folder. The lock is the kernel's (flock on the folder itself): it leaves no file, and ends with the
 * process that holds it, however that ends. */
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

splat_status splat_folder_lock(const char *folder, int *lock, splat_error *error)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) return splat_fail_errno(error, folder, "open the folder");
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return SPLAT_OK; /* a file system without locks is used without them */
    splat_folder_unlock(*lock);
    *lock = -1;
    return splat_fail_at(error, SPLAT_ERROR_IO, folder, SPLAT_NO_OFFSET,
                         "another run is at work in this folder; wait until it has ended, or name another folder");
}

void splat_folder_unlock(int lock)
{
    if (lock >= 0) close(lock);
}
