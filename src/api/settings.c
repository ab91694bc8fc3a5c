/* Settings that change while the service runs; see settings.h. */
#include "api/settings.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/auth.h"
#include "api/engine.h"
#include "base/config_reload.h"
#include "base/log.h"
#include "session/expiry.h"
#include "store/audit.h"

static void note_change(void *data, const char *name, int64_t from, int64_t to) {
        (void)from;
        json_object_set_new(data, name, json_integer(to));
}

/* Those that somebody has made something of already; all others are looked up when they are needed. */
static void apply(struct api *api) {
        log_init("api", config_log_level(api->config));
        auth_set_rate(api->auth);
        engine_set_limits(api->engine);
        expiry_set_interval(api->expiry);
        store_audit_limit(api->store, (uint64_t)api->config->audit_max_bytes);
}

void settings_take(struct api *api, int fd) {
        struct config_numbers numbers;
        json_t *changes = json_object();
        int r = pread(fd, &numbers, sizeof(numbers), 0) == (ssize_t)sizeof(numbers) ? 0 : -EIO;
        if (r == 0)
                r = config_numbers_take(api->settings, &numbers, note_change, changes);
        if (r < 0) {
                log_error("changed settings could not be taken over", "error", log_errno(r));
                json_decref(changes);
                return;
        }
        apply(api);
        log_info("changed settings are in force", "count", log_num((long long)json_object_size(changes)));
        audit_add(api, NULL, AUDIT_CONFIG_RELOAD, NULL, changes);
}
