/* The end of conversations; see expiry.h. */
#include "session/expiry.h"

#include <errno.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/conversation_events.h"
#include "api/execute.h"
#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "session/sessions.h"
#include "store/conversations.h"

#define AT_A_TIME 16
#define LOOK_MAX_NS (60 * NS_PER_S)
#define LOOK_MIN_NS (500 * NS_PER_MS)

struct expiry {
        struct api *api;
        struct loop_source *timer;
        struct store_idle batch[AT_A_TIME];
        size_t under_way;
        bool more; /* the batch was full */
};

struct one {
        struct expiry *expiry;
        struct store_idle idle;
};

static void look_again(struct expiry *expiry, uint64_t delay_ns);

static uint64_t interval_ns(const struct expiry *expiry) {
        uint64_t tenth = (uint64_t)expiry->api->config->conversation_ttl_s * NS_PER_S / 10;
        return tenth > LOOK_MAX_NS ? LOOK_MAX_NS : tenth < LOOK_MIN_NS ? LOOK_MIN_NS : tenth;
}

static void on_expired(void *data, int result) {
        struct one *one = data;
        struct expiry *expiry = one->expiry;
        if (result == 0) {
                log_info("a conversation expired", "conversation", one->idle.name);
                sessions_end(expiry->api->sessions, one->idle.project_id, one->idle.name, SESSION_LOSS_DELETED);
                conversation_events_end(expiry->api->events, one->idle.project_id, one->idle.name);
        }
        free(one);
        if (--expiry->under_way == 0)
                look_again(expiry, expiry->more ? 0 : interval_ns(expiry));
}

static bool is_in_use(const struct expiry *expiry, const struct store_idle *idle) {
        return sessions_has(expiry->api->sessions, idle->project_id, idle->name) ||
               execute_is_running(expiry->api, idle->project_id, idle->name);
}

static void expire(struct expiry *expiry, const struct store_idle *idle) {
        struct one *one = malloc(sizeof(*one));
        if (!one)
                return;
        *one = (struct one){expiry, *idle};
        expiry->under_way++;
        if (store_conversation_expire(expiry->api->store, &one->idle, on_expired, one) < 0) {
                expiry->under_way--;
                free(one);
        }
}

static void on_look(void *data) {
        struct expiry *expiry = data;
        expiry->timer = NULL;
        int64_t before_ms = clock_wall_ms() - expiry->api->config->conversation_ttl_s * 1000;
        int count = store_conversation_idle(expiry->api->store, before_ms, expiry->batch, AT_A_TIME);
        size_t begun = 0;
        for (int i = 0; i < count; i++) {
                if (is_in_use(expiry, &expiry->batch[i]))
                        continue;
                begun++;
                expire(expiry, &expiry->batch[i]);
        }
        /* A batch full of conversations in use would come again at once: those wait for the next turn. */
        expiry->more = count == AT_A_TIME && begun > 0;
        if (expiry->under_way == 0)
                look_again(expiry, interval_ns(expiry));
}

static void look_again(struct expiry *expiry, uint64_t delay_ns) {
        if (expiry->api->draining)
                return;
        if (loop_add_timer(expiry->api->loop, delay_ns, on_look, expiry, &expiry->timer) < 0)
                log_error("conversations do not expire any more: no memory for a timer");
}

int expiry_new(struct api *api, struct expiry **ret) {
        struct expiry *expiry = calloc(1, sizeof(*expiry));
        if (!expiry)
                return -ENOMEM;
        expiry->api = api;
        look_again(expiry, LOOK_MIN_NS);
        *ret = expiry;
        return 0;
}

void expiry_set_interval(struct expiry *expiry) {
        if (expiry->under_way > 0)
                return;
        loop_remove(expiry->api->loop, &expiry->timer);
        look_again(expiry, LOOK_MIN_NS);
}

void expiry_free(struct expiry *expiry) {
        if (!expiry)
                return;
        loop_remove(expiry->api->loop, &expiry->timer);
        free(expiry);
}
