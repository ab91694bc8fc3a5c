/* Event loop; see loop.h. The timer queue is a sorted list: a node has at most a few hundred timers. */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define EVENTS_A_ROUND 64
#define SIGNALS_MAX 65

struct loop_source {
        enum { SOURCE_FD, SOURCE_TIMER } kind;
        bool removed;
        int fd;
        uint64_t deadline_ns;
        union {
                loop_fd_fn on_fd;
                loop_timer_fn on_timer;
        };
        void *data;
        struct loop_source *next; /* in the timer queue, or in the list of the removed */
};

struct loop {
        int epoll_fd;
        int signal_fd;
        struct loop_source *signal_source;
        sigset_t signals;
        struct {
                loop_signal_fn call;
                void *data;
        } on_signal[SIGNALS_MAX];
        struct loop_source *timers;
        struct loop_source *removed;
        bool quit;
        int result;
};

uint64_t clock_now_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int64_t clock_wall_ms(void) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int loop_new(struct loop **ret) {
        struct loop *loop = calloc(1, sizeof(*loop));
        if (!loop)
                return -ENOMEM;
        loop->signal_fd = -1;
        sigemptyset(&loop->signals);
        loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (loop->epoll_fd < 0) {
                int r = -errno;
                free(loop);
                return r;
        }
        *ret = loop;
        return 0;
}

static void free_list(struct loop_source **list) {
        while (*list) {
                struct loop_source *source = *list;
                *list = source->next;
                free(source);
        }
}

void loop_free(struct loop *loop) {
        if (!loop)
                return;
        loop_remove(loop, &loop->signal_source);
        free_list(&loop->removed);
        free_list(&loop->timers);
        close_fd(&loop->signal_fd);
        close_fd(&loop->epoll_fd);
        free(loop);
}

int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn call, void *data, struct loop_source **ret) {
        struct loop_source *source = calloc(1, sizeof(*source));
        if (!source)
                return -ENOMEM;
        *source = (struct loop_source){.kind = SOURCE_FD, .fd = fd, .on_fd = call, .data = data};

        struct epoll_event event = {.events = events, .data.ptr = source};
        if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
                int r = -errno;
                free(source);
                return r;
        }
        *ret = source;
        return 0;
}

int loop_set_events(struct loop *loop, struct loop_source *source, uint32_t events) {
        struct epoll_event event = {.events = events, .data.ptr = source};
        return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event) < 0 ? -errno : 0;
}

int loop_add_timer(struct loop *loop, uint64_t delay_ns, loop_timer_fn call, void *data, struct loop_source **ret) {
        struct loop_source *source = calloc(1, sizeof(*source));
        if (!source)
                return -ENOMEM;
        *source = (struct loop_source){
                .kind = SOURCE_TIMER,
                .fd = -1,
                .on_timer = call,
                .data = data,
                .deadline_ns = clock_now_ns() + delay_ns,
        };

        struct loop_source **place = &loop->timers;
        while (*place && (*place)->deadline_ns <= source->deadline_ns)
                place = &(*place)->next;
        source->next = *place;
        *place = source;
        if (ret)
                *ret = source;
        return 0;
}

static void unlink_timer(struct loop *loop, struct loop_source *source) {
        struct loop_source **place = &loop->timers;
        while (*place && *place != source)
                place = &(*place)->next;
        assert(*place == source);
        *place = source->next;
}

void loop_remove(struct loop *loop, struct loop_source **pointer) {
        struct loop_source *source = *pointer;
        *pointer = NULL;
        if (!source || source->removed)
                return;
        if (source->kind == SOURCE_TIMER)
                unlink_timer(loop, source);
        else
                epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
        source->removed = true;
        source->next = loop->removed;
        loop->removed = source;
}

static void on_signal_fd(void *data, int fd, uint32_t events) {
        struct loop *loop = data;
        struct signalfd_siginfo info;
        (void)events;
        while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                if (info.ssi_signo < SIGNALS_MAX && loop->on_signal[info.ssi_signo].call)
                        loop->on_signal[info.ssi_signo].call(loop->on_signal[info.ssi_signo].data, (int)info.ssi_signo);
}

int loop_add_signal(struct loop *loop, int signal_number, loop_signal_fn call, void *data) {
        assert(signal_number > 0 && signal_number < SIGNALS_MAX);
        sigaddset(&loop->signals, signal_number);
        if (sigprocmask(SIG_BLOCK, &loop->signals, NULL) < 0)
                return -errno;
        int fd = signalfd(loop->signal_fd, &loop->signals, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return -errno;
        loop->on_signal[signal_number].call = call;
        loop->on_signal[signal_number].data = data;
        if (loop->signal_fd >= 0)
                return 0;
        loop->signal_fd = fd;
        return loop_add_fd(loop, fd, EPOLLIN, on_signal_fd, loop, &loop->signal_source);
}

static void fire_timers(struct loop *loop) {
        uint64_t now = clock_now_ns();
        while (!loop->quit && loop->timers && loop->timers->deadline_ns <= now) {
                struct loop_source *timer = loop->timers;
                loop->timers = timer->next;
                timer->removed = true;
                timer->next = loop->removed;
                loop->removed = timer;
                timer->on_timer(timer->data);
        }
}

static int wait_ms(const struct loop *loop) {
        if (!loop->timers)
                return -1;
        uint64_t now = clock_now_ns();
        if (loop->timers->deadline_ns <= now)
                return 0;
        uint64_t ms = (loop->timers->deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
        return ms > INT_MAX ? INT_MAX : (int)ms;
}

int loop_run(struct loop *loop) {
        loop->quit = false;
        while (!loop->quit) {
                struct epoll_event events[EVENTS_A_ROUND];
                int count = epoll_wait(loop->epoll_fd, events, EVENTS_A_ROUND, wait_ms(loop));
                if (count < 0 && errno != EINTR)
                        return -errno;
                for (int i = 0; i < count && !loop->quit; i++) {
                        struct loop_source *source = events[i].data.ptr;
                        if (!source->removed)
                                source->on_fd(source->data, source->fd, events[i].events);
                }
                fire_timers(loop);
                free_list(&loop->removed);
        }
        return loop->result;
}

void loop_quit(struct loop *loop, int result) {
        loop->quit = true;
        loop->result = result;
}
