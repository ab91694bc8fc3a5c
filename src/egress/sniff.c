/* The name at the start of a connection; see sniff.h. */
#include "egress/sniff.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define TLS_HANDSHAKE 22
#define TLS_CLIENT_HELLO 1
#define TLS_SERVER_NAME 0
#define TLS_HOST_NAME 0
#define METHOD_MAX 16

/* Part of a message: what is left to read of it. */
struct reader {
        const uint8_t *at;
        size_t left;
};

static bool take(struct reader *reader, size_t bytes, struct reader *ret) {
        if (reader->left < bytes)
                return false;
        *ret = (struct reader){reader->at, bytes};
        reader->at += bytes;
        reader->left -= bytes;
        return true;
}

static bool take_number(struct reader *reader, size_t bytes, size_t *ret) {
        struct reader number;
        if (!take(reader, bytes, &number))
                return false;
        for (*ret = 0; number.left > 0; number.at++, number.left--)
                *ret = *ret << 8 | *number.at;
        return true;
}

/* A part that begins with its own length. */
static bool take_part(struct reader *reader, size_t length_bytes, struct reader *ret) {
        size_t length;
        return take_number(reader, length_bytes, &length) && take(reader, length, ret);
}

static enum sniffed accept_name(const uint8_t *name, size_t length, char *ret_host) {
        char host[EGRESS_HOST_MAX + 1];
        struct in_addr address;
        if (length > 0 && name[length - 1] == '.')
                length--;
        if (length == 0 || length > EGRESS_HOST_MAX)
                return SNIFF_NONE;
        for (size_t i = 0; i < length; i++) {
                if (!isalnum(name[i]) && name[i] != '-' && name[i] != '_' && name[i] != '.')
                        return SNIFF_NONE;
                host[i] = (char)tolower(name[i]);
        }
        host[length] = '\0';
        if (inet_aton(host, &address))
                return SNIFF_NONE;
        memcpy(ret_host, host, length + 1);
        return SNIFF_FOUND;
}

/* ---- TLS, RFC 8446 section 4.1.2 and RFC 6066 section 3 */

static enum sniffed read_server_name(struct reader extension, char *ret_host) {
        struct reader list, name;
        size_t type;
        if (!take_part(&extension, 2, &list) || !take_number(&list, 1, &type) || type != TLS_HOST_NAME ||
            !take_part(&list, 2, &name))
                return SNIFF_NONE;
        return accept_name(name.at, name.left, ret_host);
}

/* The message may be longer than what is here; where it breaks off, more may tell. */
static enum sniffed read_hello(struct reader hello, char *ret_host) {
        struct reader skipped, extension;
        size_t length, type;
        if (!take_number(&hello, 1, &type) || !take_number(&hello, 3, &length))
                return SNIFF_MORE;
        if (type != TLS_CLIENT_HELLO)
                return SNIFF_NONE;
        if (!take(&hello, 2 + 32, &skipped) || /* version, random */
            !take_part(&hello, 1, &skipped) || /* session */
            !take_part(&hello, 2, &skipped) || /* ciphers */
            !take_part(&hello, 1, &skipped) || /* compression */
            !take_number(&hello, 2, &length))
                return SNIFF_MORE;
        while (length >= 4) {
                if (!take_number(&hello, 2, &type) || !take_part(&hello, 2, &extension))
                        return SNIFF_MORE;
                if (type == TLS_SERVER_NAME)
                        return read_server_name(extension, ret_host);
                if (extension.left + 4 > length)
                        return SNIFF_NONE;
                length -= extension.left + 4;
        }
        return SNIFF_NONE;
}

static enum sniffed sniff_tls(struct reader bytes, char *ret_host) {
        struct reader record;
        size_t type, version, length;
        if (!take_number(&bytes, 1, &type) || !take_number(&bytes, 2, &version) || !take_number(&bytes, 2, &length))
                return SNIFF_MORE;
        if (version >> 8 != 3)
                return SNIFF_NONE;
        const bool whole = length <= bytes.left;
        take(&bytes, whole ? length : bytes.left, &record);
        const enum sniffed found = read_hello(record, ret_host);
        return found == SNIFF_MORE && whole ? SNIFF_NONE : found; /* a message in several records is left alone */
}

/* ---- HTTP, RFC 9112 */

static bool is_header(const uint8_t *line, size_t length, const char *name) {
        const size_t name_length = strlen(name);
        return length > name_length && line[name_length] == ':' &&
               strncasecmp((const char *)line, name, name_length) == 0;
}

static enum sniffed read_host(const uint8_t *value, size_t length, char *ret_host) {
        while (length > 0 && (*value == ' ' || *value == '\t')) {
                value++;
                length--;
        }
        size_t end = 0;
        while (end < length && value[end] != ':' && value[end] != ' ' && value[end] != '\t')
                end++;
        return accept_name(value, end, ret_host);
}

/* A request begins with a method and a space: else it is no HTTP. */
static bool may_be_http(const uint8_t *bytes, size_t length) {
        size_t at = 0;
        while (at < length && at < METHOD_MAX && isupper(bytes[at]))
                at++;
        return at > 0 && at < METHOD_MAX && (at == length || bytes[at] == ' ');
}

static enum sniffed sniff_http(const uint8_t *bytes, size_t length, char *ret_host) {
        if (!may_be_http(bytes, length))
                return SNIFF_NONE;
        for (size_t start = 0; start < length;) {
                const uint8_t *end = memchr(bytes + start, '\n', length - start);
                if (!end)
                        return SNIFF_MORE;
                size_t line = (size_t)(end - (bytes + start));
                if (line > 0 && bytes[start + line - 1] == '\r')
                        line--;
                if (line == 0 && start > 0)
                        return SNIFF_NONE; /* the end of the headers */
                if (is_header(bytes + start, line, "Host"))
                        return read_host(bytes + start + 5, line - 5, ret_host);
                start = (size_t)(end - bytes) + 1;
        }
        return SNIFF_MORE;
}

enum sniffed sniff_name(const uint8_t *bytes, size_t length, char ret_host[EGRESS_HOST_MAX + 1]) {
        enum sniffed found = SNIFF_MORE;
        if (length > SNIFF_BYTES_MAX)
                length = SNIFF_BYTES_MAX;
        if (length > 0 && bytes[0] == TLS_HANDSHAKE)
                found = sniff_tls((struct reader){bytes, length}, ret_host);
        else if (length > 0)
                found = sniff_http(bytes, length, ret_host);
        return found == SNIFF_MORE && length == SNIFF_BYTES_MAX ? SNIFF_NONE : found;
}
