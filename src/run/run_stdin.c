/* Standard input of a snippet; see run_stdin.h. */
#include "run/run_stdin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

/* What the client sent cannot be executed where the kernel knows how to forbid it; older ones refuse the flag. */
static int memory_file(void) {
        static bool no_flag;
        int fd = no_flag ? -1 : memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
        if (fd < 0 && (no_flag || errno == EINVAL)) {
                no_flag = true;
                fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        }
        return fd < 0 ? -errno : fd;
}

static int prepared = -1;

static int make(const char *bytes, size_t length) {
        CLEANUP_CLOSE int fd = memory_file();
        if (fd < 0)
                return fd;
        for (size_t at = 0; at < length;) {
                /* pwrite(2) leaves the offset at 0. */
                ssize_t put = pwrite(fd, bytes + at, length - at, (off_t)at);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return -errno;
                at += (size_t)put;
        }
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                return -errno;
        return take_fd(&fd);
}

int run_stdin_new(const char *bytes, size_t length) {
        return length == 0 && prepared >= 0 ? take_fd(&prepared) : make(bytes, length);
}

void run_stdin_prepare(void) {
        if (prepared < 0)
                prepared = make(NULL, 0);
}
