/*
 * One run against a sandbox that the test plays, and an engine that only takes notes: every way in which a run can go,
 * with a well-behaved and with a hostile other end.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "run/run.h"

#include "fake_sandbox.h"

struct fixture {
        unsigned descriptors;
        struct loop *loop;
        struct run *run;
        struct fake_sandbox sandbox;
        struct run_request request;
        struct run_limits limits;
        unsigned claims, overflows, abandons, requeues, finishes;  /* asked of the engine */
        unsigned starts, outputs, results, files, dones, refusals; /* told to the owner */
        enum run_refusal refusal;
        struct outcome_of_run outcome;
        char streamed[4096];
        size_t streamed_length;
        bool cancel_on_output;
};

static void host_claim(void *data, struct run *run) {
        (void)run;
        ((struct fixture *)data)->claims++;
}

static void host_overflow(void *data, struct run *run) {
        (void)run;
        ((struct fixture *)data)->overflows++;
}

static void host_abandon(void *data, struct run *run) {
        (void)run;
        ((struct fixture *)data)->abandons++;
}

static void host_requeue(void *data, struct run *run) {
        (void)run;
        ((struct fixture *)data)->requeues++;
}

static void host_finished(void *data, struct run *run) {
        (void)run;
        ((struct fixture *)data)->finishes++;
}

static const struct run_host host = {
        .claim = host_claim,
        .overflow = host_overflow,
        .abandon = host_abandon,
        .requeue = host_requeue,
        .finished = host_finished,
};

static void on_started(struct run *run, void *data) {
        (void)run;
        ((struct fixture *)data)->starts++;
}

static void on_output(struct run *run, void *data, enum run_stream stream, const char *bytes, size_t length) {
        struct fixture *f = data;
        (void)stream;
        f->outputs++;
        if (f->streamed_length + length < sizeof(f->streamed)) {
                memcpy(f->streamed + f->streamed_length, bytes, length);
                f->streamed_length += length;
        }
        if (f->cancel_on_output)
                run_cancel(run);
}

static void on_result(struct run *run, void *data, const struct rendered *result) {
        (void)run;
        (void)result;
        ((struct fixture *)data)->results++;
}

static void on_file(struct run *run, void *data, const struct rendered *file) {
        (void)run;
        (void)file;
        ((struct fixture *)data)->files++;
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

static const struct run_handler handler = {
        .on_started = on_started,
        .on_output = on_output,
        .on_result = on_result,
        .on_file = on_file,
        .on_done = on_done,
        .on_refused = on_refused,
};

static void stop_loop(void *data) {
        loop_quit(data, 0);
}

static void turn_for(struct fixture *f, uint64_t ns) {
        assert_int_equal(loop_add_timer(f->loop, ns, stop_loop, f->loop, NULL), 0);
        assert_int_equal(loop_run(f->loop), 0);
}

static void turn(struct fixture *f) {
        turn_for(f, 3 * NS_PER_MS);
}

static unsigned open_descriptors(void) {
        unsigned count = 0;
        for (int fd = 0; fd < 256; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static int setup(void **state) {
        static struct fixture f;
        f = (struct fixture){
                .descriptors = open_descriptors(),
                .sandbox = {-1, -1, -1, -1},
                .request =
                        {.code = "print(1)", .code_length = 8, .timeout_ms = 20000, .inline_files = true, .lane = "p"},
                .limits = {1 << 20, 64 << 20},
        };
        assert_int_equal(loop_new(&f.loop), 0);
        *state = &f;
        return 0;
}

static int teardown(void **state) {
        struct fixture *f = *state;
        run_free(f->run);
        fake_sandbox_close(&f->sandbox);
        loop_free(f->loop);
        assert_int_equal(open_descriptors(), f->descriptors); /* whatever happened, nothing is left open */
        return 0;
}

static void begin(struct fixture *f) {
        f->run = run_new(&(struct run_setup){f->loop, &f->request, f->limits, &handler, f, &host, f});
        assert_non_null(f->run);
}

static void lease(struct fixture *f) {
        static uint64_t next;
        int fds[SPAWN_READY_FDS];
        fake_sandbox_open(&f->sandbox, fds);
        run_lease(f->run, (struct sandbox_id){1, ++next}, fds);
}

/* The code as the runner gets it, with standard input; returns the descriptor of that. */
static int receive_code(struct fixture *f, char *code, size_t size) {
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct frame frame;
        struct iovec part = {&frame, sizeof(frame)};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof(control.bytes)};
        int fd;
        assert_int_equal(recvmsg(f->sandbox.claim, &message, MSG_CMSG_CLOEXEC), sizeof(frame));
        assert_int_equal(frame.type, FRAME_CODE);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        assert_non_null(header);
        assert_int_equal(header->cmsg_type, SCM_RIGHTS);
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        assert_true(frame.length < size);
        size_t got = 0;
        while (got < frame.length) {
                ssize_t r = recv(f->sandbox.claim, code + got, frame.length - got, 0);
                if (r < 0 && errno == EAGAIN)
                        turn(f);
                else {
                        assert_true(r > 0);
                        got += (size_t)r;
                }
        }
        code[got] = '\0';
        return fd;
}

static void begin_and_start(struct fixture *f) {
        char code[64];
        begin(f);
        lease(f);
        close(receive_code(f, code, sizeof(code)));
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        turn(f);
        assert_int_equal(f->run->machine.state, RUN_STARTED);
}

static void exit_with(struct fixture *f, enum spawn_end reason, int wait_status) {
        fake_sandbox_close(&f->sandbox);
        run_sandbox_gone(f->run, &(struct spawn_exit){f->run->sandbox, reason, wait_status, 1234, 5678, false, false, 0});
}

static size_t kept(const struct fixture *f, enum run_stream stream, char *to, size_t size) {
        size_t length = output_tail(&f->run->pipes[stream].output, to, size - 1);
        to[length] = '\0';
        return length;
}

static void assert_outcome(const struct fixture *f, enum outcome outcome, int exit_code) {
        assert_int_equal(f->dones, 1);
        assert_int_equal(f->finishes, 1);
        assert_int_equal(f->refusals, 0);
        assert_int_equal(f->outcome.outcome, outcome);
        assert_int_equal(f->outcome.exit_code, exit_code);
}

/* The usual way. */

static void runs_code_to_its_end(void **state) {
        struct fixture *f = *state;
        char code[64], text[64];
        struct stat st;
        begin(f);
        lease(f);
        assert_int_equal(f->claims, 1);
        int in = receive_code(f, code, sizeof(code));
        assert_string_equal(code, "print(1)");
        assert_int_equal(read(in, text, 1), 0);
        assert_int_equal(fstat(in, &st), 0);
        assert_int_equal(write(in, "x", 1), -1); /* sealed */
        close(in);

        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        fake_print(f->sandbox.out, "1\n");
        fake_print(f->sandbox.err, "warning\n");
        turn(f);
        fake_print(f->sandbox.out, "2\n"); /* and what is still in the pipes at the end */
        fake_frame(f->sandbox.claim, FRAME_RESULT, "{\"text/plain\":\"1\"}", 18);
        fake_file(f->sandbox.work, FRAME_FILE, 0, "a.txt", 5, 3, "abc", 3);
        fake_file(f->sandbox.work, FRAME_SKIPPED, SKIP_TOO_LARGE, "big", 3, 9999999, NULL, 0);
        fake_files_end(f->sandbox.work, 1, 4);
        exit_with(f, SPAWN_END_EXIT, 0);

        assert_outcome(f, OUTCOME_OK, 0);
        kept(f, RUN_STDOUT, text, sizeof(text));
        assert_string_equal(text, "1\n2\n");
        kept(f, RUN_STDERR, text, sizeof(text));
        assert_string_equal(text, "warning\n");
        assert_int_equal(f->run->results.count, 1);
        assert_int_equal(f->run->files.files.count, 1);
        assert_int_equal(f->run->files.skipped.count, 1);
        assert_int_equal(f->run->files.skipped_unnamed, 3);
        assert_true(f->run->files_complete);
        assert_int_equal(f->outputs + f->starts + f->results + f->files, 0); /* nobody watches */
        assert_true(f->run->claimed_ns <= f->run->started_ns && f->run->started_ns <= f->run->ended_ns);
}

static void standard_input_is_what_was_given(void **state) {
        struct fixture *f = *state;
        char code[64], text[16];
        f->request.stdin_bytes = "in\0put";
        f->request.stdin_length = 6;
        begin(f);
        lease(f);
        int in = receive_code(f, code, sizeof(code));
        assert_int_equal(read(in, text, sizeof(text)), 6);
        assert_memory_equal(text, "in\0put", 6);
        close(in);
}

static void large_code_goes_out_piece_by_piece(void **state) {
        struct fixture *f = *state;
        size_t length = 3 << 20;
        char *source = malloc(length), *code = malloc(length + 1);
        for (size_t i = 0; i < length; i++)
                source[i] = (char)('a' + i % 23);
        f->request.code = source;
        f->request.code_length = length;
        begin(f);
        lease(f);
        assert_int_equal(f->run->claim.fd_count, 0); /* it goes with the first piece and with no other */
        close(receive_code(f, code, length + 1));
        assert_memory_equal(code, source, length);
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        turn(f);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_outcome(f, OUTCOME_OK, 0);
        free(source);
        free(code);
}

static void ends_are_told_apart(void **state) {
        static const struct {
                enum spawn_end reason;
                int wait_status;
                enum outcome outcome;
                int exit_code;
        } ends[] = {
                {SPAWN_END_EXIT, 0, OUTCOME_OK, 0},
                {SPAWN_END_EXIT, 3 << 8, OUTCOME_ERROR, 3},
                {SPAWN_END_EXIT, 255 << 8, OUTCOME_ERROR, 255},
                {SPAWN_END_EXIT, 11, OUTCOME_ERROR, 139},
                {SPAWN_END_EXIT, 6 | 0x80, OUTCOME_ERROR, 134},
                {SPAWN_END_EXIT, 9, OUTCOME_ERROR, 137},
                {SPAWN_END_TIMEOUT, 9, OUTCOME_TIMEOUT, -1},
                {SPAWN_END_MEMORY, 9, OUTCOME_OUT_OF_MEMORY, 137},
                {SPAWN_END_OUTPUT, 9, OUTCOME_OUTPUT_LIMIT, 137},
                {SPAWN_END_LOST, 0, OUTCOME_KILLED, 137},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
                void *fixture;
                setup(&fixture);
                begin_and_start(fixture);
                if (ends[i].reason == SPAWN_END_LOST)
                        turn_for(fixture, 60 * NS_PER_MS);
                exit_with(fixture, ends[i].reason, ends[i].wait_status);
                assert_outcome(fixture, ends[i].outcome, ends[i].exit_code);
                teardown(&fixture);
        }
}

static void a_watcher_hears_everything(void **state) {
        struct fixture *f = *state;
        f->request.watched = true;
        begin_and_start(f);
        fake_print(f->sandbox.out, "ab");
        turn(f);
        fake_frame(f->sandbox.claim, FRAME_RESULT, "{\"text/plain\":\"1\"}", 18);
        fake_print(f->sandbox.err, "cd");
        turn(f);
        fake_file(f->sandbox.work, FRAME_FILE, 0, "a.txt", 5, 0, NULL, 0);
        fake_files_end(f->sandbox.work, 1, 0);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_int_equal(f->starts, 1);
        assert_int_equal(f->results, 1);
        assert_int_equal(f->files, 1);
        assert_memory_equal(f->streamed, "abcd", 4);
}

/* Inputs. */

static const struct work_input two_inputs[] = {{"a.txt", 5, "one", 3}, {"in/b", 4, "", 0}};

static void read_exactly(struct fixture *f, void *to, size_t length) {
        for (size_t got = 0; got < length;) {
                ssize_t r = recv(f->sandbox.work, (char *)to + got, length - got, 0);
                if (r < 0 && errno == EAGAIN)
                        turn(f);
                else {
                        assert_true(r > 0);
                        got += (size_t)r;
                }
        }
}

static void receive_inputs(struct fixture *f, const struct work_input *inputs, size_t count) {
        struct frame frame;
        for (size_t i = 0; i < count; i++) {
                struct file_head head;
                char name[FILE_NAME_MAX];
                read_exactly(f, &frame, sizeof(frame));
                assert_int_equal(frame.type, FRAME_INPUT);
                read_exactly(f, &head, sizeof(head));
                assert_int_equal(head.size, inputs[i].size);
                assert_int_equal(frame.length, sizeof(head) + head.name_length + head.size);
                read_exactly(f, name, head.name_length);
                assert_memory_equal(name, inputs[i].name, inputs[i].name_length);
                char *content = malloc(head.size + 1);
                read_exactly(f, content, head.size);
                assert_memory_equal(content, inputs[i].bytes, head.size);
                free(content);
        }
        read_exactly(f, &frame, sizeof(frame));
        assert_int_equal(frame.type, FRAME_INPUTS_END);
}

static void inputs_go_first(void **state) {
        struct fixture *f = *state;
        char code[64];
        f->request.inputs = two_inputs;
        f->request.input_count = 2;
        begin(f);
        lease(f);
        receive_inputs(f, two_inputs, 2);
        turn(f);
        assert_int_equal(f->claims, 0);
        fake_frame(f->sandbox.work, FRAME_INPUTS_END, NULL, 0);
        turn(f);
        assert_int_equal(f->claims, 1);
        close(receive_code(f, code, sizeof(code)));
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        turn(f);
        fake_files_end(f->sandbox.work, 0, 0);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_outcome(f, OUTCOME_OK, 0);
        assert_true(f->run->files_complete);
}

static void large_inputs_go_out_piece_by_piece(void **state) {
        struct fixture *f = *state;
        size_t length = 4 << 20;
        char *content = malloc(length);
        for (size_t i = 0; i < length; i++)
                content[i] = (char)(i % 251);
        const struct work_input inputs[] = {{"big", 3, content, length}, {"small", 5, "x", 1}};
        f->request.inputs = inputs;
        f->request.input_count = 2;
        begin(f);
        lease(f);
        receive_inputs(f, inputs, 2);
        free(content);
        assert_int_equal(f->run->machine.state, RUN_INPUTS);
}

static void an_input_that_does_not_fit_refuses_the_run(void **state) {
        struct fixture *f = *state;
        f->request.inputs = two_inputs;
        f->request.input_count = 2;
        begin(f);
        lease(f);
        receive_inputs(f, two_inputs, 2);
        fake_file(f->sandbox.work, FRAME_INPUT_FAILED, ENOSPC, "a.txt", 5, 3, NULL, 0);
        fake_file(f->sandbox.work, FRAME_INPUT_FAILED, EINVAL, "in/b", 4, 0, NULL, 0);
        turn(f);
        assert_int_equal(f->refusals, 0);
        fake_frame(f->sandbox.work, FRAME_INPUTS_END, NULL, 0);
        turn(f);
        assert_int_equal(f->refusals, 1);
        assert_int_equal(f->refusal, RUN_REFUSED_INPUT);
        assert_string_equal(f->run->input_error.name, "a.txt"); /* the first one */
        assert_int_equal(f->run->input_error.error, ENOSPC);
        assert_int_equal(f->abandons, 1);
        assert_int_equal(f->finishes, 1);
        assert_int_equal(f->claims, 0);
}

static void init_may_not_answer_before_it_has_the_inputs(void **state) {
        struct fixture *f = *state;
        size_t length = 4 << 20;
        char *content = calloc(1, length);
        const struct work_input inputs[] = {{"big", 3, content, length}};
        f->request.inputs = inputs;
        f->request.input_count = 1;
        begin(f);
        lease(f);
        fake_frame(f->sandbox.work, FRAME_INPUTS_END, NULL, 0);
        turn(f);
        assert_int_equal(f->claims, 0);
        free(content);
}

/* Losses. */

static void a_sandbox_lost_before_the_start_is_replaced_once(void **state) {
        struct fixture *f = *state;
        char code[64], first[ID_TEXT_BYTES];
        begin(f);
        lease(f);
        strcpy(first, f->run->sandbox_id);
        exit_with(f, SPAWN_END_LOST, 0);
        assert_int_equal(f->requeues, 1);
        assert_int_equal(f->dones + f->finishes, 0);
        assert_int_equal(f->run->machine.state, RUN_QUEUED);

        lease(f);
        assert_string_not_equal(f->run->sandbox_id, first);
        close(receive_code(f, code, sizeof(code)));
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        fake_print(f->sandbox.out, "once\n");
        turn(f);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_outcome(f, OUTCOME_OK, 0);
        kept(f, RUN_STDOUT, code, sizeof(code));
        assert_string_equal(code, "once\n");
}

static void two_losses_are_an_internal_error(void **state) {
        struct fixture *f = *state;
        begin(f);
        lease(f);
        exit_with(f, SPAWN_END_LOST, 0);
        lease(f);
        exit_with(f, SPAWN_END_LOST, 0);
        assert_outcome(f, OUTCOME_INTERNAL, 137);
}

static void wait_until_it_cannot_have_been_dying(struct fixture *f) {
        turn_for(f, 60 * NS_PER_MS);
}

/* The spawner's word may overtake that of the runner. */
static void a_start_that_is_still_in_the_socket_counts(void **state) {
        struct fixture *f = *state;
        begin(f);
        lease(f);
        wait_until_it_cannot_have_been_dying(f);
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        exit_with(f, SPAWN_END_LOST, 0);
        assert_int_equal(f->requeues, 0);
        assert_outcome(f, OUTCOME_KILLED, 137);
}

static void output_that_is_still_in_the_pipe_counts(void **state) {
        struct fixture *f = *state;
        begin(f);
        lease(f);
        wait_until_it_cannot_have_been_dying(f);
        fake_print(f->sandbox.out, "x");
        exit_with(f, SPAWN_END_LOST, 0);
        assert_int_equal(f->requeues, 0);
        assert_outcome(f, OUTCOME_KILLED, 137);
}

static void a_sandbox_that_was_dying_when_it_was_claimed_is_replaced(void **state) {
        struct fixture *f = *state;
        begin_and_start(f);
        fake_print(f->sandbox.out, "x");
        fake_frame(f->sandbox.claim, FRAME_RESULT, "{\"text/plain\":\"1\"}", 18);
        fake_file(f->sandbox.work, FRAME_FILE, 0, "a.txt", 5, 0, NULL, 0);
        turn(f);
        exit_with(f, SPAWN_END_LOST, 0);
        assert_int_equal(f->requeues, 1);
        lease(f);
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        fake_files_end(f->sandbox.work, 0, 0);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_outcome(f, OUTCOME_OK, 0);
        assert_int_equal(f->run->pipes[RUN_STDOUT].output.written, 0); /* nothing of the first try is left */
        assert_int_equal(f->run->results.count + f->run->files.files.count, 0);
}

static void what_a_watcher_has_seen_is_not_repeated(void **state) {
        struct fixture *f = *state;
        f->request.watched = true;
        begin_and_start(f);
        exit_with(f, SPAWN_END_LOST, 0);
        assert_int_equal(f->requeues, 0);
        assert_outcome(f, OUTCOME_KILLED, 137);
}

/* A syntax error ends the runner before there is a first instruction; that is the snippet's own end. */
static void an_exit_without_a_start_is_an_end(void **state) {
        struct fixture *f = *state;
        begin(f);
        lease(f);
        fake_print(f->sandbox.err, "SyntaxError: invalid syntax\n");
        exit_with(f, SPAWN_END_EXIT, 1 << 8);
        assert_int_equal(f->requeues, 0);
        assert_outcome(f, OUTCOME_ERROR, 1);
}

static void a_crash_without_a_word_is_tried_again_and_then_believed(void **state) {
        struct fixture *f = *state;
        begin(f);
        lease(f);
        exit_with(f, SPAWN_END_EXIT, 11);
        assert_int_equal(f->requeues, 1);
        lease(f);
        exit_with(f, SPAWN_END_EXIT, 11);
        assert_outcome(f, OUTCOME_ERROR, 139);
}

static void a_sandbox_lost_with_its_inputs_is_replaced(void **state) {
        struct fixture *f = *state;
        f->request.inputs = two_inputs;
        f->request.input_count = 2;
        begin(f);
        lease(f);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_int_equal(f->requeues, 1);
        lease(f);
        receive_inputs(f, two_inputs, 2); /* all of them again */
}

static void a_channel_that_is_held_open_delays_the_end_only_so_long(void **state) {
        struct fixture *f = *state;
        begin_and_start(f);
        int held = dup(f->sandbox.out);
        fake_print(f->sandbox.out, "x");
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_int_equal(f->dones, 0);
        turn_for(f, 1100 * NS_PER_MS);
        assert_outcome(f, OUTCOME_OK, 0);
        close(held);
}

/* Output. */

static void a_flood_ends_the_run(void **state) {
        struct fixture *f = *state;
        static char block[60000];
        memset(block, 'x', sizeof(block));
        f->limits = (struct run_limits){10000, 500000};
        begin_and_start(f);
        for (int i = 0; i < 100 && f->overflows == 0; i++) {
                ssize_t put = write(i % 2 ? f->sandbox.out : f->sandbox.err, block, sizeof(block));
                assert_true(put > 0 || errno == EAGAIN);
                turn(f);
        }
        assert_int_equal(f->overflows, 1);
        uint64_t at_limit = f->run->pipes[0].output.written + f->run->pipes[1].output.written;
        assert_true(at_limit > 500000 && at_limit < 700000);
        for (int i = 0; i < 10; i++) { /* nobody reads it any more */
                assert_true(write(f->sandbox.out, block, sizeof(block)) > 0 || errno == EAGAIN);
                turn(f);
        }
        assert_int_equal(f->run->pipes[0].output.written + f->run->pipes[1].output.written, at_limit);
        exit_with(f, SPAWN_END_OUTPUT, 9);
        assert_int_equal(f->overflows, 1);
        assert_outcome(f, OUTCOME_OUTPUT_LIMIT, 137);
        assert_true(output_truncated(&f->run->pipes[0].output));
        assert_true(f->run->pipes[0].output.size <= 10000);
}

static void a_pause_stops_the_reading(void **state) {
        struct fixture *f = *state;
        begin_and_start(f);
        run_pause_output(f->run, true);
        fake_print(f->sandbox.out, "x");
        turn(f);
        assert_int_equal(f->run->pipes[RUN_STDOUT].output.written, 0);
        run_pause_output(f->run, false);
        turn(f);
        assert_int_equal(f->run->pipes[RUN_STDOUT].output.written, 1);
        run_pause_output(f->run, true);
        fake_print(f->sandbox.out, "y");
        exit_with(f, SPAWN_END_EXIT, 0); /* nothing is lost in a pause */
        assert_int_equal(f->run->pipes[RUN_STDOUT].output.written, 2);
        assert_outcome(f, OUTCOME_OK, 0);
}

/* Cancelling. */

static void cancelling_ends_every_stage(void **state) {
        (void)state;
        for (int stage = 0; stage < 5; stage++) {
                void *fixture;
                char code[64];
                setup(&fixture);
                struct fixture *f = fixture;
                if (stage == 1) {
                        f->request.inputs = two_inputs;
                        f->request.input_count = 2;
                }
                begin(f);
                if (stage >= 1)
                        lease(f);
                if (stage >= 3) {
                        close(receive_code(f, code, sizeof(code)));
                        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
                        turn(f);
                }
                int held = stage == 4 ? dup(f->sandbox.out) : -1;
                if (stage == 4)
                        exit_with(f, SPAWN_END_EXIT, 0);
                run_cancel(f->run);
                assert_int_equal(f->finishes, 1);
                assert_int_equal(f->abandons, stage >= 1 && stage <= 3 ? 1 : 0);
                run_cancel(f->run);
                if (f->sandbox.out >= 0)
                        fake_print(f->sandbox.out, "late");
                turn(f);
                assert_int_equal(f->finishes, 1);
                assert_int_equal(f->dones + f->refusals, 0);
                if (held >= 0)
                        close(held);
                teardown(&fixture);
        }
}

static void cancelling_from_within_a_callback(void **state) {
        struct fixture *f = *state;
        f->request.watched = true;
        f->cancel_on_output = true;
        begin_and_start(f);
        fake_print(f->sandbox.out, "x");
        fake_print(f->sandbox.err, "x");
        turn(f);
        assert_int_equal(f->outputs, 1);
        assert_int_equal(f->finishes, 1);
        assert_int_equal(f->abandons, 1);
        assert_int_equal(f->dones, 0);
}

static void a_refusal_from_the_queue(void **state) {
        struct fixture *f = *state;
        begin(f);
        run_refuse(f->run, RUN_REFUSED_WAITED);
        assert_int_equal(f->refusals, 1);
        assert_int_equal(f->refusal, RUN_REFUSED_WAITED);
        assert_int_equal(f->finishes, 1);
}

/* A hostile other end. */

static void bad_results_cost_only_themselves(void **state) {
        static const char *const bad[] = {"[]", "{\"text/plain\":4}", "not json at all", "{\"x\":\"\"}"};
        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                void *fixture;
                setup(&fixture);
                struct fixture *f = fixture;
                begin_and_start(f);
                fake_frame(f->sandbox.claim, FRAME_RESULT, "{\"text/plain\":\"1\"}", 18);
                fake_frame(f->sandbox.claim, FRAME_RESULT, bad[i], (uint32_t)strlen(bad[i]));
                turn(f);
                assert_int_equal(send(f->sandbox.claim, "x", 1, MSG_NOSIGNAL), -1); /* it must not block for ever */
                fake_print(f->sandbox.out, "still heard");
                turn(f);
                exit_with(f, SPAWN_END_EXIT, 0);
                assert_outcome(f, OUTCOME_OK, 0);
                assert_int_equal(f->run->results.count, 1);
                assert_int_equal(f->run->pipes[RUN_STDOUT].output.written, 11);
                teardown(&fixture);
        }
}

static void results_are_bounded_in_number(void **state) {
        struct fixture *f = *state;
        begin_and_start(f);
        for (int i = 0; i < RESULTS_MAX + 1; i++) {
                fake_frame(f->sandbox.claim, FRAME_RESULT, "{\"text/plain\":\"1\"}", 18);
                turn_for(f, NS_PER_MS / 10);
        }
        turn(f);
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_int_equal(f->run->results.count, RESULTS_MAX);
}

static void a_second_start_is_bad(void **state) {
        struct fixture *f = *state;
        begin_and_start(f);
        uint64_t started_ns = f->run->started_ns;
        fake_frame(f->sandbox.claim, FRAME_STARTED, NULL, 0);
        turn(f);
        assert_true(f->run->claim.ended);
        assert_int_equal(f->run->started_ns, started_ns);
}

static void names_and_sizes_of_files_are_checked(void **state) {
        static const struct {
                const char *name;
                size_t name_length;
                uint32_t type, reason;
                uint64_t size;
                size_t content_length;
        } bad[] = {
                {"../x", 4, FRAME_FILE, 0, 1, 1},
                {"/x", 2, FRAME_FILE, 0, 1, 1},
                {"a//b", 4, FRAME_FILE, 0, 1, 1},
                {"a/", 2, FRAME_FILE, 0, 1, 1},
                {".", 1, FRAME_FILE, 0, 1, 1},
                {"a/../b", 6, FRAME_FILE, 0, 1, 1},
                {"a\0b", 3, FRAME_FILE, 0, 1, 1},
                {"x", 1, FRAME_FILE, 0, 2, 1},
                {"x", 1, FRAME_FILE, 0, 0, 1},
                {"x", 1, FRAME_FILE, 0, UINT64_MAX, 1},
                {"x", 1, FRAME_SKIPPED, 0, 1, 0},
                {"x", 1, FRAME_SKIPPED, 99, 1, 0},
                {"x", 1, FRAME_SKIPPED, SKIP_NAME, 1, 1},
                {"..", 2, FRAME_SKIPPED, SKIP_NAME, 1, 0},
                {"x", 1, FRAME_INPUT_FAILED, 1, 1, 0},
                {"x", 1, FRAME_INPUT, 0, 1, 1},
                {"x", 1, FRAME_RESULT, 0, 1, 1},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                void *fixture;
                setup(&fixture);
                struct fixture *f = fixture;
                begin_and_start(f);
                fake_file(f->sandbox.work, FRAME_FILE, 0, "good", 4, 1, "g", 1);
                fake_file(f->sandbox.work, bad[i].type, bad[i].reason, bad[i].name, bad[i].name_length, bad[i].size,
                          "0123456789", bad[i].content_length);
                turn(f);
                if (!f->run->work.ended)
                        fail_msg("case %zu", i);
                assert_int_equal(send(f->sandbox.work, "x", 1, MSG_NOSIGNAL), -1);
                exit_with(f, SPAWN_END_EXIT, 0);
                assert_outcome(f, OUTCOME_OK, 0);
                assert_int_equal(f->run->files.files.count, 1);
                assert_int_equal(f->run->files.skipped.count, 0);
                assert_false(f->run->files_complete);
                teardown(&fixture);
        }
}

static void a_name_longer_than_its_frame_is_bad(void **state) {
        struct fixture *f = *state;
        struct file_head head = {.name_length = 1000, .size = 0};
        char payload[sizeof(head) + 4] = {0};
        memcpy(payload, &head, sizeof(head));
        begin_and_start(f);
        fake_frame(f->sandbox.work, FRAME_FILE, payload, sizeof(payload));
        turn(f);
        assert_true(f->run->work.ended);
        assert_int_equal(f->run->files.files.count, 0);
}

static void files_are_bounded_in_number(void **state) {
        struct fixture *f = *state;
        begin_and_start(f);
        for (int i = 0; i < FILES_MAX + 5; i++) {
                char name[16];
                snprintf(name, sizeof(name), "f%d", i);
                if (f->run->work.ended)
                        break;
                fake_file(f->sandbox.work, FRAME_FILE, 0, name, strlen(name), 1, "x", 1);
                turn_for(f, NS_PER_MS / 10);
        }
        exit_with(f, SPAWN_END_EXIT, 0);
        assert_int_equal(f->run->files.files.count, FILES_MAX);
}

/* Any bytes at any time: the run ends, once, and nothing else happens. */
static void survives_noise(void **state) {
        (void)state;
        srand(13);
        for (int round = 0; round < 300; round++) {
                void *fixture;
                setup(&fixture);
                struct fixture *f = fixture;
                f->request.watched = rand() % 2;
                if (rand() % 2) {
                        f->request.inputs = two_inputs;
                        f->request.input_count = 2;
                }
                begin(f);
                lease(f);
                for (int i = 0; i < 6; i++) {
                        unsigned char noise[64];
                        int to[] = {f->sandbox.claim, f->sandbox.work, f->sandbox.out, f->sandbox.err};
                        for (size_t j = 0; j < sizeof(noise); j++)
                                noise[j] = rand() % 3 ? (unsigned char)(rand() % 40) : 0;
                        int fd = to[rand() % 4];
                        ssize_t put = fd == f->sandbox.out || fd == f->sandbox.err
                                              ? write(fd, noise, (size_t)rand() % sizeof(noise))
                                              : send(fd, noise, (size_t)rand() % sizeof(noise), MSG_NOSIGNAL);
                        (void)put;
                        turn_for(f, NS_PER_MS / 5);
                }
                if (f->finishes == 0)
                        exit_with(f, rand() % 2 ? SPAWN_END_EXIT : SPAWN_END_TIMEOUT, 0);
                assert_int_equal(f->dones + f->refusals + f->requeues, 1);
                teardown(&fixture);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(runs_code_to_its_end),
                TEST(standard_input_is_what_was_given),
                TEST(large_code_goes_out_piece_by_piece),
                cmocka_unit_test(ends_are_told_apart),
                TEST(a_watcher_hears_everything),
                TEST(inputs_go_first),
                TEST(large_inputs_go_out_piece_by_piece),
                TEST(an_input_that_does_not_fit_refuses_the_run),
                TEST(init_may_not_answer_before_it_has_the_inputs),
                TEST(a_sandbox_lost_before_the_start_is_replaced_once),
                TEST(two_losses_are_an_internal_error),
                TEST(a_start_that_is_still_in_the_socket_counts),
                TEST(output_that_is_still_in_the_pipe_counts),
                TEST(a_sandbox_that_was_dying_when_it_was_claimed_is_replaced),
                TEST(what_a_watcher_has_seen_is_not_repeated),
                TEST(an_exit_without_a_start_is_an_end),
                TEST(a_crash_without_a_word_is_tried_again_and_then_believed),
                TEST(a_sandbox_lost_with_its_inputs_is_replaced),
                TEST(a_channel_that_is_held_open_delays_the_end_only_so_long),
                TEST(a_flood_ends_the_run),
                TEST(a_pause_stops_the_reading),
                cmocka_unit_test(cancelling_ends_every_stage),
                TEST(cancelling_from_within_a_callback),
                TEST(a_refusal_from_the_queue),
                cmocka_unit_test(bad_results_cost_only_themselves),
                TEST(results_are_bounded_in_number),
                TEST(a_second_start_is_bad),
                cmocka_unit_test(names_and_sizes_of_files_are_checked),
                TEST(a_name_longer_than_its_frame_is_bad),
                TEST(files_are_bounded_in_number),
                cmocka_unit_test(survives_noise),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
