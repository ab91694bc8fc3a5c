/*
 * The run engine: brings together the queue, the pool, the runs and the spawner; see engine.h.
 *
 * Runs in the api process. Decisions are made in sched/, a run drives itself in run/; this file carries news from one
 * to the other. Runs call back into it from the depth of their own callbacks, so what they ask for is only noted there;
 * what could free or restart a run happens in on_tidy, from the loop.
 */
#include "api/engine_private.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/metrics.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "session/session.h"

#define PARKED_MAX_NS (15 * 60 * NS_PER_S)
#define CREATING_MAX 8
#define BACKOFF_FIRST_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS (10 * NS_PER_S)
#define SETTLED_NS (1 * NS_PER_S)
#define QUIET_NS (20 * NS_PER_MS)
#define PREPARING_WAITS_NS (2 * NS_PER_MS) /* the answer to the run before is more urgent */
/* What requests may hold in memory while they wait, together. */
#define QUEUE_BYTES_MAX (UINT64_C(256) << 20)

#define CONTAINER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* The list of sandboxes. */

struct engine_sandbox *engine_find_sandbox(const struct engine *engine, struct sandbox_id id) {
        struct engine_sandbox *sandbox = engine->sandboxes;
        while (sandbox && (sandbox->making || !sandbox_id_equal(sandbox->id, id)))
                sandbox = sandbox->next;
        return sandbox;
}

static void close_descriptors(struct engine_sandbox *sandbox) {
        for (int i = 0; i < SPAWN_READY_FDS; i++)
                close_fd(&sandbox->fds[i]);
}

void engine_drop_sandbox(struct engine *engine, struct engine_sandbox *sandbox) {
        struct engine_sandbox **place = &engine->sandboxes;
        while (*place != sandbox)
                place = &(*place)->next;
        *place = sandbox->next;
        close_descriptors(sandbox);
        free(sandbox);
}

/* What runs ask for (struct run_host). */

static struct engine_sandbox *sandbox_of(struct engine *engine, const struct run *run) {
        struct engine_sandbox *sandbox = engine_find_sandbox(engine, run->sandbox);
        assert(sandbox && sandbox->run == run);
        return sandbox;
}

void engine_lease(struct engine_sandbox *sandbox, struct run *run) {
        int fds[SPAWN_READY_FDS];
        for (int i = 0; i < SPAWN_READY_FDS; i++)
                fds[i] = take_fd(&sandbox->fds[i]);
        sandbox->run = run;
        run_lease(run, sandbox->id, fds);
}

static void host_claim(void *data, struct run *run) {
        struct engine *engine = data;
        uint32_t flags = run->session ? SPAWN_CLAIM_SESSION : 0;
        spawn_claim(engine->client, run->sandbox, run->setup.request->timeout_ms, flags);
}

static void host_rest(void *data, struct run *run) {
        struct engine *engine = data;
        spawn_rest(engine->client, run->sandbox);
}

static void host_overflow(void *data, struct run *run) {
        struct engine *engine = data;
        spawn_kill(engine->client, run->sandbox, SPAWN_END_OUTPUT);
}

static void host_abandon(void *data, struct run *run) {
        struct engine *engine = data;
        struct engine_sandbox *sandbox = sandbox_of(engine, run);
        sandbox->run = NULL;
        if (sandbox->session)
                session_abandoned(sandbox->session, SESSION_LOSS_CANCELLED);
        spawn_kill(engine->client, run->sandbox, SPAWN_END_CANCELLED);
}

static void free_finished(struct engine *engine) {
        while (engine->finished) {
                struct run *run = engine->finished;
                engine->finished = run->next;
                engine_sessions_call_finished(engine, run);
                if (run->held)
                        run->let_go = true;
                else
                        run_free(run);
        }
}

static void on_prepare(void *data) {
        struct engine *engine = data;
        engine->preparing = NULL;
        run_prepare();
}

static void on_tidy(void *data) {
        struct engine *engine = data;
        engine->tidy = NULL;
        free_finished(engine);
        sessions_settle(engine->api->sessions);
        engine_pump(engine);
        if (!engine->preparing)
                loop_add_timer(engine->api->loop, PREPARING_WAITS_NS, on_prepare, engine, &engine->preparing);
        if (engine->draining && engine->runs == 0 && engine->drained) {
                void (*drained)(void *) = engine->drained;
                engine->drained = NULL;
                drained(engine->drained_data);
        }
}

static void tidy_in_a_round(struct engine *engine, loop_timer_fn call) {
        if (!engine->tidy && loop_add_timer(engine->api->loop, 0, call, engine, &engine->tidy) < 0)
                api_quit(engine->api, EXIT_FAILURE, "out of memory");
}

static void on_round_over(void *data) {
        struct engine *engine = data;
        engine->tidy = NULL;
        tidy_in_a_round(engine, on_tidy);
}

/* Not in this round of the loop but in the one after it: the first belongs to the reply, which then is on its way. */
void engine_tidy_soon(struct engine *engine) {
        tidy_in_a_round(engine, on_round_over);
}

static void host_requeue(void *data, struct run *run) {
        struct engine *engine = data;
        struct session *session = run->session;
        if (session)
                session_requeue(session, run);
        else if (run->kind == RUN_IMPORT)
                engine_calls_make(engine, run, false);
        else if (admission_return(&engine->admission, &run->ticket, run->setup.request->lane) < 0)
                run_refuse(run, RUN_REFUSED_MEMORY);
        engine_tidy_soon(engine);
}

static void host_finished(void *data, struct run *run) {
        struct engine *engine = data;
        admission_cancel(&engine->admission, &run->ticket);
        engine_calls_forget(engine, run);
        if (run->session)
                session_withdraw(run->session, run);
        run->next = engine->finished;
        engine->finished = run;
        engine->runs--;
        engine_tidy_soon(engine);
}

static const struct run_host host = {
        .claim = host_claim,
        .rest = host_rest,
        .overflow = host_overflow,
        .abandon = host_abandon,
        .requeue = host_requeue,
        .finished = host_finished,
};

/* From the queue to a sandbox. */

static void count_claim(struct engine *engine, const struct run *run, const struct engine_sandbox *sandbox) {
        bool warm = sandbox->member.parked_at_ns <= run->queued_ns;
        if (warm)
                engine->warm_claims++;
        else
                engine->cold_claims++;
        metrics_add(engine->api->metrics, METRIC_POOL_CLAIMS, 1, warm ? "warm" : "cold");
        metrics_observe_ns(engine->api->metrics, METRIC_QUEUE_SECONDS, sandbox->leased_ns - run->queued_ns);
}

/*
 * The room of a parked sandbox may be dying while nobody has told us yet. Its init and its interpreter hold the other
 * ends of these two, and have nothing to say before they are spoken to.
 */
static bool is_alive(const struct engine_sandbox *sandbox) {
        struct pollfd fds[] = {
                {.fd = sandbox->fds[SPAWN_FD_CLAIM], .events = POLLIN},
                {.fd = sandbox->fds[SPAWN_FD_WORK], .events = POLLIN},
        };
        return poll(fds, ARRAY_SIZE(fds), 0) == 0;
}

/* Takes a parked sandbox that is alive, or NULL. */
static struct engine_sandbox *lease(struct engine *engine, uint64_t now_ns) {
        struct pool_member *member;
        while ((member = pool_lease(&engine->pool, now_ns))) {
                struct engine_sandbox *sandbox = CONTAINER_OF(member, struct engine_sandbox, member);
                if (is_alive(sandbox))
                        return sandbox;
                pool_discard(&engine->pool, member);
                close_descriptors(sandbox);
                spawn_kill(engine->client, sandbox->id, SPAWN_END_RETIRED);
        }
        return NULL;
}

static void start(struct engine *engine, struct run *run, struct engine_sandbox *sandbox, uint64_t now_ns) {
        sandbox->session = run->session;
        sandbox->leased_ns = now_ns;
        sandbox->admitted = true;
        if (sandbox->session)
                session_leased(sandbox->session, run, sandbox);
        engine_lease(sandbox, run);
        count_claim(engine, run, sandbox);
}

/* The next in turn. If that one has to wait for the pool, one that does not. False: nothing can be done now. */
static bool hand_out_one(struct engine *engine) {
        struct admission *admission = &engine->admission;
        uint64_t now_ns = clock_now_ns();
        struct admission_ticket *ticket = admission_peek(admission);
        if (!ticket)
                return false;
        struct engine_sandbox *sandbox = ticket->cold ? NULL : lease(engine, now_ns);
        ticket = sandbox ? admission_next(admission) : admission_next_cold(admission);
        if (!ticket)
                return false;
        struct run *run = CONTAINER_OF(ticket, struct run, ticket);
        if (sandbox)
                start(engine, run, sandbox, now_ns);
        else
                engine_calls_make(engine, run, true);
        return true;
}

static void hand_out(struct engine *engine) {
        while (hand_out_one(engine))
                ;
}

static void refuse_expired(struct engine *engine, uint64_t now_ns) {
        struct admission_ticket *ticket;
        while ((ticket = admission_expired(&engine->admission, now_ns))) {
                metrics_add(engine->api->metrics, METRIC_QUEUE_REFUSED, 1, "waited");
                run_refuse(CONTAINER_OF(ticket, struct run, ticket), RUN_REFUSED_WAITED);
        }
}

static void resize_pool(struct engine *engine, uint64_t now_ns) {
        struct pool_member *member;
        while (pool_create_wanted(&engine->pool, admission_demand(&engine->admission), now_ns)) {
                pool_creating(&engine->pool);
                spawn_create(engine->client, ++engine->next_request, SPAWN_PROFILE_SNIPPET);
        }
        while ((member = pool_overdue(&engine->pool, now_ns))) {
                struct engine_sandbox *sandbox = CONTAINER_OF(member, struct engine_sandbox, member);
                spawn_kill(engine->client, sandbox->id, SPAWN_END_RETIRED);
                close_descriptors(sandbox);
        }
}

static void on_alarm(void *data) {
        struct engine *engine = data;
        engine->alarm = NULL;
        engine->alarm_ns = SCHED_NEVER;
        engine_pump(engine);
}

/* One timer serves everything that is due some time; one that rings too early does no harm and costs less than moving
 * it. */
static void set_alarm(struct engine *engine, uint64_t now_ns) {
        uint64_t queue = admission_next_ns(&engine->admission);
        uint64_t due = pool_next_ns(&engine->pool, admission_demand(&engine->admission), now_ns);
        due = queue < due ? queue : due;
        if (due >= engine->alarm_ns)
                return;
        loop_remove(engine->api->loop, &engine->alarm);
        engine->alarm_ns = due;
        if (loop_add_timer(engine->api->loop, due > now_ns ? due - now_ns : 0, on_alarm, engine, &engine->alarm) < 0)
                engine->alarm_ns = SCHED_NEVER; /* the next news of any kind will do */
}

/* Does whatever can be done now. Called after every piece of news. */
void engine_pump(struct engine *engine) {
        hand_out(engine);
        uint64_t now_ns = clock_now_ns();
        refuse_expired(engine, now_ns);
        resize_pool(engine, now_ns);
        set_alarm(engine, now_ns);
}

/* Making and ending it. */

static void list_libraries(struct engine *engine) {
        json_t *library;
        size_t i, used = 0;
        json_array_foreach(json_object_get(engine->api->environment, "libraries"), i, library) {
                const char *name = json_string_value(library);
                if (!name || used + strlen(name) + 3 > sizeof(engine->libraries))
                        continue;
                used += (size_t)snprintf(engine->libraries + used, sizeof(engine->libraries) - used, "%s%s",
                                         used > 0 ? ", " : "", name);
        }
        if (used == 0)
                snprintf(engine->libraries, sizeof(engine->libraries), "see GET /v1/environment");
}

static void set_limits(struct engine *engine) {
        const struct config *config = engine->api->config;
        pool_init(&engine->pool, &(struct pool_settings){
                                         .target = (uint32_t)config->warm_pool,
                                         .total_max = 0, /* until the spawner has greeted */
                                         .creating_max = CREATING_MAX,
                                         .age_max_ns = PARKED_MAX_NS,
                                         .backoff_first_ns = BACKOFF_FIRST_NS,
                                         .backoff_max_ns = BACKOFF_MAX_NS,
                                         .settled_ns = SETTLED_NS,
                                         .quiet_ns = QUIET_NS,
                                 });
        admission_init(&engine->admission, &(struct admission_settings){
                                                   .running_max = (uint32_t)config->max_concurrent,
                                                   .queue_max = (uint32_t)config->queue_max,
                                                   .bytes_max = QUEUE_BYTES_MAX,
                                                   .wait_max_ns = (uint64_t)config->queue_timeout_s * NS_PER_S,
                                           });
}

void engine_set_limits(struct engine *engine) {
        const struct config *config = engine->api->config;
        engine->pool.settings.target = (uint32_t)config->warm_pool;
        engine->pool.settings.total_max = engine->sandboxes_max;
        engine->admission.settings.running_max = (uint32_t)config->max_concurrent;
        engine->admission.settings.queue_max = (uint32_t)config->queue_max;
        engine->admission.settings.wait_max_ns = (uint64_t)config->queue_timeout_s * NS_PER_S;
        engine_pump(engine);
}

int engine_new(struct api *api, int spawner_fd, struct engine **ret) {
        struct engine *engine = calloc(1, sizeof(*engine));
        if (!engine) {
                close(spawner_fd);
                return -ENOMEM;
        }
        engine->api = api;
        engine->alarm_ns = SCHED_NEVER;
        set_limits(engine);
        list_libraries(engine);
        int r = spawn_client_new(api->loop, spawner_fd, &engine_spawn_handler, engine, &engine->client);
        if (r < 0) {
                engine_free(engine);
                return r;
        }
        *ret = engine;
        return 0;
}

void engine_free(struct engine *engine) {
        if (!engine)
                return;
        loop_remove(engine->api->loop, &engine->tidy);
        loop_remove(engine->api->loop, &engine->preparing);
        loop_remove(engine->api->loop, &engine->alarm);
        free_finished(engine);
        struct admission_ticket *ticket;
        while ((ticket = admission_expired(&engine->admission, SCHED_NEVER)))
                run_free(CONTAINER_OF(ticket, struct run, ticket));
        while (engine->sandboxes) {
                run_free(engine->sandboxes->run);
                engine_drop_sandbox(engine, engine->sandboxes);
        }
        spawn_client_free(engine->client);
        admission_deinit(&engine->admission);
        free(engine);
}

/* Runs, as their owners see it. */

struct run *engine_run_new(struct engine *engine, const struct run_request *request, const struct run_handler *handler,
                           void *data) {
        const struct config *config = engine->api->config;
        struct run *run = run_new(&(struct run_setup){
                .loop = engine->api->loop,
                .request = request,
                .limits = {(size_t)config->output_keep_bytes, (uint64_t)config->output_max_bytes},
                .handler = handler,
                .handler_data = data,
                .host = &host,
                .host_data = engine,
        });
        if (run)
                engine->runs++;
        return run;
}

void engine_run_submit(struct engine *engine, struct run *run) {
        struct admission_ticket *displaced;
        if (engine->draining) {
                run_refuse(run, RUN_REFUSED_STOPPING);
                return;
        }
        if (run->kind == RUN_IMPORT) { /* its number is bounded by those who ask for it */
                engine_calls_make(engine, run, false);
                return;
        }
        int (*enter)(struct admission *, struct admission_ticket *, const char *, uint64_t, uint64_t,
                     struct admission_ticket **) = run->kind == RUN_SNIPPET ? admission_enter : admission_enter_cold;
        int verdict = enter(&engine->admission, &run->ticket, run->setup.request->lane,
                            run->setup.request->memory_bytes, run->queued_ns, &displaced);
        if (displaced || verdict == ADMISSION_FULL)
                metrics_add(engine->api->metrics, METRIC_QUEUE_REFUSED, 1, "full");
        if (displaced)
                run_refuse(CONTAINER_OF(displaced, struct run, ticket), RUN_REFUSED_QUEUE_FULL);
        if (verdict == ADMISSION_WAITS)
                engine_pump(engine);
        else
                run_refuse(run, verdict == ADMISSION_FULL ? RUN_REFUSED_QUEUE_FULL : RUN_REFUSED_MEMORY);
}

void engine_run_hold(struct engine *engine, struct run *run) {
        run->held = true;
        pool_hold(&engine->pool, clock_now_ns());
}

void engine_run_release(struct engine *engine, struct run *run) {
        run->held = false;
        pool_release(&engine->pool, clock_now_ns());
        engine_tidy_soon(engine);
        if (run->let_go)
                run_free(run);
}

void engine_drain(struct engine *engine, void (*done)(void *data), void *data) {
        engine->draining = true;
        engine->drained = done;
        engine->drained_data = data;
        pool_stop(&engine->pool);
        sessions_stop(engine->api->sessions);
        struct admission_ticket *ticket;
        while ((ticket = admission_expired(&engine->admission, SCHED_NEVER)))
                run_refuse(CONTAINER_OF(ticket, struct run, ticket), RUN_REFUSED_STOPPING);
        engine_tidy_soon(engine);
}

uint32_t engine_retry_after_s(const struct engine *engine) {
        return admission_retry_after_s(&engine->admission);
}

const char *engine_libraries(const struct engine *engine) {
        return engine->libraries;
}
