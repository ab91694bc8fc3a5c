/* The system's service manager; see manager.h. */
#include "api/manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/api.h"
#include "api/engine.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"

#define NS_PER_US UINT64_C(1000)
#define WATCHDOG_SHARE 2 /* it hears twice as often as it wants to, as sd_watchdog_enabled(3) advises */

struct manager {
        struct api *api;
        struct manager_link link;
        bool said_ready;
        struct loop_source *timer; /* of the watchdog */
};

int manager_connect(struct manager_link *ret, struct err *e) {
        const char *path = getenv("NOTIFY_SOCKET"), *watchdog = getenv("WATCHDOG_USEC");
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        *ret = (struct manager_link){.fd = -1};
        if (!path)
                return 0;
        size_t length = strlen(path);
        if ((path[0] != '/' && path[0] != '@') || length >= sizeof(address.sun_path))
                return err_set_field(e, -EINVAL, "NOTIFY_SOCKET", "\"%s\" is not the address of a socket", path);
        memcpy(address.sun_path, path, length);
        if (path[0] == '@') /* of the abstract kind: unix(7) */
                address.sun_path[0] = '\0';

        CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '/'));
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) < 0)
                return err_set_field(e, -errno, "NOTIFY_SOCKET", "cannot reach the service manager at %s: %s", path,
                                     strerror(errno));
        ret->watchdog_ns = watchdog ? strtoull(watchdog, NULL, 10) * NS_PER_US : 0;
        ret->fd = take_fd(&fd);
        return 0;
}

/* One that does not read is no reason to stop serving. */
static void say(const struct manager *manager, const char *text) {
        if (send(manager->link.fd, text, strlen(text), MSG_NOSIGNAL) < 0)
                log_warning("the service manager does not listen", "error", log_errno(-errno));
}

static void on_watchdog(void *data) {
        struct manager *manager = data;
        uint64_t pause_ns = manager->link.watchdog_ns / WATCHDOG_SHARE;
        manager->timer = NULL;
        say(manager, "WATCHDOG=1");
        if (loop_add_timer(manager->api->loop, pause_ns, on_watchdog, manager, &manager->timer) < 0)
                log_error("the service manager will hear no more: there is no memory for a timer");
}

/* Ready is who would be told so at /readyz. The watchdog's clock does not run before. */
void manager_look(struct manager *manager) {
        if (!manager || manager->said_ready || !engine_is_ready(manager->api->engine))
                return;
        manager->said_ready = true;
        say(manager, "READY=1");
        if (manager->link.watchdog_ns > 0)
                on_watchdog(manager);
}

int manager_new(struct api *api, struct manager_link *link, struct manager **ret) {
        *ret = NULL;
        if (link->fd < 0)
                return 0;
        struct manager *manager = malloc(sizeof(*manager));
        if (!manager)
                return -ENOMEM;
        *manager = (struct manager){.api = api, .link = *link};
        link->fd = -1;
        *ret = manager;
        return 0;
}

void manager_free(struct manager *manager) {
        if (!manager)
                return;
        loop_remove(manager->api->loop, &manager->timer);
        close_fd(&manager->link.fd);
        free(manager);
}

void manager_say_stopping(struct manager *manager) {
        if (manager)
                say(manager, "STOPPING=1");
}
