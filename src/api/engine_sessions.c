/*
 * Sandboxes that outlive a run: what sessions ask of the engine, and what the engine tells them.
 *
 * Runs in the api process. The first call of a session goes through the queue and takes a sandbox from the pool as any run
 * does. Later calls go straight to the sandbox that is theirs: there are at most SANDBOX_MAX_SESSIONS of them at a time.
 */
#include "api/api.h"
#include "api/engine_private.h"
#include "base/cleanup.h"
#include "session/session.h"

void engine_call(struct engine_sandbox *sandbox, struct run *run) {
        int fds[SPAWN_READY_FDS];
        for (int i = 0; i < SPAWN_READY_FDS; i++)
                fds[i] = take_fd(&sandbox->fds[i]);
        sandbox->run = run;
        run_lease(run, sandbox->id, fds);
}

void engine_renew(struct engine *engine, struct engine_sandbox *sandbox) {
        sandbox->renewal = ++engine->next_request;
        spawn_renew(engine->client, sandbox->renewal, sandbox->id);
}

void engine_end(struct engine *engine, struct engine_sandbox *sandbox) {
        spawn_kill(engine->client, sandbox->id, SPAWN_END_RETIRED);
}

void engine_let_go(struct engine *engine, struct engine_sandbox *sandbox) {
        if (sandbox->room_kept)
                spawn_kill(engine->client, sandbox->id, SPAWN_END_RETIRED);
        sandbox->session = NULL;
        pool_gone(&engine->pool, &sandbox->member, clock_now_ns());
        engine_drop_sandbox(engine, sandbox);
}

/* A session's call has ended, in whatever way: its place among the running is free. */
static void release_place(struct engine *engine, struct engine_sandbox *sandbox) {
        if (!sandbox->admitted)
                return;
        sandbox->admitted = false;
        admission_release(&engine->admission, clock_now_ns() - sandbox->leased_ns);
}

bool engine_sessions_exited(struct engine *engine, struct engine_sandbox *sandbox, const struct spawn_exit *end) {
        if (!sandbox->session)
                return false;
        struct run *run = sandbox->run;
        sandbox->run = NULL;
        sandbox->room_kept = end->room_kept;
        release_place(engine, sandbox);
        session_exited(sandbox->session, end); /* before the reply, which says so */
        if (run)
                run_sandbox_gone(run, end);
        engine_tidy_soon(engine);
        return true;
}

static struct engine_sandbox *find_renewal(struct engine *engine, uint64_t request) {
        struct engine_sandbox *sandbox = engine->sandboxes;
        while (sandbox && sandbox->renewal != request)
                sandbox = sandbox->next;
        return sandbox;
}

bool engine_sessions_ready(struct engine *engine, uint64_t request, struct sandbox_id id, const int *fds) {
        struct engine_sandbox *sandbox = find_renewal(engine, request);
        if (!sandbox)
                return false;
        sandbox->renewal = 0;
        sandbox->room_kept = false;
        sandbox->id = id;
        for (int i = 0; i < SPAWN_RENEWED_FDS; i++) {
                close_fd(&sandbox->fds[i]);
                sandbox->fds[i] = fds[i];
        }
        session_renewed(sandbox->session);
        return true;
}

bool engine_sessions_failed(struct engine *engine, uint64_t request) {
        struct engine_sandbox *sandbox = find_renewal(engine, request);
        if (!sandbox)
                return false;
        struct session *session = sandbox->session;
        sandbox->session = NULL;
        pool_gone(&engine->pool, &sandbox->member, clock_now_ns());
        engine_drop_sandbox(engine, sandbox);
        session_renew_failed(session);
        return true;
}

void engine_sessions_rested(void *data, struct sandbox_id id, uint64_t cpu_us, uint64_t memory_peak) {
        struct engine *engine = data;
        struct engine_sandbox *sandbox = engine_find_sandbox(engine, id);
        if (sandbox && sandbox->run)
                run_rested(sandbox->run, cpu_us, memory_peak);
}

void engine_sessions_call_finished(struct engine *engine, struct run *run) {
        struct session *session = run->session;
        if (!session)
                return;
        if (session->sandbox && session->sandbox->run == run) { /* it is alive, and at rest */
                session->sandbox->run = NULL;
                release_place(engine, session->sandbox);
        }
        session_call_finished(session, run);
}
