/*
 * Stateful sessions between calls, a spawner and sandboxes, all played by the test: calls take turns, the interpreter is
 * replaced when it dies and the model is told so, caps hold, and what ends is let go.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/conversation_events.h"
#include "api/engine.h"
#include "api/metrics.h"
#include "base/config.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "run/json_out.h"
#include "session/sessions.h"

#include "fake_sandbox.h"
#include "store_fixture.h"

#define SANDBOXES 32
#define CALLS 32
#define CODE "abcd = 1" /* with its frame without padding */

struct call {
        struct run_request request;
        struct run *run;
        bool done, refused;
        enum run_refusal why;
        struct outcome_of_run outcome;
        struct session_note note;
        char out[256], sandbox_id[ID_TEXT_BYTES];
        size_t files;
};

/* A sandbox as the spawner and the room play it. */
struct room {
        struct fake_sandbox ends;
        int stdout_fd; /* of the call that runs */
        enum { NONE, PARKED, RUNNING, RESTING, KEPT, KILLED } state;
        struct sandbox_id id;
        enum spawn_end killed_for;
        uint32_t claim_flags;
        unsigned restored; /* files put there before the first call */
};

struct fixture {
        struct config config;
        struct api api;
        struct store_fixture *store;
        int spawner;
        struct room rooms[SANDBOXES];
        unsigned made;
        uint64_t next_id, open_requests[64];
        unsigned open_count;
        uint64_t renewal; /* the request of the last RENEW */
        struct call calls[CALLS];
        unsigned call_count;
};

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)exit_status;
        fail_msg("%s", why);
        loop_quit(api->loop, 0);
}

/* ---- the spawner */

static struct room *find_room(struct fixture *f, struct sandbox_id id) {
        for (unsigned i = 0; i < f->made; i++)
                if (f->rooms[i].id.low == id.low && f->rooms[i].state != NONE)
                        return &f->rooms[i];
        fail_msg("a message about sandbox %llu, which there is not", (unsigned long long)id.low);
        return NULL;
}

static void send_news(struct fixture *f, struct spawn_message message, const int *fds, size_t fd_count) {
        message.version = SPAWN_PROTOCOL_VERSION;
        assert_int_equal(fdpass_send(f->spawner, &message, sizeof(message), fds, fd_count), 0);
}

static void answer_rest(struct fixture *f, struct room *room) {
        assert_int_equal(room->state, RUNNING);
        room->state = RESTING;
        send_news(f, (struct spawn_message){.type = SPAWN_RESTED, .sandbox = room->id, .cpu_us = 1500, .memory_peak = 77},
                  NULL, 0);
}

static void take_claim(struct room *room, const struct spawn_message *message) {
        assert_true(room->state == PARKED || room->state == RESTING);
        room->state = RUNNING;
        room->claim_flags = message->flags;
}

static void take_messages(struct fixture *f) {
        struct spawn_message message;
        size_t fd_count;
        int fds[FDPASS_MAX];
        while (fdpass_recv(f->spawner, &message, sizeof(message), fds, FDPASS_MAX, &fd_count) > 0) {
                switch (message.type) {
                case SPAWN_CREATE:
                        f->open_requests[f->open_count++] = message.request;
                        break;
                case SPAWN_CLAIM:
                        take_claim(find_room(f, message.sandbox), &message);
                        break;
                case SPAWN_REST:
                        answer_rest(f, find_room(f, message.sandbox));
                        break;
                case SPAWN_RENEW:
                        assert_int_equal(find_room(f, message.sandbox)->state, KEPT);
                        f->renewal = message.request;
                        break;
                case SPAWN_KILL:
                        find_room(f, message.sandbox)->killed_for = (enum spawn_end)message.reason;
                        find_room(f, message.sandbox)->state = KILLED;
                        break;
                default:
                        fail_msg("message of type %u", message.type);
                }
        }
}

static void stop_loop(void *data) {
        loop_quit(data, 0);
}

static void turn(struct fixture *f) {
        for (int i = 0; i < 4; i++) {
                assert_int_equal(loop_add_timer(f->api.loop, NS_PER_MS, stop_loop, f->api.loop, NULL), 0);
                assert_int_equal(loop_run(f->api.loop), 0);
                take_messages(f);
        }
}

static void turn_for(struct fixture *f, uint64_t ns) {
        uint64_t until = clock_now_ns() + ns;
        while (clock_now_ns() < until)
                turn(f);
}

static void make_all(struct fixture *f) {
        while (f->open_count > 0) {
                int fds[SPAWN_READY_FDS];
                struct room *room = &f->rooms[f->made++];
                assert_true(f->made <= SANDBOXES);
                fake_sandbox_open(&room->ends, fds);
                room->state = PARKED;
                room->stdout_fd = -1;
                room->id = (struct sandbox_id){7, ++f->next_id};
                send_news(f,
                          (struct spawn_message){.type = SPAWN_READY, .request = f->open_requests[--f->open_count],
                                                 .sandbox = room->id},
                          fds, SPAWN_SNIPPET_FDS);
                for (int i = 0; i < SPAWN_SNIPPET_FDS; i++)
                        close(fds[i]);
                turn(f);
        }
}

/* The main process is dead. */
static void die(struct fixture *f, struct room *room, enum spawn_end reason, int wait_status, bool kept) {
        close_fd(&room->ends.claim);
        close_fd(&room->stdout_fd);
        if (kept)
                fake_files_end(room->ends.work, 0, 0);
        else
                fake_sandbox_close(&room->ends);
        struct sandbox_id id = room->id;
        room->state = kept ? KEPT : NONE;
        send_news(f,
                  (struct spawn_message){.type = SPAWN_EXITED, .sandbox = id, .reason = reason,
                                         .wait_status = wait_status, .room_kept = kept},
                  NULL, 0);
        turn(f);
}

static void renew(struct fixture *f, struct room *room) {
        struct fake_sandbox fresh;
        int fds[SPAWN_READY_FDS];
        assert_true(f->renewal != 0 && room->state == KEPT);
        fake_sandbox_open(&fresh, fds);
        room->ends.claim = fresh.claim;
        room->id = (struct sandbox_id){7, ++f->next_id};
        room->state = PARKED;
        send_news(f, (struct spawn_message){.type = SPAWN_READY, .request = f->renewal, .sandbox = room->id}, fds,
                  SPAWN_RENEWED_FDS);
        f->renewal = 0;
        for (int i = 0; i < SPAWN_SNIPPET_FDS; i++)
                close(fds[i]);
        close(fresh.work);
        close(fresh.out);
        close(fresh.err);
        turn(f);
}

/* ---- the runner and init */

/* Takes the code of a call and its descriptors; the call has then started. */
static void receive_call(struct fixture *f, struct room *room) {
        struct {
                struct frame frame;
                char code[sizeof(CODE) - 1];
        } cell;
        int fds[FDPASS_MAX];
        size_t fd_count = 0;
        assert_int_equal(fdpass_recv(room->ends.claim, &cell, sizeof(cell), fds, FDPASS_MAX, &fd_count), sizeof(cell));
        assert_int_equal(cell.frame.type, FRAME_CELL);
        assert_memory_equal(cell.code, CODE, sizeof(cell.code));
        assert_int_equal(fd_count, CELL_FDS);
        close(fds[CELL_FD_STDIN]);
        close(fds[CELL_FD_STDERR]);
        room->stdout_fd = fds[CELL_FD_STDOUT];
        fake_frame(room->ends.claim, FRAME_STARTED, NULL, 0);
        turn(f);
}

static void end_call(struct fixture *f, struct room *room, const char *output, int exit_code) {
        const struct cell_end end = {exit_code};
        struct frame frame;
        fake_print(room->stdout_fd, output);
        close_fd(&room->stdout_fd);
        fake_frame(room->ends.claim, FRAME_CELL_END, &end, sizeof(end));
        turn(f);
        assert_int_equal(read(room->ends.work, &frame, sizeof(frame)), sizeof(frame));
        assert_int_equal(frame.type, FRAME_COLLECT);
        fake_files_end(room->ends.work, 0, 0);
        turn(f);
}

/* ---- calls */

static void on_done(struct run *run, void *data) {
        struct call *call = data;
        json_t *text;
        struct json_out out;
        call->done = true;
        call->outcome = run->outcome;
        memcpy(call->sandbox_id, run->sandbox_id, sizeof(call->sandbox_id));
        session_note_of(run, &call->note);
        json_out_init(&out, 0);
        output_write_json(&run->pipes[RUN_STDOUT].output, &out);
        text = json_loadb(out.bytes, out.used, JSON_DECODE_ANY, NULL);
        snprintf(call->out, sizeof(call->out), "%s", json_string_value(text));
        json_decref(text);
        json_out_deinit(&out);
        call->run = NULL;
        memset(&call->request, 0xa5, sizeof(call->request)); /* nobody may look at it any more */
}

static void on_refused(struct run *run, void *data, enum run_refusal why) {
        struct call *call = data;
        (void)run;
        call->refused = true;
        call->why = why;
        call->run = NULL;
        memset(&call->request, 0xa5, sizeof(call->request));
}

static const struct run_handler handler = {.on_done = on_done, .on_refused = on_refused};

static int admit(struct fixture *f, const char *conversation, struct session **ret, struct err *e) {
        const struct session_key key = {1, "default", conversation, "agent"};
        return sessions_admit(f->api.sessions, &key, ret, e);
}

static struct call *submit(struct fixture *f, const char *conversation) {
        struct call *call = &f->calls[f->call_count++];
        struct session *session;
        struct err e;
        if (admit(f, conversation, &session, &e) != 0)
                fail_msg("%s", e.message);
        call->request = (struct run_request){
                .code = CODE, .code_length = sizeof(CODE) - 1, .timeout_ms = 1000, .lane = "default", .session = session};
        call->run = engine_run_new(f->api.engine, &call->request, &handler, call);
        sessions_submit(session, call->run);
        turn(f);
        make_all(f);
        return call;
}

static struct room *running(struct fixture *f) {
        for (unsigned i = 0; i < f->made; i++)
                if (f->rooms[i].state == RUNNING && f->rooms[i].stdout_fd < 0)
                        return &f->rooms[i];
        fail_msg("nothing runs");
        return NULL;
}

/* A whole call; returns its room. */
static struct room *do_call(struct fixture *f, struct call *call, const char *output) {
        struct room *room = running(f);
        receive_call(f, room);
        end_call(f, room, output, 0);
        assert_true(call->done);
        assert_string_equal(call->out, output);
        make_all(f);
        return room;
}

static int set_up(void **state) {
        static struct fixture f;
        int pair[2];
        void *store_state = NULL;
        f = (struct fixture){
                .config = {.warm_pool = 2,
                           .max_concurrent = 4,
                           .queue_max = 3,
                           .queue_timeout_s = 1,
                           .execute_max_timeout_s = 60,
                           .session_idle_s = 900,
                           .sessions_per_project = 2,
                           .max_sessions = 3,
                           .output_keep_bytes = 1 << 20,
                           .output_max_bytes = 64 << 20},
        };
        assert_int_equal(store_set_up(&store_state), 0);
        f.store = store_state;
        f.api.loop = f.store->loop;
        f.api.store = f.store->store;
        f.api.config = &f.config;
        log_init("test", LOG_LEVEL_ERROR + 1);
        assert_int_equal(metrics_new(&f.api.metrics), 0);
        f.api.environment = json_object();
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        f.spawner = pair[1];
        assert_int_equal(sessions_new(&f.api, &f.api.sessions), 0);
        assert_int_equal(engine_new(&f.api, pair[0], &f.api.engine), 0);
        send_news(&f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 20}, NULL, 0);
        send_news(&f,
                  (struct spawn_message){.type = SPAWN_TEMPLATE, .template_state = SPAWN_TEMPLATE_SERVING,
                                         .template_generation = 1},
                  NULL, 0);
        turn(&f);
        make_all(&f);
        *state = &f;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *f = *state;
        void *store_state = f->store;
        engine_free(f->api.engine);
        sessions_free(f->api.sessions);
        for (unsigned i = 0; i < f->made; i++)
                if (f->rooms[i].state != NONE) {
                        close_fd(&f->rooms[i].stdout_fd);
                        fake_sandbox_close(&f->rooms[i].ends);
                }
        close_fd(&f->spawner);
        json_decref(f->api.environment);
        metrics_free(f->api.metrics);
        return store_tear_down(&store_state);
}

/* ---- the tests */

static void calls_share_one_sandbox(void **state) {
        struct fixture *f = *state;
        struct call *first = submit(f, "c");
        struct room *room = do_call(f, first, "one\n");
        assert_int_equal(room->claim_flags, SPAWN_CLAIM_SESSION);
        assert_int_equal(room->state, RESTING);
        assert_false(first->note.restarted);
        assert_string_equal(first->note.message, "");

        struct call *second = submit(f, "c");
        assert_ptr_equal(do_call(f, second, "two\n"), room);
        assert_string_equal(second->sandbox_id, first->sandbox_id);
        assert_false(second->note.restarted);
        assert_int_equal(sessions_count(f->api.sessions), 1);
}

static void exit_code_is_the_calls_own(void **state) {
        struct fixture *f = *state;
        struct call *call = submit(f, "c");
        struct room *room = running(f);
        receive_call(f, room);
        end_call(f, room, "", 3);
        assert_int_equal(call->outcome.outcome, OUTCOME_ERROR);
        assert_int_equal(call->outcome.exit_code, 3);
        assert_int_equal(do_call(f, submit(f, "c"), "")->state, RESTING);
}

static void a_second_call_waits_its_turn(void **state) {
        struct fixture *f = *state;
        struct call *first = submit(f, "c"), *second = submit(f, "c");
        struct room *room = running(f);
        receive_call(f, room);
        assert_false(second->done);
        end_call(f, room, "A", 0);
        assert_true(first->done);
        assert_false(second->done);
        do_call(f, second, "B");
        assert_string_equal(first->out, "A");
}

static void the_queue_of_a_session_is_bounded(void **state) {
        struct fixture *f = *state;
        struct session *session;
        struct err e;
        for (int i = 0; i < 17; i++)
                submit(f, "c");
        assert_int_equal(admit(f, "c", &session, &e), -EBUSY);
        assert_non_null(strstr(e.message, "16"));
}

static void a_call_that_waits_may_be_cancelled(void **state) {
        struct fixture *f = *state;
        struct call *first = submit(f, "c"), *second = submit(f, "c"), *third = submit(f, "c");
        run_cancel(second->run);
        turn(f);
        do_call(f, first, "1");
        do_call(f, third, "3");
        assert_false(second->done || second->refused);
}

static void after_a_timeout_the_room_is_used_again(void **state) {
        struct fixture *f = *state;
        struct call *first = submit(f, "c");
        struct room *room = do_call(f, first, "");
        struct call *slow = submit(f, "c");
        receive_call(f, room);
        fake_print(room->stdout_fd, "so far\n");
        die(f, room, SPAWN_END_TIMEOUT, 9, true);
        assert_true(slow->done);
        assert_int_equal(slow->outcome.outcome, OUTCOME_TIMEOUT);
        assert_int_equal(slow->outcome.exit_code, -1);
        assert_string_equal(slow->out, "so far\n");
        assert_true(slow->note.restarted);
        assert_non_null(strstr(slow->note.message, "time limit"));
        assert_non_null(strstr(slow->note.message, "lost"));

        renew(f, room);
        struct call *next = submit(f, "c");
        assert_ptr_equal(do_call(f, next, "on\n"), room);
        assert_string_not_equal(next->sandbox_id, first->sandbox_id);
        assert_true(next->note.restarted);
        assert_non_null(strstr(next->note.message, "time limit"));
        assert_non_null(strstr(next->note.message, "still there"));
        struct call *last = submit(f, "c");
        do_call(f, last, "");
        assert_false(last->note.restarted);
}

static void a_call_waits_for_the_new_interpreter(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        struct call *crash = submit(f, "c"), *next = submit(f, "c");
        receive_call(f, room);
        die(f, room, SPAWN_END_EXIT, 11, true);
        assert_int_equal(crash->outcome.exit_code, 139);
        assert_non_null(strstr(crash->note.message, "crashed"));
        assert_false(next->done);
        renew(f, room);
        do_call(f, next, "again");
        assert_true(next->note.restarted);
}

static void an_interpreter_that_dies_at_rest_is_replaced(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        die(f, room, SPAWN_END_MEMORY, 9, true);
        renew(f, room);
        struct call *next = submit(f, "c");
        do_call(f, next, "");
        assert_true(next->note.restarted);
        assert_non_null(strstr(next->note.message, "512 MiB"));
}

static void a_lost_room_makes_way_for_another(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        struct call *hit = submit(f, "c");
        receive_call(f, room);
        fake_print(room->stdout_fd, "x");
        turn_for(f, 60 * NS_PER_MS); /* long enough that it was not dying before */
        die(f, room, SPAWN_END_LOST, 9, false);
        assert_true(hit->done);
        assert_int_equal(hit->outcome.outcome, OUTCOME_KILLED);
        assert_int_equal(sessions_count(f->api.sessions), 0);
        struct call *next = submit(f, "c");
        assert_ptr_not_equal(do_call(f, next, ""), room);
        assert_true(next->note.restarted);
        assert_non_null(strstr(next->note.message, "fault of the platform"));
}

static void a_failed_renewal_makes_way_for_another(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        die(f, room, SPAWN_END_TIMEOUT, 9, true);
        struct call *next = submit(f, "c");
        assert_false(next->done);
        fake_sandbox_close(&room->ends);
        room->state = NONE;
        send_news(f, (struct spawn_message){.type = SPAWN_CREATE_FAILED, .request = f->renewal, .error = ENOMEM}, NULL, 0);
        turn(f);
        assert_ptr_not_equal(do_call(f, next, ""), room);
        assert_true(next->note.restarted);
}

static void caps_name_themselves(void **state) {
        struct fixture *f = *state;
        struct session *session;
        struct err e;
        do_call(f, submit(f, "first"), "");
        do_call(f, submit(f, "second"), "");
        assert_int_equal(admit(f, "third", &session, &e), -EDQUOT);
        assert_non_null(strstr(e.message, "SANDBOX_SESSIONS_PER_PROJECT"));
        assert_non_null(strstr(e.message, " 2 "));
        assert_non_null(strstr(e.message, "\"first\""));
        assert_non_null(strstr(e.message, "\"second\""));
        assert_non_null(strstr(e.message, "DELETE"));
        do_call(f, submit(f, "second"), ""); /* the live ones go on */

        f->config.sessions_per_project = 9;
        do_call(f, submit(f, "third"), "");
        assert_int_equal(admit(f, "fourth", &session, &e), -EDQUOT);
        assert_non_null(strstr(e.message, "SANDBOX_MAX_SESSIONS"));
}

static void an_ended_session_frees_its_place_at_once(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "first"), "");
        do_call(f, submit(f, "second"), "");
        assert_true(sessions_end(f->api.sessions, 1, "first", SESSION_LOSS_ENDED));
        struct call *third = submit(f, "third"); /* before the spawner has said that it is gone */
        do_call(f, third, "");
        assert_int_equal(room->killed_for, SPAWN_END_RETIRED);
        die(f, room, SPAWN_END_RETIRED, 9, false);
        assert_int_equal(sessions_count(f->api.sessions), 2);

        assert_true(sessions_end(f->api.sessions, 1, "third", SESSION_LOSS_ENDED));
        struct call *back = submit(f, "first");
        do_call(f, back, "");
        assert_true(back->note.restarted);
        assert_non_null(strstr(back->note.message, "ended on request"));
}

static void ending_answers_the_call_that_runs(void **state) {
        struct fixture *f = *state;
        struct call *call = submit(f, "c"), *waiting = submit(f, "c");
        struct room *room = running(f);
        receive_call(f, room);
        assert_true(sessions_end(f->api.sessions, 1, "c", SESSION_LOSS_ENDED));
        turn(f);
        die(f, room, SPAWN_END_RETIRED, 9, false);
        assert_int_equal(call->outcome.outcome, OUTCOME_KILLED);
        assert_true(call->note.on_request);
        assert_non_null(strstr(call->note.message, "come back with the next call"));
        assert_false(waiting->refused);
        do_call(f, waiting, "fresh");
        assert_true(waiting->note.restarted);
        assert_false(waiting->note.on_request);
}

static void deleting_refuses_those_that_wait(void **state) {
        struct fixture *f = *state;
        struct call *call = submit(f, "c"), *waiting = submit(f, "c");
        struct room *room = running(f);
        receive_call(f, room);
        sessions_end(f->api.sessions, 1, "c", SESSION_LOSS_DELETED);
        struct call *of_another = submit(f, "c"); /* a new conversation of that name does not wait for the end of the old */
        do_call(f, of_another, "new");
        assert_false(of_another->note.restarted);
        die(f, room, SPAWN_END_RETIRED, 9, false);
        assert_true(call->done);
        assert_true(call->note.on_request);
        assert_non_null(strstr(call->note.message, "variables, imports, functions and files of it are lost."));
        assert_null(strstr(call->note.message, "next call"));
        assert_true(waiting->refused);
        assert_int_equal(waiting->why, RUN_REFUSED_DELETED);
        assert_int_equal(sessions_count(f->api.sessions), 1);
}

static void an_idle_session_ends(void **state) {
        struct fixture *f = *state;
        f->config.session_idle_s = 0; /* at once */
        struct room *room = do_call(f, submit(f, "c"), "");
        turn(f);
        assert_int_equal(room->killed_for, SPAWN_END_RETIRED);
        die(f, room, SPAWN_END_RETIRED, 9, false);
        assert_int_equal(sessions_count(f->api.sessions), 0);
        struct call *next = submit(f, "c");
        do_call(f, next, "");
        assert_true(next->note.restarted);
        assert_non_null(strstr(next->note.message, "idle"));
}

static void a_cancelled_call_costs_the_interpreter_and_not_the_room(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        struct call *call = submit(f, "c");
        receive_call(f, room);
        run_cancel(call->run);
        turn(f);
        assert_int_equal(room->killed_for, SPAWN_END_CANCELLED);
        die(f, room, SPAWN_END_CANCELLED, 9, true);
        assert_false(call->done);
        renew(f, room);
        struct call *next = submit(f, "c");
        assert_ptr_equal(do_call(f, next, ""), room);
        assert_true(next->note.restarted);
        assert_non_null(strstr(next->note.message, "cancelled"));
}

static void a_client_that_leaves_at_the_end_changes_nothing(void **state) {
        struct fixture *f = *state;
        struct call *call = submit(f, "c");
        struct room *room = running(f);
        const struct cell_end end = {0};
        receive_call(f, room);
        fake_frame(room->ends.claim, FRAME_CELL_END, &end, sizeof(end));
        turn(f);
        assert_true(run_is_over(call->run));
        run_cancel(call->run);
        fake_files_end(room->ends.work, 0, 0);
        turn(f);
        assert_true(call->done);
        assert_int_equal(room->state, RESTING);
}

static void an_input_that_does_not_fit_leaves_the_interpreter(void **state) {
        static const struct work_input input = {"a", 1, "x", 1};
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        struct call *call = &f->calls[f->call_count++];
        struct session *session;
        struct err e;
        char inputs[256];
        assert_int_equal(admit(f, "c", &session, &e), 0);
        call->request = (struct run_request){.code = CODE, .code_length = sizeof(CODE) - 1, .timeout_ms = 1000,
                                             .lane = "", .session = session, .inputs = &input, .input_count = 1};
        call->run = engine_run_new(f->api.engine, &call->request, &handler, call);
        sessions_submit(session, call->run);
        turn(f);
        assert_true(read(room->ends.work, inputs, sizeof(inputs)) > 0);
        fake_file(room->ends.work, FRAME_INPUT_FAILED, ENOSPC, "a", 1, 0, NULL, 0);
        fake_frame(room->ends.work, FRAME_INPUTS_END, NULL, 0);
        turn(f);
        assert_true(call->refused);
        assert_int_equal(room->state, RESTING);
        struct call *next = submit(f, "c");
        assert_ptr_equal(do_call(f, next, ""), room);
        assert_false(next->note.restarted);
}

static void a_session_ends_while_its_interpreter_is_renewed(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        die(f, room, SPAWN_END_TIMEOUT, 9, true);
        assert_true(f->renewal != 0);
        room->state = RESTING; /* the order to kill it comes for the old id */
        assert_true(sessions_end(f->api.sessions, 1, "c", SESSION_LOSS_ENDED));
        turn(f);
        room->state = KEPT;
        renew(f, room);
        assert_int_equal(room->state, KILLED);
        die(f, room, SPAWN_END_RETIRED, 9, false);
        assert_int_equal(sessions_count(f->api.sessions), 0);
}

static void a_call_without_a_sandbox_yet_is_refused_with_its_conversation(void **state) {
        struct fixture *f = *state;
        struct call *calls[6];
        f->config.sessions_per_project = 9;
        f->config.max_sessions = 9;
        for (int i = 0; i < 6; i++) { /* two more than may run */
                char name[8];
                snprintf(name, sizeof(name), "c%d", i);
                calls[i] = submit(f, name);
        }
        assert_true(sessions_end(f->api.sessions, 1, "c5", SESSION_LOSS_DELETED));
        turn(f);
        assert_true(calls[5]->refused);
        assert_int_equal(calls[5]->why, RUN_REFUSED_DELETED);
        assert_int_equal(sessions_count(f->api.sessions), 5);
}

static void a_call_that_is_to_be_made_again_may_be_cancelled(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        struct call *call = submit(f, "c");
        assert_int_equal(room->state, RUNNING);
        close_fd(&room->ends.claim);
        die(f, room, SPAWN_END_EXIT, 9, true); /* by a signal, before its first instruction */
        assert_false(call->done);
        run_cancel(call->run);
        turn(f);
        renew(f, room);
        do_call(f, submit(f, "c"), "");
}

static void a_room_of_its_own_is_not_said_to_have_files(void **state) {
        struct fixture *f = *state;
        struct room *room = do_call(f, submit(f, "c"), "");
        die(f, room, SPAWN_END_LOST, 9, false);
        struct call *next = submit(f, "c");
        do_call(f, next, "");
        assert_non_null(strstr(next->note.message, "empty"));
        assert_null(strstr(next->note.message, "still there"));
}

static void late_output_is_dropped_and_does_not_block(void **state) {
        struct fixture *f = *state;
        struct call *first = submit(f, "c");
        struct room *room = running(f);
        receive_call(f, room);
        int child = dup(room->stdout_fd); /* a process in the background has inherited it */
        end_call(f, room, "mine", 0);
        for (int i = 0; i < 40; i++) {
                char noise[16 << 10] = {0};
                assert_int_equal(write(child, noise, sizeof(noise)), sizeof(noise));
                turn(f);
        }
        struct call *second = submit(f, "c");
        make_all(f);
        do_call(f, second, "two");
        assert_string_equal(first->out, "mine");
        close(child);
}

static void a_broken_channel_costs_the_sandbox(void **state) {
        struct fixture *f = *state;
        struct call *call = submit(f, "c");
        struct room *room = running(f);
        receive_call(f, room);
        end_call(f, room, "", 0);
        assert_true(call->done);
        assert_int_equal(room->state, RESTING);
        struct call *next = submit(f, "c");
        receive_call(f, room);
        fake_frame(room->ends.claim, 99, NULL, 0); /* what no runner sends */
        turn(f);
        die(f, room, SPAWN_END_TIMEOUT, 9, true);
        assert_true(next->done);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(calls_share_one_sandbox),
                TEST(exit_code_is_the_calls_own),
                TEST(a_second_call_waits_its_turn),
                TEST(the_queue_of_a_session_is_bounded),
                TEST(a_call_that_waits_may_be_cancelled),
                TEST(after_a_timeout_the_room_is_used_again),
                TEST(a_call_waits_for_the_new_interpreter),
                TEST(an_interpreter_that_dies_at_rest_is_replaced),
                TEST(a_lost_room_makes_way_for_another),
                TEST(a_failed_renewal_makes_way_for_another),
                TEST(caps_name_themselves),
                TEST(an_ended_session_frees_its_place_at_once),
                TEST(ending_answers_the_call_that_runs),
                TEST(deleting_refuses_those_that_wait),
                TEST(an_idle_session_ends),
                TEST(a_cancelled_call_costs_the_interpreter_and_not_the_room),
                TEST(a_client_that_leaves_at_the_end_changes_nothing),
                TEST(an_input_that_does_not_fit_leaves_the_interpreter),
                TEST(a_session_ends_while_its_interpreter_is_renewed),
                TEST(a_call_without_a_sandbox_yet_is_refused_with_its_conversation),
                TEST(a_call_that_is_to_be_made_again_may_be_cancelled),
                TEST(a_room_of_its_own_is_not_said_to_have_files),
                TEST(late_output_is_dropped_and_does_not_block),
                TEST(a_broken_channel_costs_the_sandbox),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
