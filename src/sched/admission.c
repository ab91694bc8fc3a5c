/* Admission; see admission.h. Lanes are a ring, with one for each project that has somebody waiting: few. */
#include "sched/admission.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_A_SECOND UINT64_C(1000000000)
#define RETRY_AFTER_MAX_S 60

void admission_init(struct admission *admission, const struct admission_settings *settings) {
        *admission = (struct admission){.settings = *settings, .run_ns = NS_A_SECOND};
}

void admission_deinit(struct admission *admission) {
        assert(admission->waiting == 0);
        (void)admission;
}

static struct admission_lane *find_lane(const struct admission *admission, const char *name) {
        struct admission_lane *lane = admission->turn;
        if (lane)
                do {
                        if (strcmp(lane->name, name) == 0)
                                return lane;
                        lane = lane->next;
                } while (lane != admission->turn);
        return NULL;
}

/* A new lane gets its turn after all the others: it is put where the last one had its turn. */
static struct admission_lane *add_lane(struct admission *admission, const char *name) {
        struct admission_lane *lane = calloc(1, sizeof(*lane));
        if (!lane)
                return NULL;
        snprintf(lane->name, sizeof(lane->name), "%s", name);
        if (admission->turn) {
                lane->next = admission->turn->next;
                admission->turn->next = lane;
        } else
                lane->next = lane;
        admission->turn = lane;
        return lane;
}

static void drop_lane(struct admission *admission, struct admission_lane *lane) {
        struct admission_lane *before = lane;
        while (before->next != lane)
                before = before->next;
        before->next = lane->next;
        if (admission->turn == lane)
                admission->turn = before == lane ? NULL : before;
        free(lane);
}

static void leave(struct admission *admission, struct admission_ticket *ticket) {
        struct admission_lane *lane = ticket->lane;
        if (ticket->ahead)
                ticket->ahead->behind = ticket->behind;
        else
                lane->first = ticket->behind;
        if (ticket->behind)
                ticket->behind->ahead = ticket->ahead;
        else
                lane->last = ticket->ahead;
        ticket->ahead = ticket->behind = NULL;
        ticket->lane = NULL;
        lane->count--;
        admission->waiting--;
        admission->waiting_cold -= ticket->cold;
        admission->waiting_bytes -= ticket->bytes;
        if (lane->count == 0)
                drop_lane(admission, lane);
}

static void count_in(struct admission *admission, struct admission_ticket *ticket, struct admission_lane *lane) {
        ticket->lane = lane;
        lane->count++;
        admission->waiting++;
        admission->waiting_cold += ticket->cold;
        admission->waiting_bytes += ticket->bytes;
}

/* Runs that may wait for a free place, on top of those for which there is one and only the sandbox is being made. */
static bool is_full(const struct admission *admission, uint64_t bytes) {
        const struct admission_settings *settings = &admission->settings;
        uint32_t free_places = settings->running_max - admission->running;
        if (admission->waiting >= (uint64_t)settings->queue_max + free_places)
                return true;
        return admission->waiting > 0 && admission->waiting_bytes + bytes > settings->bytes_max;
}

static struct admission_lane *longest_lane(const struct admission *admission) {
        struct admission_lane *longest = NULL, *lane = admission->turn;
        if (lane)
                do {
                        if (!longest || lane->count > longest->count)
                                longest = lane;
                        lane = lane->next;
                } while (lane != admission->turn);
        return longest;
}

/* Who has to make room for one more of the lane `name`; NULL: nobody but the newcomer. */
static struct admission_ticket *displace(struct admission *admission, const char *name, uint64_t bytes) {
        const struct admission_lane *own = find_lane(admission, name);
        struct admission_lane *longest = longest_lane(admission);
        if (!longest || longest == own || longest->count <= (own ? own->count : 0) + 1)
                return NULL;
        struct admission_ticket *ticket = longest->last;
        if (admission->waiting_bytes - ticket->bytes + bytes > admission->settings.bytes_max)
                return NULL;
        leave(admission, ticket);
        return ticket;
}

/* What the ticket holds already stays. */
static int enter(struct admission *admission, struct admission_ticket *ticket, const char *name,
                 struct admission_ticket **ret_displaced) {
        *ret_displaced = NULL;
        if (is_full(admission, ticket->bytes)) {
                *ret_displaced = displace(admission, name, ticket->bytes);
                admission->refused_total++;
                if (!*ret_displaced)
                        return ADMISSION_FULL;
        }

        struct admission_lane *lane = find_lane(admission, name);
        if (!lane && !(lane = add_lane(admission, name)))
                return -ENOMEM;
        ticket->ahead = lane->last;
        if (lane->last)
                lane->last->behind = ticket;
        else
                lane->first = ticket;
        lane->last = ticket;
        count_in(admission, ticket, lane);
        return ADMISSION_WAITS;
}

int admission_enter(struct admission *admission, struct admission_ticket *ticket, const char *name, uint64_t bytes,
                    uint64_t now_ns, struct admission_ticket **ret_displaced) {
        *ticket = (struct admission_ticket){.entered_ns = now_ns, .bytes = bytes};
        return enter(admission, ticket, name, ret_displaced);
}

int admission_enter_cold(struct admission *admission, struct admission_ticket *ticket, const char *name, uint64_t bytes,
                         uint64_t now_ns, struct admission_ticket **ret_displaced) {
        *ticket = (struct admission_ticket){.entered_ns = now_ns, .bytes = bytes, .cold = true};
        return enter(admission, ticket, name, ret_displaced);
}

int admission_return(struct admission *admission, struct admission_ticket *ticket, const char *name) {
        assert(!ticket->lane);
        struct admission_lane *lane = find_lane(admission, name);
        if (!lane && !(lane = add_lane(admission, name)))
                return -ENOMEM;
        ticket->ahead = NULL;
        ticket->behind = lane->first;
        if (lane->first)
                lane->first->ahead = ticket;
        else
                lane->last = ticket;
        lane->first = ticket;
        count_in(admission, ticket, lane);
        return 0;
}

uint32_t admission_demand(const struct admission *admission) {
        uint32_t free_places = admission->settings.running_max - admission->running;
        uint32_t waiting = admission->waiting - admission->waiting_cold;
        return waiting < free_places ? waiting : free_places;
}

struct admission_ticket *admission_peek(const struct admission *admission) {
        if (admission->waiting == 0 || admission->running >= admission->settings.running_max)
                return NULL;
        return admission->turn->next->first;
}

static struct admission_ticket *let_through(struct admission *admission, struct admission_ticket *ticket) {
        admission->turn = ticket->lane;
        leave(admission, ticket);
        admission->running++;
        return ticket;
}

struct admission_ticket *admission_next(struct admission *admission) {
        struct admission_ticket *ticket = admission_peek(admission);
        return ticket ? let_through(admission, ticket) : NULL;
}

struct admission_ticket *admission_next_cold(struct admission *admission) {
        if (admission->waiting_cold == 0 || !admission_peek(admission))
                return NULL;
        for (struct admission_lane *lane = admission->turn->next;; lane = lane->next)
                for (struct admission_ticket *ticket = lane->first; ticket; ticket = ticket->behind)
                        if (ticket->cold)
                                return let_through(admission, ticket);
}

void admission_release(struct admission *admission, uint64_t ran_ns) {
        assert(admission->running > 0);
        admission->running--;
        admission->run_ns = admission->run_ns - admission->run_ns / 8 + ran_ns / 8;
}

static struct admission_ticket *longest_waiting(const struct admission *admission) {
        struct admission_ticket *oldest = NULL;
        const struct admission_lane *lane = admission->turn;
        if (lane)
                do {
                        if (!oldest || lane->first->entered_ns < oldest->entered_ns)
                                oldest = lane->first;
                        lane = lane->next;
                } while (lane != admission->turn);
        return oldest;
}

struct admission_ticket *admission_expired(struct admission *admission, uint64_t now_ns) {
        struct admission_ticket *ticket = longest_waiting(admission);
        if (!ticket || admission_next_ns(admission) > now_ns)
                return NULL;
        leave(admission, ticket);
        admission->expired_total++;
        return ticket;
}

void admission_cancel(struct admission *admission, struct admission_ticket *ticket) {
        if (ticket->lane)
                leave(admission, ticket);
}

uint64_t admission_next_ns(const struct admission *admission) {
        const struct admission_ticket *oldest = longest_waiting(admission);
        return oldest ? oldest->entered_ns + admission->settings.wait_max_ns : SCHED_NEVER;
}

uint32_t admission_retry_after_s(const struct admission *admission) {
        uint64_t rounds = admission->waiting / admission->settings.running_max + 1;
        uint64_t wait_ns = rounds * admission->run_ns;
        uint64_t seconds = (wait_ns + NS_A_SECOND - 1) / NS_A_SECOND;
        return seconds < 1 ? 1 : seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : (uint32_t)seconds;
}
