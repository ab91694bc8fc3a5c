/* The guard; see http_guard.h. The grammar is that of RFC 9112, without what it lets a server tolerate. */
#include "api/http_guard.h"

#include <string.h>
#include <strings.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define METHOD_LENGTH_MAX 20
#define LENGTH_DIGITS_MAX 15 /* a petabyte: no overflow, and far over every limit */

static enum guard_verdict refuse(struct guard *guard, enum http_error kind, const char *reason) {
        guard->kind = kind;
        guard->reason = reason;
        return GUARD_REFUSED;
}

static enum guard_verdict malformed(struct guard *guard, const char *reason) {
        return refuse(guard, HTTP_INVALID_REQUEST, reason);
}

static bool is_token_char(unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_hex(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* ---- the request line */

/* Origin form only: "/path?query". %00 would cut the decoded path short, so it is refused with the bad escapes. */
static enum guard_verdict check_target(struct guard *guard, const char *target, size_t length) {
        if (length == 0 || target[0] != '/')
                return malformed(guard, "The request target must begin with \"/\"; whole URLs are for proxies.");
        if (length > GUARD_TARGET_MAX)
                return refuse(guard, HTTP_HEADERS_TOO_LARGE,
                              "The request target is longer than " TEXT(GUARD_TARGET_MAX) " bytes.");
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)target[i];
                if (c <= ' ' || c >= 0x7f || strchr("\"#<>\\^`{|}", c))
                        return malformed(guard, "The request target has a character that must be percent-encoded.");
                if (c != '%')
                        continue;
                if (i + 2 >= length || !is_hex(target[i + 1]) || !is_hex(target[i + 2]))
                        return malformed(guard, "The request target has a \"%\" without two hexadecimal digits.");
                if (target[i + 1] == '0' && target[i + 2] == '0')
                        return malformed(guard, "The request target has a NUL character.");
        }
        return GUARD_MORE;
}

static enum guard_verdict check_version(struct guard *guard, const char *version, size_t length) {
        if (length == 8 && memcmp(version, "HTTP/1.1", 8) == 0)
                return GUARD_MORE;
        guard->http_1_0 = length == 8 && memcmp(version, "HTTP/1.0", 8) == 0;
        if (guard->http_1_0)
                return GUARD_MORE;
        return malformed(guard, "The request line must end in HTTP/1.1 or HTTP/1.0.");
}

static enum guard_verdict check_request_line(struct guard *guard, const char *bytes, size_t at, size_t length) {
        const char *line = bytes + at;
        size_t method = 0;
        while (method < length && is_token_char((unsigned char)line[method]))
                method++;
        if (method == 0 || method > METHOD_LENGTH_MAX || method == length || line[method] != ' ')
                return malformed(guard,
                                 "The request line must be a method, one space, a target, one space, a version.");

        const char *target = line + method + 1;
        const char *space = memchr(target, ' ', length - method - 1);
        if (!space)
                return malformed(guard, "The request line has no HTTP version.");
        guard->target = at + method + 1;
        guard->target_length = (size_t)(space - target);
        enum guard_verdict verdict = check_target(guard, target, guard->target_length);
        if (verdict != GUARD_MORE)
                return verdict;
        return check_version(guard, space + 1, length - method - 2 - guard->target_length);
}

/* ---- headers with a meaning for framing, or whose doubling could be read in two ways */

static enum guard_verdict check_content_length(struct guard *guard, const char *value, size_t length) {
        if (length == 0 || length > LENGTH_DIGITS_MAX)
                return malformed(guard, "Content-Length must be a number of 1 to " TEXT(LENGTH_DIGITS_MAX) " digits.");
        for (size_t i = 0; i < length; i++) {
                if (value[i] < '0' || value[i] > '9')
                        return malformed(guard, "Content-Length must consist of digits only.");
                guard->content_length = guard->content_length * 10 + (uint64_t)(value[i] - '0');
        }
        return GUARD_MORE;
}

static enum guard_verdict check_transfer_encoding(struct guard *guard, const char *value, size_t length) {
        if (length != 7 || strncasecmp(value, "chunked", 7) != 0)
                return malformed(guard, "Transfer-Encoding must be \"chunked\"; no other coding is supported.");
        guard->chunked = true;
        return GUARD_MORE;
}

static enum guard_verdict check_host(struct guard *guard, const char *value, size_t length) {
        for (size_t i = 0; i < length; i++)
                if (!is_token_char((unsigned char)value[i]) && !strchr(":[]();=,", value[i]))
                        return malformed(guard, "The Host header has a character that no host name has.");
        return GUARD_MORE;
}

static enum guard_verdict check_expect(struct guard *guard, const char *value, size_t length) {
        if (length != 12 || strncasecmp(value, "100-continue", 12) != 0)
                return malformed(guard, "Expect may only be \"100-continue\".");
        guard->expects_continue = true;
        return GUARD_MORE;
}

/* Rows that are asked for by name; their order is that of the table. */
enum { SEEN_CONTENT_LENGTH, SEEN_TRANSFER_ENCODING, SEEN_HOST };

static const struct single {
        const char *name;
        const char *doubled;
        enum guard_verdict (*check)(struct guard *guard, const char *value, size_t length);
} singles[] = {
        {"content-length", "Content-Length stands more than once.", check_content_length},
        {"transfer-encoding", "Transfer-Encoding stands more than once.", check_transfer_encoding},
        {"host", "Host stands more than once.", check_host},
        {"expect", "Expect stands more than once.", check_expect},
        {"authorization", "Authorization stands more than once.", NULL},
        {"content-type", "Content-Type stands more than once.", NULL},
        {"content-encoding", "Content-Encoding stands more than once.", NULL},
        {"cookie", "Cookie stands more than once.", NULL},
        {"origin", "Origin stands more than once.", NULL},
        {"sec-fetch-site", "Sec-Fetch-Site stands more than once.", NULL},
        {"x-csrf-token", "X-CSRF-Token stands more than once.", NULL},
        {"x-project", "X-Project stands more than once.", NULL},
        {"idempotency-key", "Idempotency-Key stands more than once.", NULL},
        {"mcp-session-id", "Mcp-Session-Id stands more than once.", NULL},
        {"mcp-protocol-version", "MCP-Protocol-Version stands more than once.", NULL},
        {"mcp-method", "Mcp-Method stands more than once.", NULL},
        {"mcp-name", "Mcp-Name stands more than once.", NULL},
        {"last-event-id", "Last-Event-ID stands more than once.", NULL},
};

static bool seen(const struct guard *guard, unsigned row) {
        return guard->seen & (UINT32_C(1) << row);
}

static enum guard_verdict check_single(struct guard *guard, const char *name, size_t name_length, const char *value,
                                       size_t length) {
        for (unsigned row = 0; row < sizeof(singles) / sizeof(singles[0]); row++) {
                const struct single *single = &singles[row];
                if (strlen(single->name) != name_length || strncasecmp(single->name, name, name_length) != 0)
                        continue;
                if (seen(guard, row))
                        return malformed(guard, single->doubled);
                guard->seen |= UINT32_C(1) << row;
                return single->check ? single->check(guard, value, length) : GUARD_MORE;
        }
        return GUARD_MORE;
}

/*
 * White space after a value is no part of it (RFC 9112, 5.1), but libmicrohttpd, which passes over what stands before,
 * would take it for one: it is put there.
 */
static void move_space(char *value, size_t length) {
        size_t end = length;
        while (end && (value[end - 1] == ' ' || value[end - 1] == '\t'))
                end--;
        memmove(value + (length - end), value, end);
        memset(value, ' ', length - end);
}

static enum guard_verdict check_header(struct guard *guard, char *line, size_t length) {
        if (line[0] == ' ' || line[0] == '\t')
                return malformed(guard, "A header is folded over two lines; put it on one.");
        if (++guard->headers > GUARD_HEADERS_MAX)
                return refuse(guard, HTTP_HEADERS_TOO_LARGE,
                              "The request has more than " TEXT(GUARD_HEADERS_MAX) " headers.");

        size_t name = 0;
        while (name < length && is_token_char((unsigned char)line[name]))
                name++;
        if (name == 0 || name == length || line[name] != ':')
                return malformed(guard, "A header must be a name, directly followed by a colon, and a value.");

        char *value = line + name + 1;
        size_t value_length = length - name - 1;
        for (size_t i = 0; i < value_length; i++) {
                unsigned char c = (unsigned char)value[i];
                if ((c < ' ' && c != '\t') || c == 0x7f)
                        return malformed(guard, "A header value has a control character.");
        }
        move_space(value, value_length);
        while (value_length && (value[0] == ' ' || value[0] == '\t'))
                value++, value_length--;
        return check_single(guard, line, name, value, value_length);
}

/* What only shows when all headers are there. */
static enum guard_verdict check_whole(struct guard *guard) {
        if (!guard->http_1_0 && !seen(guard, SEEN_HOST))
                return malformed(guard, "The Host header is missing.");
        if (guard->chunked && seen(guard, SEEN_CONTENT_LENGTH))
                return malformed(guard, "Content-Length and Transfer-Encoding exclude each other.");
        if (guard->chunked && guard->http_1_0)
                return malformed(guard, "HTTP/1.0 has no Transfer-Encoding.");
        return GUARD_COMPLETE;
}

/* One whole line without its CR LF. */
static enum guard_verdict check_line(struct guard *guard, char *bytes, size_t at, size_t length) {
        if (memchr(bytes + at, '\r', length) || memchr(bytes + at, '\0', length))
                return malformed(guard, "A line has a bare carriage return or a NUL character.");
        if (guard->have_line)
                return length ? check_header(guard, bytes + at, length) : check_whole(guard);
        if (length == 0) /* RFC 9112, 2.2: some clients send an empty line after a body */
                return GUARD_MORE;
        guard->have_line = true;
        guard->start = at;
        return check_request_line(guard, bytes, at, length);
}

enum guard_verdict guard_feed(struct guard *guard, char *bytes, size_t length) {
        const char *feed;
        if (length > GUARD_HEAD_MAX)
                length = GUARD_HEAD_MAX;
        while ((feed = memchr(bytes + guard->checked, '\n', length - guard->checked))) {
                size_t at = guard->checked;
                size_t end = (size_t)(feed - bytes);
                if (end == at || bytes[end - 1] != '\r')
                        return malformed(guard, "A line must end in carriage return and line feed.");
                guard->checked = end + 1;
                enum guard_verdict verdict = check_line(guard, bytes, at, end - 1 - at);
                if (verdict == GUARD_COMPLETE)
                        guard->head_length = guard->checked;
                if (verdict != GUARD_MORE)
                        return verdict;
        }
        /* Say it early to what speaks something else, such as TLS, whose lines never end. */
        if (!guard->have_line && length > guard->checked && bytes[guard->checked] != '\r' &&
            !is_token_char((unsigned char)bytes[guard->checked]))
                return malformed(guard, "This is not an HTTP request; the service speaks plain HTTP/1.1.");
        if (length >= GUARD_HEAD_MAX)
                return refuse(guard, HTTP_HEADERS_TOO_LARGE,
                              "Request line and headers are longer than " TEXT(GUARD_HEAD_MAX) " bytes.");
        return GUARD_MORE;
}
