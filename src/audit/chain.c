/* The audit log's lines; see chain.h. */
#include "audit/chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "base/cleanup.h"
#include "base/hex.h"

#define BEGIN "{\"seq\":"
#define PREV ",\"prev\":\""
#define HASH ",\"hash\":\""
#define HASH_END "\"}"
#define TAIL_LENGTH (strlen(HASH) + AUDIT_HASH_DIGITS + strlen(HASH_END))
#define SEQ_DIGITS_MAX 18 /* which a 64-bit number holds whatever they are */

void audit_place_start(struct audit_place *place) {
        place->seq = 0;
        memset(place->hash, '0', AUDIT_HASH_DIGITS);
        place->hash[AUDIT_HASH_DIGITS] = '\0';
}

void audit_place_print(const struct audit_place *place, char text[AUDIT_PLACE_BYTES]) {
        snprintf(text, AUDIT_PLACE_BYTES, "%020" PRIu64 ":%s", place->seq, place->hash);
}

bool audit_place_parse(const char *text, struct audit_place *ret) {
        size_t digits = strspn(text, "0123456789");
        const char *hash = text + digits + 1;
        errno = 0;
        ret->seq = strtoull(text, NULL, 10);
        if (digits == 0 || errno || ret->seq == 0 || text[digits] != ':' || strlen(hash) != AUDIT_HASH_DIGITS ||
            strspn(hash, "0123456789abcdef") != AUDIT_HASH_DIGITS)
                return false;
        memcpy(ret->hash, hash, AUDIT_HASH_DIGITS + 1);
        return true;
}

static bool hash_of(const char *bytes, size_t length, char text[AUDIT_HASH_DIGITS + 1]) {
        unsigned char hash[SHA256_DIGEST_LENGTH];
        if (!SHA256((const unsigned char *)bytes, length, hash))
                return false;
        hex_write(hash, sizeof(hash), text);
        return true;
}

/* ---- writing */

int audit_line_write(const struct audit_place *before, const char *time, const char *members,
                     struct audit_place *place, char **ret) {
        struct audit_place own = {.seq = before->seq + 1};
        CLEANUP_FREE char *line = NULL;
        size_t length = strlen(members);
        if (length < 2 || members[0] != '{' || members[length - 1] != '}')
                return -EINVAL;
        int used = asprintf(&line, BEGIN "%" PRIu64 PREV "%s\",\"time\":\"%s\",%.*s" HASH "%*s" HASH_END, own.seq,
                            before->hash, time, (int)(length - 2), members + 1, AUDIT_HASH_DIGITS, "");
        if (used < 0)
                return -ENOMEM;
        if (used > AUDIT_LINE_MAX)
                return -EMSGSIZE;
        char *tail = line + (size_t)used - TAIL_LENGTH;
        if (!hash_of(line, (size_t)(tail - line), own.hash))
                return -ENOMEM;
        memcpy(tail + strlen(HASH), own.hash, AUDIT_HASH_DIGITS);
        *place = own;
        *ret = TAKE_PTR(line);
        return 0;
}

/* ---- reading */

/* What is left to read. */
struct text {
        const char *at, *end;
};

static bool take(struct text *text, const char *words) {
        size_t length = strlen(words);
        if ((size_t)(text->end - text->at) < length || memcmp(text->at, words, length) != 0)
                return false;
        text->at += length;
        return true;
}

static bool take_number(struct text *text, uint64_t *ret) {
        size_t digits = 0;
        *ret = 0;
        for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++, digits++) {
                if (digits == SEQ_DIGITS_MAX || (digits == 1 && *ret == 0))
                        return false;
                *ret = *ret * 10 + (uint64_t)(*text->at - '0');
        }
        return digits > 0;
}

static bool take_hash(struct text *text, char hash[AUDIT_HASH_DIGITS + 1]) {
        if (text->end - text->at < AUDIT_HASH_DIGITS)
                return false;
        memcpy(hash, text->at, AUDIT_HASH_DIGITS);
        hash[AUDIT_HASH_DIGITS] = '\0';
        text->at += AUDIT_HASH_DIGITS;
        return strspn(hash, "0123456789abcdef") == AUDIT_HASH_DIGITS;
}

enum audit_fault audit_line_read(const char *bytes, size_t length, struct audit_line *ret) {
        char hash[AUDIT_HASH_DIGITS + 1];
        if (length > AUDIT_LINE_MAX || length < TAIL_LENGTH)
                return AUDIT_E_FORM;
        struct text head = {bytes, bytes + length - TAIL_LENGTH}, tail = {head.end, bytes + length};
        if (!take(&head, BEGIN) || !take_number(&head, &ret->seq) || ret->seq == 0 || !take(&head, PREV) ||
            !take_hash(&head, ret->prev) || !take(&head, "\",") || !take(&tail, HASH) ||
            !take_hash(&tail, ret->hash) || !take(&tail, HASH_END))
                return AUDIT_E_FORM;
        if (!hash_of(bytes, length - TAIL_LENGTH, hash) || strcmp(hash, ret->hash) != 0)
                return AUDIT_E_CHANGED;
        return AUDIT_OK;
}

enum audit_fault audit_line_follow(const struct audit_line *line, struct audit_place *place) {
        if (line->seq != place->seq + 1)
                return AUDIT_E_ORDER;
        if (strcmp(line->prev, place->hash) != 0)
                return AUDIT_E_CHAIN;
        place->seq = line->seq;
        memcpy(place->hash, line->hash, sizeof(place->hash));
        return AUDIT_OK;
}
