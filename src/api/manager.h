/*
 * What the service tells the system's service manager (systemd, or whatever speaks sd_notify(3)): that it serves, that
 * it is alive, that it stops. And the listening socket that such a manager may have opened.
 *
 * Runs in the api process, which alone knows whether requests are answered. The manager is trusted; it is known by
 * NOTIFY_SOCKET and WATCHDOG_USEC in the environment.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct api;
struct manager;

/* Where the manager listens, and how often it wants to hear; read and connected to before the process jails itself. */
struct manager_link {
        int fd;               /* -1: there is no manager */
        uint64_t watchdog_ns; /* 0: it does not watch */
};

/* 0 or a negative errno: an address was given that cannot be reached. */
int manager_connect(struct manager_link *ret, struct err *e);

/* Before there can be news of the engine; `link` is taken over. 0 or a negative errno. */
int manager_new(struct api *api, struct manager_link *link, struct manager **ret);
void manager_free(struct manager *manager);
/* There is news of the engine: says that the service is ready, the first time that it is. NULL-safe. */
void manager_look(struct manager *manager);
/* NULL-safe. */
void manager_say_stopping(struct manager *manager);
