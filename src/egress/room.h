/*
 * One room with a network, as the egress process sees it: its listeners, its connections, its channel.
 *
 * A room is bounded by the number of things that it may do, each of which is told to the api process: when that number
 * is reached, its listeners are closed, and the room's own kernel refuses whatever comes then, at no cost to anybody.
 */
#pragma once

#include "egress/egress.h"

struct relay;

#define ROOM_CONNECTIONS_MAX 128 /* at a time */

/* Takes both descriptors, also if it fails. 0 or a negative errno. */
int room_attach(struct egress *egress, uint64_t number, int listeners_fd, int channel_fd);

/* Ends everything that the room with this number has, if there is one. */
void room_detach(struct egress *egress, uint64_t number);

struct egress *room_egress(struct room *room);

/* A connection begins and ends; in between it is in the room's list, by way of relay_link(). */
void room_relay_began(struct room *room, struct relay *relay);
/* `claimed` is the name that it said of itself, or "". */
void room_relay_ended(struct room *room, struct relay *relay, const struct egress_record *record, const char *claimed);
