/* Ctrl-C while a request is under way; see interrupt.h. */
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[ARRAY_SIZE(watched)];
static volatile sig_atomic_t caught;
static int notice_fd = -1;

static void on_signal(int number) {
        int saved = errno;
        uint64_t one = 1;
        if (!caught)
                caught = number;
        if (write(notice_fd, &one, sizeof(one)) < 0)
                errno = saved; /* `caught` alone will do */
        errno = saved;
}

int interrupt_watch(void) {
        caught = 0;
        notice_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (notice_fd < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
                /* No SA_RESTART: a write to a pipe that nobody empties must end too. */
                struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
                sigaction(watched[i], NULL, &before[i]);
                if (before[i].sa_handler != SIG_IGN)
                        sigaction(watched[i], &action, NULL);
        }
        return notice_fd;
}

void interrupt_unwatch(void) {
        for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
                sigaction(watched[i], &before[i], NULL);
        notice_fd = close_fd(&notice_fd);
}

int interrupt_caught(void) {
        return caught;
}
