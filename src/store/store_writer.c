/* The writer's thread and its queue; see store_writer.h. */
#include "store/store_writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/store_chores.h"
#include "store/store_group.h"
#include "store/store_private.h"

#define GROUP_JOBS 64
#define GROUP_WEIGHT (8u << 20) /* bytes; whoever waits, waits for the group that is being written */

struct queue {
        struct writer_job *first, **end;
        size_t count;
};

struct writer {
        struct store *store;
        pthread_t thread;
        pthread_mutex_t lock; /* for all below */
        pthread_cond_t work, progress;
        bool started, stopping, busy, has_chores, flush, was_alone;
        struct queue urgent, jobs, done;

        /* the loop's thread */
        struct loop *loop;
        int event_fd;
        struct loop_source *source;
};

/* ---- queues */

static void queue_init(struct queue *queue) {
        *queue = (struct queue){.end = &queue->first};
}

static void queue_put(struct queue *queue, struct writer_job *job) {
        job->next = NULL;
        *queue->end = job;
        queue->end = &job->next;
        queue->count++;
}

static struct writer_job *queue_take(struct queue *queue) {
        struct writer_job *job = queue->first;
        if (!job)
                return NULL;
        queue->first = job->next;
        if (!queue->first)
                queue->end = &queue->first;
        queue->count--;
        return job;
}

/*
 * The jobs of the next group, in order; under the lock. What somebody waits for goes alone, so as not to wait for
 * contents that are written beside it; but not twice in a row, or others would never get their turn.
 */
static struct writer_job *take_group(struct writer *writer) {
        struct writer_job *first = NULL, **end = &first, *job;
        size_t count = 0, weight = 0;
        bool alone = writer->urgent.first && !writer->was_alone;
        while ((job = queue_take(&writer->urgent))) {
                *end = job;
                end = &job->next;
        }
        writer->was_alone = alone;
        while (!alone && count < GROUP_JOBS && weight < GROUP_WEIGHT && (job = queue_take(&writer->jobs))) {
                *end = job;
                end = &job->next;
                weight += job->weight;
                count++;
        }
        *end = NULL;
        return first;
}

/* ---- the thread */

/* Returns when there is something to do; under the lock. false: the end. */
static bool wait_for_work(struct writer *writer) {
        for (;;) {
                bool asked = writer->urgent.first || writer->jobs.first || writer->flush;
                if (writer->started && (asked || writer->has_chores))
                        return asked || !writer->stopping;
                if (writer->stopping)
                        return false;
                pthread_cond_broadcast(&writer->progress);
                pthread_cond_wait(&writer->work, &writer->lock);
        }
}

/* Who waits is woken without the lock held, which it would only run into: on a busy machine, that is a delay. */
static void hand_back(struct writer *writer, struct writer_job *jobs) {
        static const uint64_t one = 1;
        bool tell = false;
        pthread_mutex_lock(&writer->lock);
        while (jobs) {
                struct writer_job *job = jobs;
                jobs = job->next;
                if (job->done) {
                        queue_put(&writer->done, job);
                        tell = true;
                } else {
                        job->finished = true;
                }
        }
        pthread_mutex_unlock(&writer->lock);
        pthread_cond_broadcast(&writer->progress);
        if (tell && write(writer->event_fd, &one, sizeof(one)) < 0)
                log_error("the store cannot say that it has written");
}

static void *work(void *data) {
        struct writer *writer = data;
        prctl(PR_SET_NAME, "store-writer");
        pthread_mutex_lock(&writer->lock);
        while (wait_for_work(writer)) {
                struct writer_job *jobs = take_group(writer);
                bool only_chores = !jobs && !writer->flush;
                writer->flush = false;
                writer->busy = true;
                pthread_mutex_unlock(&writer->lock);

                if (!only_chores)
                        group_write(writer->store, jobs);

                hand_back(writer, jobs);
                bool more = chores_do(writer->store);

                pthread_mutex_lock(&writer->lock);
                writer->has_chores = more;
                writer->busy = false;
        }
        bool started = writer->started;
        pthread_mutex_unlock(&writer->lock);
        if (started)
                group_write(writer->store, NULL); /* times of activity */
        return NULL;
}

/* ---- the loop's thread */

static void call_back(struct writer *writer) {
        pthread_mutex_lock(&writer->lock);
        struct writer_job *jobs = writer->done.first;
        queue_init(&writer->done);
        pthread_mutex_unlock(&writer->lock);
        while (jobs) {
                struct writer_job *job = jobs;
                jobs = job->next;
                job->done(job->done_data, job->result);
                free(job);
        }
}

static void on_event(void *data, int fd, uint32_t events) {
        uint64_t count;
        (void)events;
        if (read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
                call_back(data);
}

/* Signals are the loop's: one that came to this thread would end the process. */
static int start_thread(struct writer *writer) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = -pthread_create(&writer->thread, NULL, work, writer);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r;
}

static int init_waiting(struct writer *writer) {
        int r = -pthread_mutex_init(&writer->lock, NULL);
        if (r == 0)
                r = -pthread_cond_init(&writer->work, NULL);
        return r == 0 ? -pthread_cond_init(&writer->progress, NULL) : r;
}

int writer_new(struct store *store, struct loop *loop, struct writer **ret) {
        CLEANUP_FREE struct writer *writer = calloc(1, sizeof(*writer));
        if (!writer)
                return -ENOMEM;
        writer->store = store;
        writer->loop = loop;
        queue_init(&writer->urgent);
        queue_init(&writer->jobs);
        queue_init(&writer->done);
        int r = init_waiting(writer);
        if (r < 0)
                return r;
        writer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (writer->event_fd < 0)
                return -errno;
        r = loop_add_fd(loop, writer->event_fd, EPOLLIN, on_event, writer, &writer->source);
        if (r == 0)
                r = start_thread(writer);
        if (r < 0) {
                loop_remove(loop, &writer->source);
                close_fd(&writer->event_fd);
                return r;
        }
        *ret = TAKE_PTR(writer);
        return 0;
}

void writer_start(struct writer *writer) {
        pthread_mutex_lock(&writer->lock);
        writer->started = true;
        writer->has_chores = true; /* from before the start */
        pthread_cond_signal(&writer->work);
        pthread_mutex_unlock(&writer->lock);
}

void writer_free(struct writer *writer) {
        if (!writer)
                return;
        pthread_mutex_lock(&writer->lock);
        writer->stopping = true;
        pthread_cond_signal(&writer->work);
        pthread_mutex_unlock(&writer->lock);
        pthread_join(writer->thread, NULL);
        loop_remove(writer->loop, &writer->source);
        call_back(writer);
        close_fd(&writer->event_fd);
        pthread_cond_destroy(&writer->work);
        pthread_cond_destroy(&writer->progress);
        pthread_mutex_destroy(&writer->lock);
        free(writer);
}

int writer_call(struct store *store, writer_fn write, void *data) {
        struct writer *writer = store->writer;
        struct writer_job job = {.write = write, .data = data};
        pthread_mutex_lock(&writer->lock);
        assert(writer->started && !writer->stopping);
        queue_put(&writer->urgent, &job);
        pthread_mutex_unlock(&writer->lock);
        pthread_cond_signal(&writer->work);
        pthread_mutex_lock(&writer->lock);
        while (!job.finished)
                pthread_cond_wait(&writer->progress, &writer->lock);
        pthread_mutex_unlock(&writer->lock);
        return job.result;
}

static int submit(struct writer *writer, struct queue *queue, const struct writer_job *what) {
        struct writer_job *job = malloc(sizeof(*job));
        if (!job)
                return -ENOMEM;
        *job = *what;
        pthread_mutex_lock(&writer->lock);
        assert(writer->started);
        bool ended = writer->stopping; /* asked for by a callback while the store is closed */
        if (!ended)
                queue_put(queue, job);
        pthread_mutex_unlock(&writer->lock);
        pthread_cond_signal(&writer->work);
        if (ended)
                free(job);
        return ended ? -ESHUTDOWN : 0;
}

int writer_submit(struct store *store, writer_fn write, void *data, size_t weight, store_done_fn done,
                  void *done_data) {
        const struct writer_job job = {
                .write = write, .data = data, .weight = weight, .done = done, .done_data = done_data};
        return submit(store->writer, &store->writer->jobs, &job);
}

int writer_submit_first(struct store *store, writer_fn write, void *data, store_done_fn done, void *done_data) {
        const struct writer_job job = {.write = write, .data = data, .done = done, .done_data = done_data};
        return submit(store->writer, &store->writer->urgent, &job);
}

void writer_flush(struct writer *writer) {
        pthread_mutex_lock(&writer->lock);
        writer->flush = true;
        pthread_cond_signal(&writer->work);
        pthread_mutex_unlock(&writer->lock);
}

void writer_settle(struct writer *writer) {
        pthread_mutex_lock(&writer->lock);
        while (writer->urgent.first || writer->jobs.first || writer->busy || writer->has_chores)
                pthread_cond_wait(&writer->progress, &writer->lock);
        pthread_mutex_unlock(&writer->lock);
}
