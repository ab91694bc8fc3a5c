/* Asking name servers; see resolver.h. */
#include "egress/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"

#define ATTEMPTS 3
#define ATTEMPT_NS (1500 * NS_PER_MS) /* three end before a client of the C library asks again, after five seconds */
#define STRAY_MAX 64                  /* datagrams that are no answer, in one attempt */
#define NAME_PORT 53
#define BY_TCP_HEADER 2

struct question {
        struct resolver *resolver;
        struct dns_query query;
        question_done_fn done;
        void *data;
        unsigned attempts, strays;
        uint16_t id;
        bool by_tcp;
        int fd;
        struct loop_source *source, *timer;
        uint8_t *bytes; /* by TCP: what is sent, then what is received */
        size_t at, size;
};

/* ---- which servers */

static void add_server(struct resolver *resolver, const char *text) {
        struct prefix_list list;
        if (resolver->server_count == RESOLVERS_MAX)
                return;
        if (prefix_list_parse(text, &list, NULL) < 0 || list.count != 1 || !prefix_is_single(&list.items[0])) {
                log_warning("a name server in resolv.conf is passed over: it is no plain address", "address", text);
                return;
        }
        resolver->servers[resolver->server_count++] =
                address_of_bytes(list.items[0].bytes, list.items[0].family == 4 ? 4 : 16, NAME_PORT);
}

static void read_resolv_conf(struct resolver *resolver, const char *path) {
        CLEANUP_FCLOSE FILE *file = fopen(path, "re");
        char line[512], address[64];
        while (file && fgets(line, sizeof(line), file))
                if (sscanf(line, "nameserver %63s", address) == 1)
                        add_server(resolver, address);
}

int resolver_choose(struct resolver *resolver, const char *setting, const char *resolv_conf, struct err *e) {
        struct prefix_list list;
        int r = prefix_list_parse(setting, &list, e);
        if (r < 0)
                return r;
        if (list.count > RESOLVERS_MAX)
                return err_set(e, -E2BIG, "SANDBOX_EGRESS_RESOLVER has more than %d addresses", RESOLVERS_MAX);
        for (size_t i = 0; i < list.count; i++)
                resolver->servers[resolver->server_count++] =
                        address_of_bytes(list.items[i].bytes, list.items[i].family == 4 ? 4 : 16,
                                         list.items[i].port ? list.items[i].port : NAME_PORT);
        if (list.count == 0)
                read_resolv_conf(resolver, resolv_conf);
        if (resolver->server_count == 0)
                add_server(resolver, "127.0.0.1");
        return 0;
}

/* ---- one attempt */

static void next_attempt(struct question *question);
static void attempt_by_tcp(struct question *question);

static void close_attempt(struct question *question) {
        loop_remove(question->resolver->loop, &question->source);
        loop_remove(question->resolver->loop, &question->timer);
        close_fd(&question->fd);
        free(TAKE_PTR(question->bytes));
}

static void finish(struct question *question, const struct dns_answer *answer) {
        const question_done_fn done = question->done;
        void *data = question->data;
        question_drop(&question);
        done(data, answer);
}

static void take_answer(struct question *question, const uint8_t *bytes, size_t length) {
        struct dns_answer answer;
        int r = dns_read_answer(bytes, length, &question->query, question->id, &answer);
        if (r == -EMSGSIZE && !question->by_tcp)
                attempt_by_tcp(question);
        else if (r == 0 && (answer.code == DNS_OK || answer.code == DNS_NO_SUCH_NAME))
                finish(question, &answer);
        else if (r == 0 || question->by_tcp || ++question->strays == STRAY_MAX)
                next_attempt(question);
}

static void on_datagram(void *data, int fd, uint32_t events) {
        static uint8_t bytes[DNS_MESSAGE_BYTES];
        struct question *question = data;
        (void)events;
        ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got >= 0)
                take_answer(question, bytes, (size_t)got);
        else if (errno != EAGAIN && errno != EINTR)
                next_attempt(question); /* nobody listens there */
}

static ssize_t send_query(struct question *question) {
        ssize_t moved = send(question->fd, question->bytes + question->at, question->size - question->at,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
        if (moved > 0 && (question->at += (size_t)moved) == question->size) {
                question->at = question->size = 0;
                loop_set_events(question->resolver->loop, question->source, EPOLLIN);
        }
        return moved;
}

/* Sends the query, then reads two bytes of length and as many of answer. */
static void on_stream(void *data, int fd, uint32_t events) {
        struct question *question = data;
        ssize_t moved;
        (void)events;
        if (question->size > 0) {
                moved = send_query(question);
        } else {
                const uint8_t *head = question->bytes;
                const size_t known = question->at < BY_TCP_HEADER ? 0 : (size_t)(head[0] << 8 | head[1]);
                const size_t wanted = BY_TCP_HEADER + known;
                moved = recv(fd, question->bytes + question->at, wanted - question->at, MSG_DONTWAIT);
                if (moved > 0)
                        question->at += (size_t)moved;
                if (moved > 0 && known > 0 && question->at == wanted) {
                        take_answer(question, question->bytes + BY_TCP_HEADER, known);
                        return;
                }
        }
        if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR))
                next_attempt(question);
}

static void on_silence(void *data) {
        struct question *question = data;
        question->timer = NULL;
        next_attempt(question);
}

static int open_socket(struct question *question, int type) {
        const struct resolver *resolver = question->resolver;
        struct sockaddr_storage server;
        const socklen_t length =
                address_to(&resolver->servers[(question->attempts - 1) % resolver->server_count], &server);
        question->fd = socket(server.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (question->fd < 0)
                return -errno;
        if (connect(question->fd, (struct sockaddr *)&server, length) < 0 && errno != EINPROGRESS)
                return -errno;
        return getrandom(&question->id, sizeof(question->id), 0) == (ssize_t)sizeof(question->id) ? 0 : -EIO;
}

static int watch(struct question *question, uint32_t events, loop_fd_fn call) {
        int r = loop_add_fd(question->resolver->loop, question->fd, events, call, question, &question->source);
        return r < 0 ? r : loop_add_timer(question->resolver->loop, ATTEMPT_NS, on_silence, question, &question->timer);
}

static int ask_by_udp(struct question *question) {
        uint8_t bytes[DNS_QUERY_BYTES];
        int r = open_socket(question, SOCK_DGRAM);
        if (r < 0)
                return r;
        const size_t length = dns_write_query(&question->query, question->id, bytes);
        if (send(question->fd, bytes, length, MSG_NOSIGNAL) < 0)
                return -errno;
        return watch(question, EPOLLIN, on_datagram);
}

static int ask_by_tcp(struct question *question) {
        int r = open_socket(question, SOCK_STREAM);
        if (r < 0)
                return r;
        question->bytes = malloc(BY_TCP_HEADER + DNS_MESSAGE_BYTES);
        if (!question->bytes)
                return -ENOMEM;
        const size_t length = dns_write_query(&question->query, question->id, question->bytes + BY_TCP_HEADER);
        question->bytes[0] = (uint8_t)(length >> 8);
        question->bytes[1] = (uint8_t)length;
        question->at = 0;
        question->size = BY_TCP_HEADER + length;
        return watch(question, EPOLLOUT, on_stream);
}

/* Of the same server. */
static void attempt_by_tcp(struct question *question) {
        close_attempt(question);
        question->by_tcp = true;
        if (ask_by_tcp(question) < 0)
                next_attempt(question);
}

static void next_attempt(struct question *question) {
        static const struct dns_answer none = {.code = DNS_FAILURE};
        do {
                close_attempt(question);
                if (question->attempts++ == ATTEMPTS) {
                        finish(question, &none);
                        return;
                }
                question->by_tcp = false;
                question->strays = 0;
        } while (ask_by_udp(question) < 0);
}

/* ---- a question */

static void on_begin(void *data) {
        struct question *question = data;
        question->timer = NULL;
        next_attempt(question);
}

int question_ask(struct resolver *resolver, const struct dns_query *query, question_done_fn done, void *data,
                 struct question **ret) {
        if (resolver->questions >= resolver->questions_max)
                return -EBUSY;
        struct question *question = malloc(sizeof(*question));
        if (!question)
                return -ENOMEM;
        *question = (struct question){.resolver = resolver, .query = *query, .done = done, .data = data, .fd = -1};
        int r = loop_add_timer(resolver->loop, 0, on_begin, question, &question->timer);
        if (r < 0) {
                free(question);
                return r;
        }
        resolver->questions++;
        *ret = question;
        return 0;
}

void question_drop(struct question **question) {
        struct question *dropped = TAKE_PTR(*question);
        if (!dropped)
                return;
        close_attempt(dropped);
        dropped->resolver->questions--;
        free(dropped);
}
