/*
 * The audit log's lines: each carries the hash of the one before, so that a line that was changed, taken out or put
 * elsewhere is found.
 *
 * Pure. The api process writes with it; platformctl checks with it what a service sends or a file holds, and takes that
 * for hostile.
 *
 * A line is one JSON object, whose first and last members are fixed:
 *
 *   {"seq":12,"prev":"<64 digits>","time":"…", … ,"hash":"<64 digits>"}
 *
 * "hash" is the SHA-256, as hexadecimal digits, of all the bytes of the line before `,"hash":`. "prev" is the hash of
 * the line before; of line 1 it is 64 zeros.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_HASH_DIGITS 64
#define AUDIT_LINE_MAX 16384 /* without the line break */
#define AUDIT_HEAD "head"    /* the file beside the log that says where it has come to */
#define AUDIT_PLACE_BYTES 96 /* of a place as text */

/* Where a chain has come to. */
struct audit_place {
        uint64_t seq; /* of the last line; 0: none yet */
        char hash[AUDIT_HASH_DIGITS + 1];
};

enum audit_fault {
        AUDIT_OK,
        AUDIT_E_FORM,    /* this is no line of an audit log */
        AUDIT_E_CHANGED, /* its bytes do not have the hash that it says */
        AUDIT_E_ORDER,   /* its number is not the one that comes next */
        AUDIT_E_CHAIN,   /* it was not written after the line that stands before it */
};

struct audit_line {
        uint64_t seq;
        char prev[AUDIT_HASH_DIGITS + 1], hash[AUDIT_HASH_DIGITS + 1];
};

void audit_place_start(struct audit_place *place);
/* "NUMBER:HASH", of one length whatever the number. */
void audit_place_print(const struct audit_place *place, char text[AUDIT_PLACE_BYTES]);
/* False: this is none. */
bool audit_place_parse(const char *text, struct audit_place *ret);

/*
 * Composes the line after `before`. `members` is a JSON object of one line with at least one member, which are put
 * into the line. *ret is malloc()ed, without a line break; *place becomes that of the line. 0, -ENOMEM, or -EMSGSIZE.
 */
int audit_line_write(const struct audit_place *before, const char *time, const char *members,
                     struct audit_place *place, char **ret);

/* Reads a line without its line break and checks its own hash: AUDIT_OK, AUDIT_E_FORM or AUDIT_E_CHANGED. */
enum audit_fault audit_line_read(const char *bytes, size_t length, struct audit_line *ret);
/* Whether it is the one after `place`, which then becomes its own: AUDIT_OK, AUDIT_E_ORDER or AUDIT_E_CHAIN. */
enum audit_fault audit_line_follow(const struct audit_line *line, struct audit_place *place);
