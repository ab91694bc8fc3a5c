/*
 * The end of a session's call, whose sandbox lives on; see run.h.
 *
 * Runs in the api process. A call is over when the runner says so. Then its clock is stopped, its files are asked for, and
 * its sandbox's descriptors go back to the session.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "run/run_private.h"

/* What a pipe can hold at most (pipe(7)): more than that was not written before the call was over. */
#define PIPE_BYTES_MAX (1 << 20)
/* For the files: init itself gives up after COLLECT_MS_MAX. */
#define COLLECT_NS ((COLLECT_MS_MAX + 2000) * NS_PER_MS)

/* Everything is there once the files are, the usage is, and the pipes are empty: the call's output was written first. */
void run_call_finish(struct run *run) {
        if (run->machine.state != RUN_COLLECTING || !run->collected || !run->rested)
                return;
        for (int i = 0; i < RUN_STREAMS; i++)
                for (size_t read = 0; read < PIPE_BYTES_MAX && run->pipes[i].fd >= 0; read += SLICE_BYTES)
                        if (!run_read_slice(run, (enum run_stream)i))
                                break;
        run_step(run, RUN_EVENT_COLLECTED);
}

void run_call_on_over(void *data, int exit_code) {
        struct run *run = data;
        run->ended_ns = clock_now_ns();
        run->outcome = (struct outcome_of_run){exit_code == 0 ? OUTCOME_OK : OUTCOME_ERROR, exit_code};
        run_step(run, RUN_EVENT_CALL_OVER);
}

void run_rested(struct run *run, uint64_t cpu_us, uint64_t memory_peak) {
        run->end.cpu_us = cpu_us;
        run->end.memory_peak = memory_peak;
        run->rested = true;
        run_call_finish(run);
}

/* Nothing of the sandbox's comes in time: it is ended, and the reply says what was there. */
static void on_collect_timeout(void *data) {
        struct run *run = data;
        run->timer = NULL;
        log_warning("a session did not hand over its files in time", "run", run->id, "sandbox", run->sandbox_id);
        run->collected = run->rested = true;
        run->unusable = true;
        run_call_finish(run);
}

void run_call_collect(struct run *run) {
        int r = work_channel_collect(&run->work); /* first: it takes longer */
        run->setup.host->rest(run->setup.host_data, run);
        if (r == 0)
                r = loop_add_timer(run->setup.loop, COLLECT_NS, on_collect_timeout, run, &run->timer);
        if (r < 0)
                on_collect_timeout(run);
}

bool run_is_over(const struct run *run) {
        return run->machine.state == RUN_COLLECTING;
}

void run_restore(struct run *run, const struct work_batch *batch) {
        run->restore = batch;
}

void run_give_back(struct run *run, int fds[SPAWN_READY_FDS]) {
        for (int i = 0; i < SPAWN_READY_FDS; i++)
                fds[i] = -1;
        if (!run->channels_open || run->unusable)
                return;
        run_let_pipes_end(run);
        fds[SPAWN_FD_CLAIM] = claim_channel_release(&run->claim);
        fds[SPAWN_FD_WORK] = work_channel_release(&run->work);
        for (int i = 0; i < RUN_STREAMS; i++) {
                loop_remove(run->setup.loop, &run->pipes[i].source);
                fds[SPAWN_FD_STDOUT + i] = take_fd(&run->pipes[i].fd);
        }
}
