/*
 * Asking the operator's name servers.
 *
 * Every question has a socket of its own, which the kernel gives a port by chance and which takes datagrams from that
 * one server only, and a number by chance. What does not fit is passed over. A server that fails, refuses or is silent
 * gives way to the next one; an answer that was cut short is asked for again by TCP.
 */
#pragma once

#include "base/loop.h"
#include "base/prefix.h"
#include "egress/dns.h"

#define RESOLVERS_MAX 3

struct resolver {
        struct loop *loop;
        struct address servers[RESOLVERS_MAX]; /* with their ports */
        size_t server_count;
        size_t questions, questions_max; /* under way, of all rooms */
};

struct question;

/*
 * Takes the servers from the setting, or, if it is empty, from resolv.conf(5) (before the jail). Without any there,
 * 127.0.0.1, as the C library does. 0 or a negative errno.
 */
int resolver_choose(struct resolver *resolver, const char *setting, const char *resolv_conf, struct err *e);

/* Called once, never before question_ask() has returned; the question is gone then. No answer: DNS_FAILURE. */
typedef void (*question_done_fn)(void *data, const struct dns_answer *answer);

/* -EBUSY: too many are under way. */
int question_ask(struct resolver *resolver, const struct dns_query *query, question_done_fn done, void *data,
                 struct question **ret);
/* Nobody wants to know any more. NULL-safe. */
void question_drop(struct question **question);
