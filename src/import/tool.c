/* Runs one of the host's tools and watches it; see tool.h. */
#include "import/tool.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define WATCH_MS_MIN 200
#define WATCH_SHARE 4 /* the watcher looks for at most a fifth of the time */
#define OUTPUT_KEPT 8192

/* Nothing of the room's own environment: the tools take their settings from here alone, and work in this folder. */
static int start(const struct tool *tool, int output, pid_t *ret) {
        char work[PATH_MAX], home[PATH_MAX + 8], scratch[PATH_MAX + 8];
        char *const environment[] = {
                (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LANG=C.UTF-8", home, scratch,
                (char *)"CONTAINERS_REGISTRIES_CONF=/dev/null", NULL,
        };
        posix_spawn_file_actions_t actions;
        if (!getcwd(work, sizeof(work)))
                return -errno;
        snprintf(home, sizeof(home), "HOME=%s", work);
        snprintf(scratch, sizeof(scratch), "TMPDIR=%s", work);
        int r = -posix_spawn_file_actions_init(&actions);
        if (r < 0)
                return r;
        r = -posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        for (int fd = 1; r == 0 && fd <= 2; fd++)
                r = -posix_spawn_file_actions_adddup2(&actions, output, fd);
        if (r == 0)
                r = -posix_spawnp(ret, tool->arguments[0], &actions, NULL, (char *const *)tool->arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
        return r;
}

static int elapsed_ms(const struct timespec *since) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int)((now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000);
}

/* Keeps the end of what is printed. False at the end of it. */
static bool keep_output(int output, char *kept, size_t *length) {
        char piece[OUTPUT_KEPT / 2];
        ssize_t got = read(output, piece, sizeof(piece));
        if (got <= 0)
                return got < 0 && errno == EINTR;
        if (*length + (size_t)got > OUTPUT_KEPT) {
                size_t surplus = *length + (size_t)got - OUTPUT_KEPT;
                memmove(kept, kept + surplus, *length - surplus);
                *length -= surplus;
        }
        memcpy(kept + *length, piece, (size_t)got);
        *length += (size_t)got;
        return true;
}

/* Until its output is at its end, or the watcher has had enough. */
static int follow(const struct tool *tool, int output, char *kept, size_t *length, struct err *e) {
        struct timespec looked;
        int pause = WATCH_MS_MIN;
        clock_gettime(CLOCK_MONOTONIC, &looked);
        for (;;) {
                struct pollfd ready = {.fd = output, .events = POLLIN};
                int left = tool->watch ? pause - elapsed_ms(&looked) : 1000;
                if (poll(&ready, 1, left > 0 ? left : 0) > 0 && !keep_output(output, kept, length))
                        return 0;
                if (!tool->watch || elapsed_ms(&looked) < pause)
                        continue;
                clock_gettime(CLOCK_MONOTONIC, &looked);
                int r = tool->watch(tool->data, e);
                if (r != 0)
                        return r;
                int took = elapsed_ms(&looked);
                pause = took * WATCH_SHARE > WATCH_MS_MIN ? took * WATCH_SHARE : WATCH_MS_MIN;
                clock_gettime(CLOCK_MONOTONIC, &looked);
        }
}

/* The last line that is not empty; of `level=fatal msg="…"`, as skopeo writes, what is between the quotes. */
static void last_words(const char *kept, size_t length, char said[TOOL_SAID_MAX]) {
        while (length > 0 && isspace((unsigned char)kept[length - 1]))
                length--;
        size_t begin = length;
        while (begin > 0 && kept[begin - 1] != '\n' && kept[begin - 1] != '\r')
                begin--;
        static const char marker[] = " msg=\"";
        const char *quoted = memmem(kept + begin, length - begin, marker, sizeof(marker) - 1);
        if (quoted) {
                begin = (size_t)(quoted - kept) + sizeof(marker) - 1;
                length -= kept[length - 1] == '"';
        }
        size_t used = 0;
        for (size_t i = begin; i < length && used + 1 < TOOL_SAID_MAX; i++) {
                if (kept[i] == '\\' && i + 1 < length && kept[i + 1] == '"')
                        continue;
                if (isascii((unsigned char)kept[i]) && isprint((unsigned char)kept[i]))
                        said[used++] = kept[i];
        }
        said[used] = '\0';
}

static int end_of(pid_t pid) {
        int status;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

int tool_run(const struct tool *tool, char said[TOOL_SAID_MAX], struct err *e) {
        int pair[2];
        pid_t pid;
        char kept[OUTPUT_KEPT];
        size_t length = 0;
        said[0] = '\0';
        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        CLEANUP_CLOSE int output = pair[0];
        int r = start(tool, pair[1], &pid);
        close(pair[1]);
        if (r < 0) {
                strcpy(said, "the program is missing on the host");
                return r;
        }
        r = follow(tool, output, kept, &length, e);
        if (r != 0)
                kill(pid, SIGKILL);
        int ended = end_of(pid);
        last_words(kept, length, said);
        return r != 0 ? r : ended;
}
