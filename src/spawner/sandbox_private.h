/* What the two halves of a sandbox's life share: sandbox_start.c, up to SPAWN_READY, and sandbox.c, from there on. */
#pragma once

#include "spawner/sandbox.h"

/* One timer a sandbox: it replaces the present one. Without a deadline nothing may run, so a failure ends the room. */
void sandbox_set_timer(struct sandbox *sandbox, uint64_t delay_ns, loop_timer_fn call);

/* What it uses from now on is that of its next call. */
void sandbox_count_from_here(struct sandbox *sandbox);

/* Tells of processes that the kernel kills for memory. 0 or negative errno. */
int sandbox_watch_memory(struct sandbox *sandbox);

/* Its main process is dead: what it has said before may still be unread, such as why. */
void sandbox_hear_out(struct sandbox *sandbox);

void sandbox_kill_pidfd(int pidfd); /* -1: nothing */
void sandbox_close_own_inside_ends(struct sandbox *sandbox);

/* Gives every descriptor and event source back. */
void sandbox_release(struct sandbox *sandbox);
