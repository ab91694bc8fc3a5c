/* The egress channel; see egress_channel.h. */
#include "run/egress_channel.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "run/json_out.h"

#define ROUND_BYTES (64 << 10)

static const struct frame_rule rules[] = {
        {FRAME_EGRESS, sizeof(struct egress_record), sizeof(struct egress_record) + EGRESS_HOST_MAX},
};

static const char *const decision_names[] = {
        [EGRESS_ALLOWED] = "allowed",
        [EGRESS_REFUSED] = "refused",
        [EGRESS_FAILED] = "failed",
};

static const char *const rule_names[] = {
        [EGRESS_RULE_PUBLIC] = "public", [EGRESS_RULE_ALLOW] = "allow",
        [EGRESS_RULE_DENY] = "deny",     [EGRESS_RULE_OFF] = "off",
        [EGRESS_RULE_RESERVED] = "reserved", [EGRESS_RULE_NAME] = "name",
        [EGRESS_RULE_LIMIT] = "limit",   [EGRESS_RULE_UNREACHABLE] = "unreachable",
        [EGRESS_RULE_PORT] = "port",
};

const char *egress_decision_name(uint32_t decision) {
        return decision < ARRAY_SIZE(decision_names) ? decision_names[decision] : NULL;
}

static const char *rule_name(uint32_t rule) {
        return rule < ARRAY_SIZE(rule_names) ? rule_names[rule] : NULL;
}

static bool is_sound(const struct egress_record *record, uint32_t length) {
        return egress_decision_name(record->decision) && rule_name(record->rule) &&
               (record->family == 0 || record->family == 4 || record->family == 6) &&
               record->host_length == length - sizeof(*record) && record->bytes_sent <= INT64_MAX / 2 &&
               record->bytes_received <= INT64_MAX / 2;
}

static const char *address_text(const struct egress_record *record, char text[INET6_ADDRSTRLEN]) {
        if (record->family == 0)
                return NULL;
        return inet_ntop(record->family == 4 ? AF_INET : AF_INET6, record->address, text, INET6_ADDRSTRLEN);
}

static bool render(struct egress_channel *channel, const struct egress_record *record, const char *host) {
        char address[INET6_ADDRSTRLEN];
        struct json_out out;
        json_out_init(&out, 256);
        json_out_open(&out, '{');
        json_out_key(&out, "host");
        if (record->host_length > 0)
                json_out_bytes(&out, host, record->host_length);
        else
                json_out_null(&out);
        json_out_member_string(&out, "address", address_text(record, address));
        json_out_member_int(&out, "port", record->port);
        json_out_member_string(&out, "decision", egress_decision_name(record->decision));
        json_out_member_string(&out, "rule", rule_name(record->rule));
        json_out_member_int(&out, "bytes", (int64_t)(record->bytes_sent + record->bytes_received));
        json_out_member_int(&out, "bytes_sent", (int64_t)record->bytes_sent);
        json_out_member_int(&out, "bytes_received", (int64_t)record->bytes_received);
        json_out_close(&out, '}');
        if (out.failed)
                json_out_deinit(&out);
        return out.bytes && rendered_list_add(&channel->records, out.bytes, out.used) == 0;
}

static bool on_frame(void *data, uint32_t type, const char *payload, uint32_t length) {
        struct egress_channel *channel = data;
        struct egress_record record;
        (void)type;
        memcpy(&record, payload, sizeof(record));
        if (!is_sound(&record, length) || channel->records.count == EGRESS_RECORDS_MAX)
                return false;
        channel->decisions[record.decision]++;
        if (!render(channel, &record, payload + sizeof(record)))
                channel->failed = true;
        return true;
}

static void on_socket(void *data, int fd, uint32_t events) {
        struct egress_channel *channel = data;
        (void)events;
        enum frame_status status = frame_reader_read(&channel->reader, fd, ROUND_BYTES);
        if (status != FRAMES_END && status != FRAMES_BAD)
                return;
        channel->ended = true;
        if (status == FRAMES_BAD)
                shutdown(fd, SHUT_RD);
        loop_remove(channel->loop, &channel->source);
        channel->on_ended(channel->data);
}

void egress_channel_init(struct egress_channel *channel, struct loop *loop, int fd, void (*on_ended)(void *data),
                         void *data) {
        *channel = (struct egress_channel){
                .loop = loop, .fd = fd, .ended = fd < 0, .on_ended = on_ended, .data = data};
        frame_reader_init(&channel->reader, rules, ARRAY_SIZE(rules), on_frame, channel);
}

void egress_channel_deinit(struct egress_channel *channel) {
        loop_remove(channel->loop, &channel->source);
        frame_reader_deinit(&channel->reader);
        close_fd(&channel->fd);
        rendered_list_deinit(&channel->records);
}

int egress_channel_listen(struct egress_channel *channel) {
        if (channel->ended || channel->source)
                return 0;
        return loop_add_fd(channel->loop, channel->fd, EPOLLIN, on_socket, channel, &channel->source);
}
