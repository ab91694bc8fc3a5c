/*
 * Where the parts of the product are.
 *
 * Runs in the spawner, before anything else. From a build folder everything lies beside the program; installed, in
 * ../lib/code-sandbox. Trusts /proc/self/exe.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawner/spawner.h"

int paths_open_part(const struct spawner *spawner, const char *name, char *ret_path, size_t size) {
        static const char *const places[] = {"", "/../lib/code-sandbox"};
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                int used = snprintf(ret_path, size, "%s%s/%s", spawner->program_dir, places[i], name);
                if (used > 0 && (size_t)used < size && access(ret_path, R_OK) == 0)
                        return 0;
        }
        return -ENOENT;
}

int paths_find(struct spawner *spawner, struct err *e) {
        char program[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
        if (length < 0)
                return err_set(e, -errno, "cannot read /proc/self/exe: %s", strerror(errno));
        program[length] = '\0';
        snprintf(spawner->program_dir, sizeof(spawner->program_dir), "%s", dirname(program));
        return 0;
}
