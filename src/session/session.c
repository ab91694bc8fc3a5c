/* One stateful session; see session.h for its states. */
#include "session/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/engine.h"
#include "api/engine_sandbox.h"
#include "base/cleanup.h"
#include "base/log.h"

/* ---- at rest */

static void on_idle(void *data) {
        struct session *session = data;
        session->idle_timer = NULL;
        session_end(session, SESSION_LOSS_IDLE);
}

/* Reads what nobody asked for: init must not block on the files of an interpreter that has died at rest. */
static void drop_pending(int fd) {
        static char scrap[64 << 10];
        while (fd >= 0 && recv(fd, scrap, sizeof(scrap), MSG_DONTWAIT) > 0)
                ;
}

static void on_work(void *data, int fd, uint32_t events) {
        struct session *session = data;
        (void)events;
        char byte;
        drop_pending(fd);
        if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_PEEK) == 0)
                loop_remove(session->loop, &session->work_source); /* the room is gone: on_exited says the same */
}

static void stop_resting(struct session *session) {
        loop_remove(session->loop, &session->idle_timer);
        loop_remove(session->loop, &session->work_source);
}

static void rest(struct session *session) {
        session->state = SESSION_RESTING;
        session->used_ns = clock_now_ns();
        if (loop_add_timer(session->loop, session->idle_ns, on_idle, session, &session->idle_timer) < 0 ||
            loop_add_fd(session->loop, session->sandbox->fds[SPAWN_FD_WORK], EPOLLIN, on_work, session,
                        &session->work_source) < 0)
                session_end(session, SESSION_LOSS_KILLED);
}

/* ---- calls */

static struct run *take_waiting(struct session *session) {
        struct run *run = session->waiting;
        session->waiting = run->next;
        if (!session->waiting)
                session->waiting_end = &session->waiting;
        run->next = NULL;
        session->waiting_count--;
        return run;
}

void session_withdraw(struct session *session, struct run *run) {
        struct run **place = &session->waiting;
        while (*place && *place != run)
                place = &(*place)->next;
        if (!*place)
                return;
        *place = run->next;
        if (!*place)
                session->waiting_end = place;
        run->next = NULL;
        session->waiting_count--;
}

static void begin_call(struct session *session) {
        session->calls++;
        session->calls_here++;
        session_note_write(&session->note, session, session->lost, session->restore);
        session->told = session->lost;
        session->lost = SESSION_LOSS_NONE;
}

/* The first call in a room of its own finds there what the conversation has kept. */
static void start(struct session *session) {
        struct run *run = session->running;
        session->state = SESSION_STARTING;
        session->new_room = true;
        restore_free(session->restore);
        if (restore_new(session->store, session->project_id, session->conversation, &session->restore) < 0)
                log_error("the files of a conversation cannot be restored", "conversation", session->conversation);
        if (session->restore && session->restore->count > 0)
                run_restore(run, &session->restore->batch);
        engine_run_submit(session->engine, run);
}

void session_next_call(struct session *session) {
        if (session->running || !session->waiting || session->ending || session->exited)
                return;
        if (session->state != SESSION_NEW && session->state != SESSION_RESTING)
                return;
        session->running = take_waiting(session);
        if (session->state == SESSION_NEW) {
                start(session);
                return;
        }
        stop_resting(session);
        session->state = SESSION_BUSY;
        begin_call(session);
        engine_call(session->sandbox, session->running);
}

static void on_waited(void *data) {
        struct session *session = data;
        uint64_t now_ns = clock_now_ns();
        session->wait_timer = NULL;
        for (struct run *run = session->waiting, *next; run; run = next) {
                next = run->next;
                if (now_ns - run->queued_ns >= session->wait_ns) {
                        session_withdraw(session, run);
                        run_refuse(run, RUN_REFUSED_WAITED);
                }
        }
        if (session->waiting)
                loop_add_timer(session->loop, session->wait_ns / 8, on_waited, session, &session->wait_timer);
}

void sessions_submit(struct session *session, struct run *run) {
        assert(run->session == session);
        if (sessions_are_stopping(session->all)) {
                run_refuse(run, RUN_REFUSED_STOPPING);
                return;
        }
        run->next = NULL;
        *session->waiting_end = run;
        session->waiting_end = &run->next;
        session->waiting_count++;
        session_next_call(session);
        if (session->waiting && !session->wait_timer)
                loop_add_timer(session->loop, session->wait_ns / 8, on_waited, session, &session->wait_timer);
}

void sessions_give_up(struct session *session) {
        session->runs--;
        engine_tidy_soon(session->engine);
}

/* ---- news from the engine */

void session_leased(struct session *session, struct run *run, struct engine_sandbox *sandbox) {
        assert(session->running == run && !session->sandbox);
        session->sandbox = sandbox;
        session->state = SESSION_BUSY;
        begin_call(session);
}

void session_exited(struct session *session, const struct spawn_exit *end) {
        session->exited = true;
        session->exit = *end;
        stop_resting(session);
        if (!session->ending && !session->dying)
                session->lost = session_loss_of(end);
        engine_tidy_soon(session->engine);
}

/* Its sandbox was lost before anybody saw an effect of the call, which is made again, and then first of all. */
void session_requeue(struct session *session, struct run *run) {
        assert(session->running == run);
        session->running = NULL;
        if (session->sandbox)
                session->requeued = run; /* still holds descriptors of the sandbox */
        run->next = session->waiting;
        if (!session->waiting)
                session->waiting_end = &run->next;
        session->waiting = run;
        session->waiting_count++;
        session->calls--;
        /* If it was the first one in its interpreter, there was nothing that could be lost since. */
        session->lost = --session->calls_here == 0 ? session->told : SESSION_LOSS_KILLED;
}

void session_abandoned(struct session *session, enum session_loss why) {
        session->dying = true;
        session->lost = why;
}

void session_call_finished(struct session *session, struct run *run) {
        session->runs--;
        if (run == session->requeued) {
                session_take_back(session, run);
                session->requeued = NULL;
        }
        if (run != session->running)
                return;
        session->running = NULL;
        session->used_ns = clock_now_ns();
        if (!session->sandbox) { /* it never got one */
                session->state = SESSION_NEW;
                return;
        }
        session_take_back(session, run);
        session->new_room = false;
        restore_free(session->restore);
        session->restore = NULL;
}

/* The sandbox's descriptors come back from a call that is over, in whatever way. */
void session_take_back(struct session *session, struct run *run) {
        int fds[SPAWN_READY_FDS];
        run_give_back(run, fds);
        late_output_add(&session->late, take_fd(&fds[SPAWN_FD_STDOUT]));
        late_output_add(&session->late, take_fd(&fds[SPAWN_FD_STDERR]));
        for (int i = 0; i < SPAWN_READY_FDS; i++) {
                close_fd(&session->sandbox->fds[i]);
                session->sandbox->fds[i] = fds[i];
        }
}

void session_renewed(struct session *session) {
        assert(session->state == SESSION_RENEWING);
        if (session->ending) {
                engine_end(session->engine, session->sandbox); /* the order to end it was for the one before */
                return;
        }
        rest(session);
        session_next_call(session);
}

static void lose_sandbox(struct session *session) {
        session->sandbox = NULL;
        session->exited = session->ending = session->dying = false;
        session->state = SESSION_NEW;
        session->calls_here = 0;
        late_output_deinit(&session->late);
}

void session_renew_failed(struct session *session) {
        assert(session->state == SESSION_RENEWING);
        log_warning("a session's interpreter could not be renewed", "conversation", session->conversation);
        lose_sandbox(session);
        engine_tidy_soon(session->engine);
}

/* ---- what can be done now */

static void refuse_all_waiting(struct session *session) {
        while (session->waiting)
                run_refuse(take_waiting(session), RUN_REFUSED_DELETED);
}

/* The main process is dead and its call, if there was one, is answered. */
static void settle_exit(struct session *session) {
        struct engine_sandbox *sandbox = session->sandbox;
        if (session->requeued) {
                session_take_back(session, session->requeued);
                session->requeued = NULL;
        }
        session->exited = session->dying = false;
        drop_pending(sandbox->fds[SPAWN_FD_WORK]);
        if (!session->exit.room_kept || session->ending || sandbox->fds[SPAWN_FD_WORK] < 0) {
                engine_let_go(session->engine, sandbox);
                lose_sandbox(session);
                return;
        }
        session->calls_here = 0;
        session->state = SESSION_RENEWING;
        engine_renew(session->engine, sandbox);
}

static void settle_call(struct session *session) {
        if (session->sandbox->fds[SPAWN_FD_CLAIM] >= 0 && session->sandbox->fds[SPAWN_FD_WORK] >= 0) {
                rest(session);
                return;
        }
        if (!session->ending)
                session_end(session, SESSION_LOSS_KILLED); /* the exit follows */
}

void session_settle(struct session *session) {
        if (session->running)
                return;
        if (session->sandbox && session->exited)
                settle_exit(session);
        else if (session->sandbox && session->state == SESSION_BUSY && !session->dying)
                settle_call(session);
        if (session->deleted)
                refuse_all_waiting(session);
        session_next_call(session);
        if (session->state == SESSION_NEW && session->runs == 0)
                sessions_forget(session);
}

void session_end(struct session *session, enum session_loss why) {
        session->lost = why;
        session->deleted = session->deleted || why == SESSION_LOSS_DELETED;
        stop_resting(session);
        if (session->sandbox && !session->ending) {
                session->ending = true;
                engine_end(session->engine, session->sandbox);
        } else if (session->state == SESSION_STARTING && session->deleted)
                run_refuse(session->running, RUN_REFUSED_DELETED); /* it still waits for a sandbox */
        engine_tidy_soon(session->engine);
}

void session_free(struct session *session) {
        if (!session)
                return;
        while (session->waiting)
                run_free(take_waiting(session));
        stop_resting(session);
        loop_remove(session->loop, &session->wait_timer);
        late_output_deinit(&session->late);
        restore_free(session->restore);
        json_decref(session->not_kept);
        free(session);
}
