/*
 * Event loop: epoll for descriptors, one timer queue, signals by signalfd.
 *
 * Used by the api process and the spawner. Single-threaded; every callback runs on the loop's thread. A source may be
 * removed from inside any callback, its own included; its memory is given back after the current round.
 */
#pragma once

#include <stdint.h>

struct loop;
struct loop_source;

typedef void (*loop_fd_fn)(void *data, int fd, uint32_t epoll_events);
typedef void (*loop_timer_fn)(void *data);
typedef void (*loop_signal_fn)(void *data, int signal_number);

/* 0 or negative errno. */
int loop_new(struct loop **ret);
void loop_free(struct loop *loop);

/* Watches `fd` (borrowed: the caller closes it, after loop_remove) for EPOLLIN, EPOLLOUT, EPOLLPRI ... */
int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn call, void *data, struct loop_source **ret);
int loop_set_events(struct loop *loop, struct loop_source *source, uint32_t events);

/* Calls once, `delay_ns` from now; the source frees itself after it fired. loop_remove cancels it. */
int loop_add_timer(struct loop *loop, uint64_t delay_ns, loop_timer_fn call, void *data, struct loop_source **ret);

/* Blocks the signal for the process and delivers it on the loop. */
int loop_add_signal(struct loop *loop, int signal_number, loop_signal_fn call, void *data);

/* NULL-safe; sets the caller's pointer to NULL. */
void loop_remove(struct loop *loop, struct loop_source **source);

/* Runs until loop_quit; returns its argument, or a negative errno. */
int loop_run(struct loop *loop);
void loop_quit(struct loop *loop, int result);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_now_ns(void);
/* CLOCK_REALTIME in milliseconds since 1970, UTC. */
int64_t clock_wall_ms(void);

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
