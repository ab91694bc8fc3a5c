/*
 * Fuzz target: everything that a sandbox may write into its descriptors, in any order and in any pieces.
 *
 * The first byte says what runs: bit 0 a snippet with input files, bit 1 a tool call. Then comes a list of commands: one
 * byte that says where (claim channel, work channel, stdout, stderr, a turn of the loop, the end; from 128 on the egress
 * channel), one byte of length, and the bytes. Whatever comes, the run must be answered exactly once.
 */
#include <assert.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static unsigned answers, requeues;

static void ignore_host(void *data, struct run *run) {
        (void)data;
        (void)run;
}

static void count_requeue(void *data, struct run *run) {
        (void)data;
        (void)run;
        requeues++;
}

static void ignore_output(struct run *run, void *data, enum run_stream stream, const char *bytes, size_t length) {
        (void)run;
        (void)data;
        (void)stream;
        (void)bytes;
        (void)length;
}

static void ignore_item(struct run *run, void *data, const struct rendered *item) {
        (void)run;
        (void)data;
        json_t *object = json_loadb(item->json, item->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        assert(json_is_object(object));
        json_decref(object);
}

static void ignore_start(struct run *run, void *data) {
        (void)run;
        (void)data;
}

/* What came of a call is judged as its reply would be. */
static void count_done(struct run *run, void *data) {
        struct call_facts facts = {.outcome = run->outcome};
        struct call_error error;
        (void)data;
        call_end_judge(&run->call_end, &run->call_end.result, &facts, &error);
        call_error_deinit(&error);
        answers++;
}

static void count_refused(struct run *run, void *data, enum run_refusal why) {
        (void)run;
        (void)data;
        (void)why;
        answers++;
}

static const struct run_host host = {
        .claim = ignore_host,
        .rest = ignore_host,
        .overflow = ignore_host,
        .abandon = ignore_host,
        .requeue = count_requeue,
        .finished = ignore_host,
};
static const struct run_handler handler = {
        .on_started = ignore_start,
        .on_output = ignore_output,
        .on_result = ignore_item,
        .on_file = ignore_item,
        .on_done = count_done,
        .on_refused = count_refused,
};
static const struct work_input inputs[] = {{"a", 1, "x", 1}};

static void stop_loop(void *data) {
        loop_quit(data, 0);
}

static void turn(struct loop *loop) {
        loop_add_timer(loop, 0, stop_loop, loop, NULL);
        loop_run(loop);
}

static bool is_socket(int which) {
        return which == SPAWN_FD_CLAIM || which == SPAWN_FD_WORK || which == SPAWN_FD_EGRESS;
}

static void play(struct loop *loop, struct run *run, int ends[SPAWN_READY_FDS], const uint8_t *bytes, size_t length) {
        for (size_t at = 0; at + 2 <= length && run->machine.state != RUN_DONE && requeues == 0;) {
                bool is_egress = bytes[at] >= 128;
                uint8_t where = is_egress ? SPAWN_FD_EGRESS : bytes[at] % 6;
                size_t part = bytes[at + 1];
                at += 2;
                if (is_egress && ends[SPAWN_FD_EGRESS] < 0)
                        continue;
                if (!is_egress && where == 4) {
                        turn(loop);
                        continue;
                }
                if (where == 5)
                        return;
                part = part < length - at ? part : length - at;
                ssize_t put = is_socket(where) ? send(ends[where], bytes + at, part, MSG_NOSIGNAL | MSG_DONTWAIT)
                                        : write(ends[where], bytes + at, part);
                (void)put;
                at += part;
        }
}

static void run_one(const uint8_t *bytes, size_t length, bool with_inputs, bool is_call) {
        int pair[2], fds[SPAWN_READY_FDS] = {[SPAWN_FD_EGRESS] = -1}, ends[SPAWN_READY_FDS] = {[SPAWN_FD_EGRESS] = -1};
        int count = is_call ? SPAWN_READY_FDS : SPAWN_SNIPPET_FDS;
        struct loop *loop;
        const struct run_request request = {
                .kind = is_call ? RUN_CALL : RUN_SNIPPET,
                .code = "x",
                .code_length = 1,
                .timeout_ms = 1,
                .inline_files = true,
                .watched = true,
                .inputs = inputs,
                .input_count = with_inputs && !is_call,
                .lane = "",
        };
        if (loop_new(&loop) < 0)
                abort();
        for (int i = 0; i < count; i++) {
                int r = is_socket(i) ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair)
                                            : pipe2(pair, O_NONBLOCK);
                if (r < 0)
                        abort();
                fds[i] = pair[0];
                ends[i] = pair[1];
        }
        struct run *run = run_new(&(struct run_setup){loop, &request, {4096, 8192}, &handler, NULL, &host, NULL});
        answers = requeues = 0;
        run_lease(run, (struct sandbox_id){1, 2}, fds);
        play(loop, run, ends, bytes, length);
        turn(loop);
        for (int i = 0; i < count; i++)
                close(ends[i]);
        if (run->hold == RUN_HAS_SANDBOX)
                run_sandbox_gone(run, &(struct spawn_exit){run->sandbox, SPAWN_END_EXIT, 0, 0, 0, false, false, 0});
        turn(loop); /* the egress channel is read from the loop */
        turn(loop);
        assert(answers + requeues == 1);
        run_free(run);
        loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        log_init("fuzz", LOG_LEVEL_ERROR + 1);
        if (length > 0)
                run_one(bytes + 1, length - 1, bytes[0] & 1, bytes[0] & 2);
        return 0;
}
