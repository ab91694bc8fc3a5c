/*
 * One connection: between a room and the address that it wanted.
 *
 * Bytes are copied from one socket to the other and back. Each direction ends by itself, so that a request whose sender
 * has finished is still answered; a connection that breaks on one side is broken on the other one.
 */
#pragma once

#include "egress/room.h"

/*
 * Judges, and dials or resets. Takes `fd`, which the room has connected to `to`. It tells the room of its end, always,
 * and perhaps before this returns.
 */
void relay_start(struct room *room, int fd, const struct address *to);

/* The room is gone: what it has sent goes out as far as that does not take waiting, then it ends. */
void relay_finish(struct relay *relay);

/* Closes with a reset, as a host does on which nobody listens. */
void relay_refuse(int fd);

/* For the room's list. */
struct relay_link {
        struct relay *next, *previous;
};
struct relay_link *relay_link(struct relay *relay);
