/* The kinds of sandboxes; see profile.h. */
#include "sandbox/profile.h"

#include "base/cleanup.h"
#include "sandbox/landlock.h"
#include "spawn/proto.h"

/* What the import of an image has found, and this project's own runner; see src/call. */
static const char *const call_arguments[] = {"/.sandbox/python", "-I", "-B", "/opt/sandbox/run_tool.py", NULL};

/* See src/import, which sets the limit that the operator has chosen, below this one. */
static const char *const import_arguments[] = {"/opt/sandbox/sandbox-import", NULL};
#define IMPORT_FILE_BYTES (UINT64_C(2) << 40)

/* A call, and discovery, which is one without a network: what both have. */
#define OF_AN_AGENTS_IMAGE                                                                                             \
        .room = ROOM_CALL, .memory_bytes = CALL_MEMORY_BYTES, .pids = SANDBOX_PIDS, .cpu_percent = CALL_CPU_PERCENT,   \
        .own_image = true, .arguments = call_arguments, .file_bytes = 2 * SANDBOX_WORKDIR_BYTES,                       \
        .landlock = landlock_confine_call, .filter = SECCOMP_CALL, .timeout_max_ms = SPAWN_TIMEOUT_MAX_MS

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
        [SPAWN_PROFILE_CALL] =
                {
                        OF_AN_AGENTS_IMAGE,
                        .network = true,
                        .ready_fds = SPAWN_READY_FDS,
                },
        [SPAWN_PROFILE_DISCOVERY] =
                {
                        OF_AN_AGENTS_IMAGE,
                        .ready_fds = SPAWN_SNIPPET_FDS,
                },
        [SPAWN_PROFILE_IMPORT] =
                {
                        .room = ROOM_IMPORT,
                        .memory_bytes = CALL_MEMORY_BYTES,
                        .pids = SANDBOX_PIDS,
                        .cpu_percent = CALL_CPU_PERCENT,
                        .network = true,
                        .arguments = import_arguments,
                        .file_bytes = IMPORT_FILE_BYTES,
                        .landlock = landlock_confine_call,
                        .filter = SECCOMP_IMPORT,
                        .timeout_max_ms = SPAWN_IMPORT_TIMEOUT_MAX_MS,
                        .ready_fds = SPAWN_READY_FDS,
                },
};

const struct profile *profile_find(uint32_t number) {
        return number < ARRAY_SIZE(profiles) && profiles[number].memory_bytes ? &profiles[number] : NULL;
}
