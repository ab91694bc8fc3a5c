/*
 * The egress process: started here, given one room after the other, and started again if it dies.
 *
 * Runs in the spawner. Rooms for tool calls and imports reach the network through it and nothing else. It is no more
 * trusted than the api process: the spawner sends it orders (src/egress/protocol.h) and reads nothing of it.
 */
#pragma once

#include "spawner/spawner.h"

/*
 * Starts it, after outer_start(), so that it lives in the outer PID namespace and goes with the service. It is not
 * reading anything hostile until it has jailed itself. 0 or a negative errno.
 */
int egress_start(struct spawner *spawner, struct err *e);

/*
 * A network for the room with this number. `ret_room_fd` is what network_open() in the room wants; it must be closed on
 * both sides before anything untrusted runs there. `ret_api_fd` is the api process's SPAWN_FD_EGRESS. The caller owns
 * both. 0 or a negative errno; -ENOTCONN while the process is being started again.
 */
int egress_attach(struct spawner *spawner, uint64_t room, int *ret_room_fd, int *ret_api_fd);

/* The room is gone: its connections end, what they were is told to the api process, and that channel ends. Harmless
 * for a number that was never attached. */
void egress_detach(struct spawner *spawner, uint64_t room);

/*
 * One with the settings as they are now, for the rooms to come; the one before keeps its own and then ends. Those of a
 * still earlier one lose their network. 0 or a negative errno: the rooms to come have that one still.
 */
int egress_renew(struct spawner *spawner, struct err *e);

/* Closes its orders; it ends when it sees that. */
void egress_end(struct spawner *spawner);

/* True if the child that was reaped was this one. */
bool egress_reaped(struct spawner *spawner, pid_t pid, int wait_status);

/* What network_open() is to listen on beside the three ports: those of SANDBOX_EGRESS_ALLOW. */
size_t egress_more_ports(const struct spawner *spawner, const uint16_t **ret_ports);
