/*
 * The engine between runs and a spawner, both played by the test: the pool fills and heals, a burst is served, the
 * queue is bounded in length and time, and the end comes when nothing is left.
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
#include "api/engine.h"
#include "api/metrics.h"
#include "session/sessions.h"
#include "base/config.h"
#include "base/fdpass.h"
#include "base/log.h"

#include "fake_sandbox.h"

#define SANDBOXES 32

struct fixture {
        struct config config;
        struct api api;
        int spawner; /* the other end */
        struct fake_sandbox sandboxes[SANDBOXES];
        enum { NONE, MADE, CLAIMED, KILLED } state[SANDBOXES];
        enum spawn_end killed_for[SANDBOXES];
        unsigned created; /* requests to make one */
        uint64_t open_requests[64];
        unsigned open_count;
        uint64_t call_requests[64];
        unsigned call_count;
        unsigned made; /* sandboxes so far; the id of each is its number + 1 */
        unsigned dones, refusals, drains;
        enum run_refusal refusal;
        struct outcome_of_run outcome;
        bool quit;
};

static struct fixture *current;

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)exit_status;
        (void)why;
        current->quit = true;
        loop_quit(api->loop, 0);
}

static void on_done(struct run *run, void *data) {
        struct fixture *f = data;
        f->dones++;
        f->outcome = run->outcome;
}

static void on_refused(struct run *run, void *data, enum run_refusal why) {
        struct fixture *f = data;
        (void)run;
        f->refusals++;
        f->refusal = why;
}

static const struct run_handler handler = {.on_done = on_done, .on_refused = on_refused};

static const struct run_request request = {.code = "", .timeout_ms = 1000, .lane = "default"};
static const struct run_request call_request = {
        .kind = RUN_CALL, .image = {3, 4}, .code = "{}", .code_length = 2, .timeout_ms = 1000, .lane = "default"};
static const struct run_request other_request = {.code = "", .timeout_ms = 1000, .lane = "other"};

static void stop_loop(void *data) {
        loop_quit(data, 0);
}

static void take_messages(struct fixture *f) {
        struct spawn_message message;
        size_t fd_count;
        int fds[FDPASS_MAX];
        while (fdpass_recv(f->spawner, &message, sizeof(message), fds, FDPASS_MAX, &fd_count) > 0) {
                unsigned number = (unsigned)message.sandbox.low - 1;
                switch (message.type) {
                case SPAWN_CREATE:
                        if (message.profile == SPAWN_PROFILE_CALL) {
                                assert_int_equal(message.image.high, 3);
                                assert_int_equal(message.image.low, 4);
                                f->call_requests[f->call_count++] = message.request;
                                break;
                        }
                        f->created++;
                        f->open_requests[f->open_count++] = message.request;
                        break;
                case SPAWN_CLAIM:
                        assert_int_equal(message.timeout_ms, 1000);
                        assert_int_equal(f->state[number], MADE);
                        f->state[number] = CLAIMED;
                        break;
                case SPAWN_KILL:
                        assert_true(f->state[number] == MADE || f->state[number] == CLAIMED);
                        f->state[number] = KILLED;
                        f->killed_for[number] = (enum spawn_end)message.reason;
                        break;
                default:
                        fail_msg("message of type %u", message.type);
                }
        }
}

static void turn_for(struct fixture *f, uint64_t ns) {
        assert_int_equal(loop_add_timer(f->api.loop, ns, stop_loop, f->api.loop, NULL), 0);
        assert_int_equal(loop_run(f->api.loop), 0);
        take_messages(f);
}

static void turn(struct fixture *f) {
        turn_for(f, 5 * NS_PER_MS);
}

static void tell(struct fixture *f, struct spawn_message message, const int *fds, size_t fd_count) {
        message.version = SPAWN_PROTOCOL_VERSION;
        assert_int_equal(fdpass_send(f->spawner, &message, sizeof(message), fds, fd_count), 0);
        turn(f);
}

/* Answers the oldest open request with a sandbox. Returns its number. */
static unsigned make(struct fixture *f) {
        int fds[SPAWN_READY_FDS];
        unsigned number = f->made++;
        assert_true(f->open_count > 0 && number < SANDBOXES);
        uint64_t request_id = f->open_requests[0];
        memmove(f->open_requests, f->open_requests + 1, --f->open_count * sizeof(f->open_requests[0]));
        fake_sandbox_open(&f->sandboxes[number], fds);
        f->state[number] = MADE;
        tell(f, (struct spawn_message){.type = SPAWN_READY, .request = request_id, .sandbox = {7, number + 1}}, fds,
             SPAWN_SNIPPET_FDS);
        for (int i = 0; i < SPAWN_SNIPPET_FDS; i++)
                close(fds[i]);
        return number;
}

static uint64_t next_call(struct fixture *f) {
        assert_true(f->call_count > 0);
        uint64_t request_id = f->call_requests[0];
        memmove(f->call_requests, f->call_requests + 1, --f->call_count * sizeof(f->call_requests[0]));
        return request_id;
}

/* Answers the oldest request for a call's sandbox. */
static unsigned make_call(struct fixture *f) {
        int fds[SPAWN_READY_FDS], pair[2];
        unsigned number = f->made++;
        uint64_t request_id = next_call(f);
        fake_sandbox_open(&f->sandboxes[number], fds);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        close(pair[1]); /* nothing was decided */
        fds[SPAWN_FD_EGRESS] = pair[0];
        f->state[number] = MADE;
        tell(f, (struct spawn_message){.type = SPAWN_READY, .request = request_id, .sandbox = {7, number + 1}}, fds,
             SPAWN_READY_FDS);
        for (int i = 0; i < SPAWN_READY_FDS; i++)
                close(fds[i]);
        return number;
}

static void fail_call(struct fixture *f, int error) {
        uint64_t request_id = next_call(f);
        tell(f, (struct spawn_message){.type = SPAWN_CREATE_FAILED, .request = request_id, .error = error}, NULL, 0);
}

static void make_all(struct fixture *f) {
        while (f->open_count > 0)
                make(f);
}

static void end(struct fixture *f, unsigned number, enum spawn_end reason) {
        fake_sandbox_close(&f->sandboxes[number]);
        f->state[number] = NONE;
        tell(f, (struct spawn_message){.type = SPAWN_EXITED, .sandbox = {7, number + 1}, .reason = reason}, NULL, 0);
}

/* Lets the snippet start and end. */
static void finish(struct fixture *f, unsigned number) {
        assert_int_equal(f->state[number], CLAIMED);
        fake_frame(f->sandboxes[number].claim, FRAME_STARTED, NULL, 0);
        end(f, number, SPAWN_END_EXIT);
}

static unsigned count(const struct fixture *f, int state) {
        unsigned result = 0;
        for (unsigned i = 0; i < f->made; i++)
                result += (int)f->state[i] == state;
        return result;
}

static unsigned first(const struct fixture *f, int state) {
        for (unsigned i = 0; i < f->made; i++)
                if ((int)f->state[i] == state)
                        return i;
        fail_msg("no sandbox in state %d", state);
        return 0;
}

static void news_of_template(struct fixture *f, enum spawn_template_state state, uint64_t generation) {
        tell(f,
             (struct spawn_message){.type = SPAWN_TEMPLATE, .template_state = state, .template_generation = generation},
             NULL, 0);
}

static int setup(void **state) {
        static struct fixture f;
        int pair[2];
        f = (struct fixture){
                .config = {.warm_pool = 2,
                           .max_concurrent = 4,
                           .queue_max = 3,
                           .queue_timeout_s = 1,
                           .output_keep_bytes = 1 << 20,
                           .output_max_bytes = 64 << 20},
        };
        current = &f;
        f.api.config = &f.config;
        log_init("test", LOG_LEVEL_ERROR + 1);
        assert_int_equal(loop_new(&f.api.loop), 0);
        assert_int_equal(metrics_new(&f.api.metrics), 0);
        f.api.environment = json_pack("{s:[s,s]}", "libraries", "numpy", "pandas");
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        f.spawner = pair[1];
        assert_int_equal(sessions_new(&f.api, &f.api.sessions), 0);
        assert_int_equal(engine_new(&f.api, pair[0], &f.api.engine), 0);
        *state = &f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;
        engine_free(f->api.engine);
        sessions_free(f->api.sessions);
        for (unsigned i = 0; i < f->made; i++)
                if (f->state[i] != NONE)
                        fake_sandbox_close(&f->sandboxes[i]);
        close_fd(&f->spawner);
        json_decref(f->api.environment);
        metrics_free(f->api.metrics);
        loop_free(f->api.loop);
        return 0;
}

static void serve(struct fixture *f) {
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        make_all(f);
        assert_int_equal(count(f, MADE), 2);
}

static struct run *submit(struct fixture *f, const struct run_request *what) {
        struct run *run = engine_run_new(f->api.engine, what, &handler, f);
        assert_non_null(run);
        engine_run_submit(f->api.engine, run);
        take_messages(f);
        return run;
}

static void the_pool_fills_when_the_template_serves(void **state) {
        struct fixture *f = *state;
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        news_of_template(f, SPAWN_TEMPLATE_STARTING, 0);
        assert_int_equal(f->created, 0);
        assert_false(engine_is_ready(f->api.engine));
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        assert_int_equal(f->created, 2);
        make_all(f);
        assert_true(engine_is_ready(f->api.engine));
        assert_int_equal(f->created, 2);
        assert_string_equal(engine_libraries(f->api.engine), "numpy, pandas");
}

static void without_a_pool_the_template_is_enough(void **state) {
        struct fixture *f = *state;
        engine_free(f->api.engine);
        int pair[2];
        close(f->spawner);
        f->config.warm_pool = 0;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        f->spawner = pair[1];
        assert_int_equal(engine_new(&f->api, pair[0], &f->api.engine), 0);
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        assert_false(engine_is_ready(f->api.engine));
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        assert_true(engine_is_ready(f->api.engine));
        assert_int_equal(f->created, 0);
        submit(f, &request);
        make(f);
        finish(f, 0);
        assert_int_equal(f->dones, 1);
        assert_int_equal(f->created, 1);
}

static void a_run_claims_at_once_and_is_replaced(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &request);
        assert_int_equal(count(f, CLAIMED), 1);
        assert_int_equal(f->created, 2); /* not while it needs the CPU */
        finish(f, first(f, CLAIMED));
        assert_int_equal(f->dones, 1);
        assert_int_equal(f->outcome.outcome, OUTCOME_OK);
        assert_int_equal(f->created, 3);
        make_all(f);
        assert_int_equal(count(f, MADE), 2);
}

static void a_burst_is_served_by_new_sandboxes(void **state) {
        struct fixture *f = *state;
        serve(f);
        for (int i = 0; i < 4; i++)
                submit(f, &request);
        assert_int_equal(count(f, CLAIMED), 2);
        assert_int_equal(f->created, 4); /* for the two that wait */
        make(f);
        make(f);
        assert_int_equal(count(f, CLAIMED), 4);
        turn_for(f, 30 * NS_PER_MS);
        assert_int_equal(f->created, 6); /* and the pool again */
        for (unsigned i = 0; i < 4; i++)
                finish(f, i);
        assert_int_equal(f->dones, 4);
        assert_int_equal(f->refusals, 0);
}

static void the_queue_is_bounded(void **state) {
        struct fixture *f = *state;
        serve(f);
        for (int i = 0; i < 7; i++) /* 4 run, 3 wait */
                submit(f, &request);
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 4);
        submit(f, &request);
        assert_int_equal(f->refusals, 1);
        assert_int_equal(f->refusal, RUN_REFUSED_QUEUE_FULL);
        assert_true(engine_retry_after_s(f->api.engine) >= 1);
        /* Another project takes the place of the youngest. */
        submit(f, &other_request);
        assert_int_equal(f->refusals, 2);
        turn_for(f, 30 * NS_PER_MS);
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 4); /* never more */
        for (int i = 0; i < 7; i++) {
                finish(f, first(f, CLAIMED));
                make_all(f);
        }
        assert_int_equal(f->dones, 7);
}

static void waiting_is_bounded_in_time(void **state) {
        struct fixture *f = *state;
        serve(f);
        for (int i = 0; i < 5; i++)
                submit(f, &request);
        make_all(f);
        turn_for(f, 900 * NS_PER_MS);
        assert_int_equal(f->refusals, 0);
        turn_for(f, 150 * NS_PER_MS);
        assert_int_equal(f->refusals, 1);
        assert_int_equal(f->refusal, RUN_REFUSED_WAITED);
}

static void runs_wait_for_a_template_that_starts(void **state) {
        struct fixture *f = *state;
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        submit(f, &request);
        assert_int_equal(f->created, 0);
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        make(f);
        assert_int_equal(count(f, CLAIMED), 1);
}

static void the_pool_heals(void **state) {
        struct fixture *f = *state;
        serve(f);
        turn_for(f, 1010 * NS_PER_MS); /* settled */
        end(f, 0, SPAWN_END_LOST);
        assert_int_equal(f->created, 3);
        make_all(f);
        /* One that dies young makes a pause first. */
        end(f, f->made - 1, SPAWN_END_LOST);
        assert_int_equal(f->created, 3);
        turn_for(f, 150 * NS_PER_MS);
        assert_int_equal(f->created, 4);
        make_all(f);
        assert_int_equal(count(f, MADE), 2);
}

static void a_parked_sandbox_that_is_dying_is_not_handed_out(void **state) {
        struct fixture *f = *state;
        serve(f);
        close(f->sandboxes[0].work); /* its init is gone, but nobody has said so */
        f->sandboxes[0].work = -1;
        submit(f, &request);
        assert_int_equal(f->state[0], KILLED);
        assert_int_equal(f->state[1], CLAIMED);
        close(f->sandboxes[1].claim);
        f->sandboxes[1].claim = -1;
        end(f, 0, SPAWN_END_LOST);
        end(f, 1, SPAWN_END_EXIT);
        assert_int_equal(f->dones, 1);
}

static void failures_to_make_one_are_tried_again(void **state) {
        struct fixture *f = *state;
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        for (int i = 0; i < 2; i++)
                tell(f,
                     (struct spawn_message){
                             .type = SPAWN_CREATE_FAILED, .request = f->open_requests[i], .error = ENOMEM},
                     NULL, 0);
        f->open_count = 0;
        assert_int_equal(f->created, 2);
        turn_for(f, 350 * NS_PER_MS); /* 200 ms after the second failure */
        assert_int_equal(f->created, 3);
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 2); /* good news end the caution */
        assert_int_equal(f->created, 4);
}

static void a_lost_sandbox_is_replaced_for_its_run(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &request);
        unsigned lost = first(f, CLAIMED);
        end(f, lost, SPAWN_END_LOST);
        assert_int_equal(f->dones, 0);
        assert_int_equal(count(f, CLAIMED), 1); /* the other parked one */
        finish(f, first(f, CLAIMED));
        assert_int_equal(f->dones, 1);
        assert_int_equal(f->outcome.outcome, OUTCOME_OK);
}

static void a_cancelled_run_is_killed_and_its_place_kept_until_it_is_gone(void **state) {
        struct fixture *f = *state;
        struct run *runs[4];
        serve(f);
        for (int i = 0; i < 4; i++)
                runs[i] = submit(f, &request);
        make_all(f);
        struct run *waiting = submit(f, &request);
        run_cancel(runs[0]);
        turn(f);
        assert_int_equal(count(f, KILLED), 1);
        unsigned killed = first(f, KILLED);
        assert_int_equal(f->killed_for[killed], SPAWN_END_CANCELLED);
        turn_for(f, 30 * NS_PER_MS);
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 3);
        end(f, killed, SPAWN_END_CANCELLED);
        assert_int_equal(count(f, CLAIMED), 4);
        run_cancel(waiting); /* it has got that place by now */
        turn(f);
        assert_int_equal(count(f, KILLED), 1);
        assert_int_equal(f->dones + f->refusals, 0);
}

static void a_run_cancelled_in_the_queue_costs_no_sandbox(void **state) {
        struct fixture *f = *state;
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        run_cancel(submit(f, &request));
        turn(f);
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 0);
        assert_int_equal(count(f, MADE), 2);
}

static void never_more_sandboxes_than_the_spawner_allows(void **state) {
        struct fixture *f = *state;
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 3}, NULL, 0);
        news_of_template(f, SPAWN_TEMPLATE_SERVING, 1);
        make_all(f);
        for (int i = 0; i < 4; i++)
                submit(f, &request);
        turn_for(f, 30 * NS_PER_MS);
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 3);
        assert_int_equal(f->created, 3);
        finish(f, first(f, CLAIMED));
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 3);
}

static void a_sandbox_that_nobody_asked_for_is_ended(void **state) {
        struct fixture *f = *state;
        serve(f);
        f->open_requests[f->open_count++] = 99;
        unsigned number = make(f);
        assert_int_equal(f->state[number], KILLED);
        end(f, number, SPAWN_END_RETIRED); /* not known, and no harm */
        assert_false(f->quit);
}

static void status_tells_the_numbers(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &request);
        json_t *status = engine_status(f->api.engine);
        int parked, running, alive, max;
        const char *template_state;
        assert_non_null(status);
        assert_int_equal(json_unpack(status, "{s:{s:i}, s:{s:i}, s:{s:s}, s:{s:i, s:i}}", "pool", "parked", &parked,
                                     "runs", "running", &running, "template", "state", &template_state, "sandboxes",
                                     "alive", &alive, "max", &max),
                         0);
        assert_int_equal(parked, 1);
        assert_int_equal(running, 1);
        assert_int_equal(alive, 2);
        assert_int_equal(max, 10);
        assert_string_equal(template_state, "serving");
        json_decref(status);
        engine_update_metrics(f->api.engine);
}

static void on_drained(void *data) {
        ((struct fixture *)data)->drains++;
}

static void draining_lets_runs_end_and_nothing_begin(void **state) {
        struct fixture *f = *state;
        serve(f);
        for (int i = 0; i < 5; i++)
                submit(f, &request);
        make_all(f);
        assert_int_equal(count(f, CLAIMED), 4);
        unsigned created = f->created;
        engine_drain(f->api.engine, on_drained, f);
        turn(f);
        assert_int_equal(f->refusals, 1); /* the one that waited */
        assert_int_equal(f->refusal, RUN_REFUSED_STOPPING);
        submit(f, &request);
        assert_int_equal(f->refusals, 2);
        assert_false(engine_is_ready(f->api.engine));
        for (int i = 0; i < 4; i++) {
                assert_int_equal(f->drains, 0);
                finish(f, first(f, CLAIMED));
        }
        assert_int_equal(f->dones, 4);
        assert_int_equal(f->drains, 1);
        assert_int_equal(count(f, MADE), 0); /* the parked ones are retired */
        assert_int_equal(f->created, created);
}

static void draining_an_idle_engine_ends_at_once(void **state) {
        struct fixture *f = *state;
        serve(f);
        engine_drain(f->api.engine, on_drained, f);
        turn(f);
        assert_int_equal(f->drains, 1);
        assert_int_equal(count(f, KILLED), 2);
        assert_int_equal(f->killed_for[0], SPAWN_END_RETIRED);
}

static void losing_the_spawner_ends_the_service(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &request);
        f->spawner = close_fd(&f->spawner);
        assert_int_equal(loop_run(f->api.loop), 0);
        assert_true(f->quit);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void a_call_gets_a_sandbox_of_its_own(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &call_request);
        assert_int_equal(f->call_count, 1);
        assert_int_equal(count(f, MADE), 2); /* the pool is not touched */
        unsigned number = make_call(f);
        assert_int_equal(f->state[number], CLAIMED);
        finish(f, number);
        assert_int_equal(f->dones, 1);
        assert_int_equal(f->outcome.outcome, OUTCOME_OK);
        assert_int_equal(f->created, 2);
}

static void calls_and_snippets_share_the_places(void **state) {
        struct fixture *f = *state;
        serve(f);
        for (int i = 0; i < 3; i++)
                submit(f, &call_request);
        submit(f, &request);
        submit(f, &call_request);
        assert_int_equal(f->call_count, 3); /* with the snippet, all four places */
        assert_int_equal(count(f, CLAIMED), 1);
        finish(f, first(f, CLAIMED));
        assert_int_equal(f->call_count, 4);
}

static void a_call_does_not_wait_for_the_pool(void **state) {
        struct fixture *f = *state;
        tell(f, (struct spawn_message){.type = SPAWN_HELLO, .max_sandboxes = 10}, NULL, 0);
        submit(f, &request); /* there is no template yet */
        submit(f, &call_request);
        assert_int_equal(f->call_count, 1);
        finish(f, make_call(f));
        assert_int_equal(f->dones, 1);
}

static void a_room_that_cannot_be_made_is_tried_again_once(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &call_request);
        fail_call(f, EAGAIN);
        assert_int_equal(f->refusals, 0);
        fail_call(f, EAGAIN);
        assert_int_equal(f->refusals, 1);
        assert_int_equal(f->refusal, RUN_REFUSED_ROOM);
        submit(f, &call_request);
        fail_call(f, ENOENT);
        assert_int_equal(f->refusals, 2);
        assert_int_equal(f->refusal, RUN_REFUSED_IMAGE);
        for (int i = 0; i < 4; i++) /* all places are free again */
                submit(f, &call_request);
        assert_int_equal(f->call_count, 4);
}

static void a_call_that_is_cancelled_leaves_nothing(void **state) {
        struct fixture *f = *state;
        serve(f);
        run_cancel(submit(f, &call_request)); /* while its sandbox is being made */
        turn(f);
        unsigned number = make_call(f);
        assert_int_equal(f->state[number], KILLED);
        assert_int_equal(f->killed_for[number], SPAWN_END_CANCELLED);
        end(f, number, SPAWN_END_CANCELLED);
        struct run *run = submit(f, &call_request);
        number = make_call(f);
        run_cancel(run);
        turn(f);
        assert_int_equal(f->state[number], KILLED);
        end(f, number, SPAWN_END_CANCELLED);
        assert_int_equal(f->dones + f->refusals, 0);
        for (int i = 0; i < 4; i++)
                submit(f, &call_request);
        assert_int_equal(f->call_count, 4);
}

static void a_call_is_made_again_only_if_it_never_began(void **state) {
        struct fixture *f = *state;
        serve(f);
        submit(f, &call_request);
        end(f, make_call(f), SPAWN_END_LOST);
        assert_int_equal(f->dones, 0);
        unsigned number = make_call(f);
        fake_frame(f->sandboxes[number].claim, FRAME_STARTED, NULL, 0);
        end(f, number, SPAWN_END_LOST);
        assert_int_equal(f->dones, 1);
        assert_int_equal(f->outcome.outcome, OUTCOME_KILLED);
        submit(f, &call_request);
        number = make_call(f);
        fake_frame(f->sandboxes[number].claim, FRAME_STARTED, NULL, 0);
        end(f, number, SPAWN_END_LOST); /* at once: of a snippet that would not count */
        assert_int_equal(f->dones, 2);
        assert_int_equal(f->call_count, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_call_gets_a_sandbox_of_its_own, setup, teardown),
                cmocka_unit_test_setup_teardown(calls_and_snippets_share_the_places, setup, teardown),
                cmocka_unit_test_setup_teardown(a_call_does_not_wait_for_the_pool, setup, teardown),
                cmocka_unit_test_setup_teardown(a_room_that_cannot_be_made_is_tried_again_once, setup, teardown),
                cmocka_unit_test_setup_teardown(a_call_that_is_cancelled_leaves_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(a_call_is_made_again_only_if_it_never_began, setup, teardown),
                TEST(the_pool_fills_when_the_template_serves),
                TEST(without_a_pool_the_template_is_enough),
                TEST(a_run_claims_at_once_and_is_replaced),
                TEST(a_burst_is_served_by_new_sandboxes),
                TEST(the_queue_is_bounded),
                TEST(waiting_is_bounded_in_time),
                TEST(runs_wait_for_a_template_that_starts),
                TEST(the_pool_heals),
                TEST(a_parked_sandbox_that_is_dying_is_not_handed_out),
                TEST(failures_to_make_one_are_tried_again),
                TEST(a_lost_sandbox_is_replaced_for_its_run),
                TEST(a_cancelled_run_is_killed_and_its_place_kept_until_it_is_gone),
                TEST(a_run_cancelled_in_the_queue_costs_no_sandbox),
                TEST(never_more_sandboxes_than_the_spawner_allows),
                TEST(a_sandbox_that_nobody_asked_for_is_ended),
                TEST(status_tells_the_numbers),
                TEST(draining_lets_runs_end_and_nothing_begin),
                TEST(draining_an_idle_engine_ends_at_once),
                TEST(losing_the_spawner_ends_the_service),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
