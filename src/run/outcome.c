/* How a run ended; see outcome.h. */
#include "run/outcome.h"

#include <sys/wait.h>

#define EXIT_TIMEOUT (-1)
#define EXIT_KILLED 137 /* 128 + SIGKILL */

static struct outcome_of_run of_own_end(int wait_status) {
        if (WIFSIGNALED(wait_status))
                return (struct outcome_of_run){OUTCOME_ERROR, 128 + WTERMSIG(wait_status)};
        int exit_code = WEXITSTATUS(wait_status);
        return (struct outcome_of_run){exit_code == 0 ? OUTCOME_OK : OUTCOME_ERROR, exit_code};
}

struct outcome_of_run outcome_from(enum spawn_end reason, int wait_status, bool started) {
        switch (reason) {
        case SPAWN_END_EXIT:
                return of_own_end(wait_status);
        case SPAWN_END_TIMEOUT:
                return (struct outcome_of_run){OUTCOME_TIMEOUT, EXIT_TIMEOUT};
        case SPAWN_END_MEMORY:
                return (struct outcome_of_run){OUTCOME_OUT_OF_MEMORY, EXIT_KILLED};
        case SPAWN_END_OUTPUT:
                return (struct outcome_of_run){OUTCOME_OUTPUT_LIMIT, EXIT_KILLED};
        case SPAWN_END_CANCELLED:
        case SPAWN_END_RETIRED:
        case SPAWN_END_LOST:
                break;
        }
        return (struct outcome_of_run){started ? OUTCOME_KILLED : OUTCOME_INTERNAL, EXIT_KILLED};
}

const char *outcome_name(enum outcome outcome) {
        static const char *const names[OUTCOMES] = {
                [OUTCOME_OK] = "ok",
                [OUTCOME_ERROR] = "error",
                [OUTCOME_TIMEOUT] = "timeout",
                [OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
                [OUTCOME_OUTPUT_LIMIT] = "output_limit",
                [OUTCOME_KILLED] = "killed",
                [OUTCOME_INTERNAL] = "internal",
        };
        return outcome < OUTCOMES ? names[outcome] : "internal";
}

const char *outcome_limit(enum outcome outcome) {
        static const char *const limits[OUTCOMES] = {
                [OUTCOME_TIMEOUT] = "time",
                [OUTCOME_OUT_OF_MEMORY] = "memory",
                [OUTCOME_OUTPUT_LIMIT] = "output",
        };
        return outcome < OUTCOMES ? limits[outcome] : NULL;
}
