/* One run; see run.h. What each event leads to stands in sched/run_state.c; here is how it is done. */
#include "run/run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "run/run_private.h"
#include "run/run_stdin.h"

/* Inputs are memory to memory; an init that has not taken them by then will not do so at all. */
#define INPUTS_NS (10 * NS_PER_S)
/*
 * When the sandbox is gone, all other ends of its descriptors are closed and everything is there to be read. Should one
 * be held open by an error of ours, the run is answered without the rest after this time.
 */
#define DRAIN_NS (1 * NS_PER_S)
/*
 * A sandbox that is lost so soon after the claim was dying before it, for instance because the host killed it while it
 * was parked and it had not yet heard of that.
 */
#define DYING_NS (50 * NS_PER_MS)

static void act(struct run *run, unsigned actions);
static void on_egress_ended(void *data);
static void give_up_sandbox(struct run *run);

void run_step(struct run *run, enum run_event event) {
        act(run, run_machine_step(&run->machine, event));
}

/* What comes over the channels. */

static void on_started(void *data) {
        struct run *run = data;
        run->started_ns = clock_now_ns();
        run_step(run, RUN_EVENT_STARTED);
        if (run->setup.request->watched && run->machine.state == RUN_STARTED)
                run->setup.handler->on_started(run, run->setup.handler_data);
}

static void on_call_end(void *data, const char *json, size_t length) {
        struct run *run = data;
        if (json)
                call_end_take(&run->call_end, json, length);
        else
                call_end_refuse_size(&run->call_end, length);
}

static void on_progress(void *data, const char *json, size_t length) {
        struct run *run = data;
        if (run->machine.state != RUN_DONE && run->setup.handler->on_progress)
                run->setup.handler->on_progress(run, run->setup.handler_data, json, length);
}

static void on_result(void *data, char *json, size_t length) {
        struct run *run = data;
        if (run->machine.state == RUN_DONE)
                free(json);
        else if (rendered_list_add(&run->results, json, length) == 0 && run->setup.request->watched)
                run->setup.handler->on_result(run, run->setup.handler_data,
                                              &run->results.items[run->results.count - 1]);
}

static int send_inputs(struct run *run) {
        const struct run_request *request = run->setup.request;
        return work_channel_send_inputs(&run->work, (struct work_batch){request->inputs, request->input_count, 0});
}

/* Old files that do not come back are named by whoever keeps them; the request's own follow. */
static void on_restored(struct run *run) {
        run->restoring = false;
        if (run->setup.request->input_count == 0)
                run_step(run, RUN_EVENT_INPUTS_WRITTEN);
        else if (send_inputs(run) < 0)
                give_up_sandbox(run);
}

static void on_inputs_tried(void *data, const char *failed_name, size_t length, int error) {
        struct run *run = data;
        if (run->restoring) {
                on_restored(run);
                return;
        }
        if (failed_name) {
                memcpy(run->input_error.name, failed_name, length);
                run->input_error.name[length] = '\0';
                run->input_error.error = error;
                run->refusal = RUN_REFUSED_INPUT;
        }
        if (!failed_name)
                run_step(run, RUN_EVENT_INPUTS_WRITTEN);
        else
                run_step(run, run->session ? RUN_EVENT_INPUT_REFUSED_BY_SESSION : RUN_EVENT_INPUT_REFUSED);
}

static void on_file(void *data, const struct work_file *file) {
        struct run *run = data;
        if (run->machine.state == RUN_DONE || run->kind != RUN_SNIPPET)
                return;
        const struct run_request *request = run->setup.request;
        const struct rendered *rendered = run_files_add(&run->files, file, request->inline_files, request->keep_files);
        if (rendered && !file->skipped && run->setup.request->watched)
                run->setup.handler->on_file(run, run->setup.handler_data, rendered);
}

static void on_files_end(void *data, const struct files_end *end) {
        struct run *run = data;
        size_t named = run->files.skipped.count;
        run->files_complete = true;
        run->files.skipped_unnamed = end->skipped > named ? end->skipped - (uint32_t)named : 0;
        run->collected = true;
        run_call_finish(run);
}

static const struct claim_handler claim_handler = {
        .on_started = on_started,
        .on_result = on_result,
        .on_call_over = run_call_on_over,
        .on_call_end = on_call_end,
        .on_progress = on_progress,
};
static const struct work_handler work_handler = {
        .on_inputs_tried = on_inputs_tried,
        .on_file = on_file,
        .on_files_end = on_files_end,
};

/* The sandbox's descriptors. */

static void open_channels(struct run *run, const int fds[SPAWN_READY_FDS]) {
        claim_channel_init(&run->claim, run->setup.loop, fds[SPAWN_FD_CLAIM], &claim_handler, run);
        work_channel_init(&run->work, run->setup.loop, fds[SPAWN_FD_WORK], &work_handler, run);
        egress_channel_init(&run->egress, run->setup.loop, fds[SPAWN_FD_EGRESS], on_egress_ended, run);
        for (int i = 0; i < RUN_STREAMS; i++) {
                run->pipes[i].fd = fds[SPAWN_FD_STDOUT + i];
                run->pipes[i].held = -1;
                output_init(&run->pipes[i].output, run->setup.limits.output_keep_bytes);
        }
        run->channels_open = true;
}

static void close_channels(struct run *run) {
        if (!run->channels_open)
                return;
        run->channels_open = false;
        claim_channel_deinit(&run->claim);
        work_channel_deinit(&run->work);
        egress_channel_deinit(&run->egress);
        for (int i = 0; i < RUN_STREAMS; i++) {
                run_pipe_close(run, &run->pipes[i]);
                output_deinit(&run->pipes[i].output);
        }
}

/* Stops all callbacks without giving any memory back: one of them may be running. */
static void silence(struct run *run) {
        loop_remove(run->setup.loop, &run->timer);
        if (!run->channels_open)
                return;
        run_deafen(run);
        loop_remove(run->setup.loop, &run->claim.source);
        loop_remove(run->setup.loop, &run->work.source);
        loop_remove(run->setup.loop, &run->egress.source);
}

/* Actions. */

static void abandon(struct run *run) {
        if (run->hold != RUN_HAS_SANDBOX)
                return;
        run->hold = RUN_NO_SANDBOX;
        silence(run);
        run->setup.host->abandon(run->setup.host_data, run);
}

/* Ends a sandbox that has not run anything and gives the run back to the queue, or up. */
static void give_up_sandbox(struct run *run) {
        abandon(run);
        run->end = (struct spawn_exit){.sandbox = run->sandbox, .reason = SPAWN_END_LOST};
        run_step(run, RUN_EVENT_LOST);
}

static void on_inputs_timeout(void *data) {
        struct run *run = data;
        run->timer = NULL;
        log_warning("a sandbox did not take its input files in time", "run", run->id, "sandbox", run->sandbox_id);
        give_up_sandbox(run);
}

static void write_inputs(struct run *run) {
        run->restoring = run->restore != NULL;
        int r = run->restoring ? work_channel_send_inputs(&run->work, *run->restore) : send_inputs(run);
        if (r == 0)
                r = loop_add_timer(run->setup.loop, INPUTS_NS, on_inputs_timeout, run, &run->timer);
        if (r < 0)
                give_up_sandbox(run);
}

static int open_input(const struct run_request *request) {
        if (request->kind != RUN_IMPORT || request->archive_fd < 0)
                return run_stdin_new(request->stdin_bytes, request->stdin_length);
        if (lseek(request->archive_fd, 0, SEEK_SET) < 0)
                return -errno;
        int fd = fcntl(request->archive_fd, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}

void run_prepare(void) {
        run_stdin_prepare();
        run_pipes_prepare(); /* if there are none now, the call tries again */
}

static enum frame_type frame_of(const struct run_request *request) {
        if (request->kind != RUN_SNIPPET)
                return FRAME_CALL;
        return request->session ? FRAME_CELL : FRAME_CODE;
}

/* The order is what makes a run quick: the clock and the code first, everything that can be done beside it later. */
static void claim(struct run *run) {
        const struct run_request *request = run->setup.request;
        int fds[CELL_FDS];
        loop_remove(run->setup.loop, &run->timer);
        if ((fds[CELL_FD_STDIN] = open_input(request)) < 0 ||
            (request->session && run_make_pipes(run, fds) < 0)) {
                close_fd(&fds[CELL_FD_STDIN]);
                give_up_sandbox(run);
                return;
        }
        run->claimed_ns = clock_now_ns();
        run->started_at_ms = clock_wall_ms();
        run->setup.host->claim(run->setup.host_data, run);
        int r = claim_channel_send(&run->claim, frame_of(request), request->code, request->code_length, fds);
        if (r == 0)
                r = run_listen(run);
        if (r == 0)
                r = work_channel_listen(&run->work);
        if (r == 0)
                r = egress_channel_listen(&run->egress);
        if (r < 0) {
                log_error("a sandbox cannot be listened to", "run", run->id, "error", log_errno(r));
                give_up_sandbox(run);
        }
}

static void on_drain_timeout(void *data) {
        struct run *run = data;
        run->timer = NULL;
        log_error("a sandbox that is gone still holds a channel open", "run", run->id, "sandbox", run->sandbox_id);
        run_step(run, RUN_EVENT_DRAINED);
}

/* Reads everything that is there. True: every channel is at its end. */
static bool read_to_the_end(struct run *run) {
        bool ended = true;
        for (int i = 0; i < RUN_STREAMS; i++) {
                struct run_pipe *pipe = &run->pipes[i];
                while (pipe->fd >= 0 && run_read_slice(run, (enum run_stream)i))
                        ;
                ended = ended && pipe->fd < 0;
        }
        ended = claim_channel_drain(&run->claim) && ended;
        ended = work_channel_drain(&run->work) && ended;
        /* A room that is kept keeps its side of the channel, and other processes of it may have kept a pipe. */
        return (ended || run->end.room_kept) && run->egress.ended;
}

static void drain(struct run *run) {
        bool ran = run->started_ns > 0 || run_output_total(run) > 0;
        if (!run->claim.over || run->kind != RUN_SNIPPET)
                run->outcome = outcome_from(run->end.reason, run->end.wait_status, ran);
        bool ended = run->hold != RUN_SANDBOX_GONE || read_to_the_end(run);
        if (ended || loop_add_timer(run->setup.loop, DRAIN_NS, on_drain_timeout, run, &run->timer) < 0)
                run_step(run, RUN_EVENT_DRAINED);
}

/* The last to end: its other end is a process that outlives the sandbox. */
static void on_egress_ended(void *data) {
        struct run *run = data;
        if (run->machine.state != RUN_ENDED || !read_to_the_end(run))
                return;
        loop_remove(run->setup.loop, &run->timer);
        run_step(run, RUN_EVENT_DRAINED);
}

static void requeue(struct run *run) {
        log_warning("a sandbox was lost at the start of a run, which gets another", "run", run->id, "sandbox",
                    run->sandbox_id);
        silence(run);
        run->hold = RUN_NO_SANDBOX;
        run->overflowed = false;
        run->claimed_ns = run->started_ns = 0;
        run->collected = run->rested = false;
        rendered_list_deinit(&run->results);
        run_files_deinit(&run->files);
        run->files_complete = false;
        call_end_deinit(&run->call_end);
        run->setup.host->requeue(run->setup.host_data, run);
}

static void act(struct run *run, unsigned actions) {
        if (actions & RUN_DO_WRITE_INPUTS)
                write_inputs(run);
        if (actions & RUN_DO_CLAIM)
                claim(run);
        if (actions & RUN_DO_COLLECT)
                run_call_collect(run);
        if (actions & RUN_DO_KILL)
                abandon(run);
        if (actions & RUN_DO_DRAIN)
                drain(run);
        if (actions & RUN_DO_REQUEUE)
                requeue(run);
        if (actions & RUN_DO_REPLY)
                run->setup.handler->on_done(run, run->setup.handler_data);
        if (actions & RUN_DO_REFUSE)
                run->setup.handler->on_refused(run, run->setup.handler_data, run->refusal);
        if (actions & RUN_DO_FREE) {
                silence(run);
                run->setup.host->finished(run->setup.host_data, run);
        }
}

/* What the engine and the run's owner call. */

struct run *run_new(const struct run_setup *setup) {
        struct run *run = calloc(1, sizeof(*run));
        if (!run)
                return NULL;
        run->setup = *setup;
        run->session = setup->request->session;
        run->kind = setup->request->kind;
        run->queued_ns = clock_now_ns();
        run->machine.state = RUN_QUEUED;
        id_new(run->id, "run_");
        run_files_init(&run->files);
        return run;
}

void run_free(struct run *run) {
        if (!run)
                return;
        loop_remove(run->setup.loop, &run->timer);
        close_channels(run);
        rendered_list_deinit(&run->results);
        run_files_deinit(&run->files);
        call_end_deinit(&run->call_end);
        free(run);
}

void run_lease(struct run *run, struct sandbox_id sandbox, const int fds[SPAWN_READY_FDS]) {
        close_channels(run); /* of an earlier sandbox */
        open_channels(run, fds);
        run->hold = RUN_HAS_SANDBOX;
        run->sandbox = sandbox;
        id_of_sandbox(run->sandbox_id, sandbox);
        bool inputs = run->setup.request->input_count > 0 || run->restore;
        run_step(run, inputs ? RUN_EVENT_LEASED_WITH_INPUTS : RUN_EVENT_LEASED);
}

/*
 * Whether another sandbox may take the run over, because this one failed and nobody has seen any effect of the snippet:
 * a sandbox has none on the outside but what comes over its channels. Its end may overtake those, so they are read
 * first. A signal without a word before it is the sandbox's failure at the first time; the second sandbox is believed.
 */
static bool may_run_again(struct run *run) {
        if (run->machine.state == RUN_CLAIMED)
                claim_channel_drain(&run->claim);
        for (int i = 0; i < RUN_STREAMS; i++)
                if (run->pipes[i].fd >= 0)
                        run_read_slice(run, (enum run_stream)i);
        bool ran = run->started_ns > 0 || run_output_total(run) > 0 || run->egress.records.count > 0;
        bool was_dying = run->ended_ns - run->claimed_ns < DYING_NS && !run->setup.request->watched &&
                         run->kind == RUN_SNIPPET; /* a call can have had effects in the network */
        switch (run->end.reason) {
        case SPAWN_END_LOST:
                return !ran || was_dying;
        case SPAWN_END_EXIT:
                return !ran && WIFSIGNALED(run->end.wait_status);
        default:
                return false;
        }
}

void run_sandbox_gone(struct run *run, const struct spawn_exit *end) {
        assert(run->hold == RUN_HAS_SANDBOX);
        run->hold = RUN_SANDBOX_GONE;
        run_let_pipes_end(run);
        if (!run->claim.over || run->kind != RUN_SNIPPET)
                run->ended_ns = clock_now_ns();
        run->end = *end;
        loop_remove(run->setup.loop, &run->timer);
        run_step(run, may_run_again(run) ? RUN_EVENT_LOST : RUN_EVENT_EXITED);
}

void run_refuse(struct run *run, enum run_refusal why) {
        run->refusal = why;
        run_step(run, RUN_EVENT_EXPIRED);
}

void run_cancel(struct run *run) {
        run_step(run, RUN_EVENT_CANCEL);
}
