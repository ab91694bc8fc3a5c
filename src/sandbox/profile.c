/* The kinds of sandboxes; see profile.h. */
#include "sandbox/profile.h"

#include "base/cleanup.h"
#include "sandbox/landlock.h"
#include "spawn/proto.h"

static const struct profile profiles[] = {
        [SPAWN_PROFILE_SNIPPET] =
                {
                        .room = ROOM_SNIPPET,
                        .memory_bytes = SANDBOX_MEMORY_BYTES,
                        .pids = SANDBOX_PIDS,
                        .cpu_percent = SANDBOX_CPU_PERCENT,
                        .file_bytes = 2 * SANDBOX_WORKDIR_BYTES, /* a sparse file of a terabyte */
                        .keeper = true,
                        .landlock = landlock_confine_snippet,
                        .filter = SECCOMP_SNIPPET,
                        .timeout_max_ms = SPAWN_TIMEOUT_MAX_MS,
                        .session = true,
                        .ready_fds = SPAWN_SNIPPET_FDS,
                },
};

const struct profile *profile_find(uint32_t number) {
        return number < ARRAY_SIZE(profiles) && profiles[number].memory_bytes ? &profiles[number] : NULL;
}
