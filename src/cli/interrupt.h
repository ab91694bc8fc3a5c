/*
 * Ctrl-C while a request is under way: noticed at once, so that the connection can be closed in order.
 *
 * Process-wide, because signals are. A second Ctrl-C ends the program as it always would.
 */
#pragma once

/*
 * From now on SIGINT, SIGTERM and SIGHUP are caught (unless they are ignored, as under nohup): the descriptor that is
 * returned (borrowed) becomes readable, and blocking writes end with EINTR. A negative errno if it cannot be done.
 */
int interrupt_watch(void);
void interrupt_unwatch(void);

/* The first signal that was caught since interrupt_watch, or 0. */
int interrupt_caught(void);
