/*
 * What the egress process tells the api process about one room: FRAME_EGRESS, one for each decision.
 *
 * The api process is not trusted to read. What it leaves unread is kept up to the greatest number of records, and when
 * it hangs up, the room has no network any more: nothing is let through that nobody hears of.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "spawn/frames.h"

struct channel;

/* Takes `fd`. `gone` is called at most once: the other side has hung up, or memory is short. 0 or a negative errno. */
int channel_new(struct loop *loop, int fd, void (*gone)(void *data), void *data, struct channel **ret);

/* False if the last record that may be told of is told: nothing more must happen. */
bool channel_tell(struct channel *channel, const struct egress_record *record, const char *host);

/* How many records there may still be. */
size_t channel_left(const struct channel *channel);

/* No more records. It sends what it still has, as far as the other side reads in a few seconds, and frees itself. */
void channel_end(struct channel **channel);
