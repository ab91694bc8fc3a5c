/*
 * SIGHUP: reads the settings again and hands what can change to the api process, which cannot read them any more.
 *
 * Runs in the spawner. The settings come from the operator, as at the start; numbers go on, and nothing else. For the
 * rules of the network there is a new egress process.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config_reload.h"
#include "base/log.h"
#include "spawner/egress.h"

static void say_change(void *data, const char *name, int64_t from, int64_t to) {
        (void)data;
        log_info("a setting was changed", "setting", name, "from", log_num(from), "to", log_num(to));
}

static void say_rule(void *data, const char *name, const char *from, const char *to) {
        (void)data;
        log_info("a setting was changed", "setting", name, "from", from, "to", to);
}

static void say_pending(void *data, const char *name) {
        (void)data;
        log_warning("a changed setting waits for a restart", "setting", name);
}

static int send_numbers(struct spawner *spawner, const struct config_numbers *numbers) {
        const struct spawn_message message = {.type = SPAWN_SETTINGS, .max_sandboxes = spawner->sandbox_max};
        CLEANUP_CLOSE int fd = memfd_create("settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0 || write(fd, numbers, sizeof(*numbers)) != (ssize_t)sizeof(*numbers) ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return -errno;
        return service_send(spawner, &message, &fd, 1);
}

void reload_on_signal(void *data, int signal_number) {
        struct spawner *spawner = data;
        struct config fresh;
        struct config_numbers numbers;
        struct err e = {0};
        (void)signal_number;
        if (spawner->stopping)
                return;
        if (config_load(&fresh, &e) < 0) {
                log_error("the settings are not good; nothing was changed", "why", e.message);
                return;
        }
        config_each_pending(&spawner->config, &fresh, say_pending, NULL);
        config_numbers_of(&fresh, &numbers);
        if (config_take_egress(&spawner->config, &fresh, say_rule, NULL) && egress_renew(spawner, &e) < 0)
                log_error("the network's changed settings are not in force", "why", e.message);
        config_deinit(&fresh);
        int r = config_numbers_take(&spawner->config, &numbers, say_change, NULL);
        spawner_allow_sandboxes(spawner);
        if (r == 0)
                r = send_numbers(spawner, &numbers);
        if (r < 0)
                log_error("changed settings could not be handed on", "error", log_errno(r));
        log_init("spawner", config_log_level(&spawner->config));
        log_info("the settings were read again");
}
