/*
 * Checks an audit log, line by line: finds what was changed, taken out, put elsewhere, or cut off at the end.
 *
 * The lines may come from anywhere and are taken for hostile; what is wrong with them is collected.
 */
#pragma once

#include <jansson.h>

#include "audit/chain.h"

/* A line that must be there, and with this hash: the service says where its log has come to, or somebody noted it. */
struct audit_anchor {
        struct audit_place place; /* seq 0: none */
        const char *who;          /* says so */
        bool seen;
};

struct audit_check {
        struct audit_place place;  /* of the last line */
        struct audit_place before; /* of what came before the first line, as that one says */
        uint64_t lines, first;
        struct audit_anchor anchors[2];
        json_t *faults, *notes; /* lists of texts */
        bool more_faults;       /* than are listed */
};

/* 0 or -ENOMEM. */
int audit_check_init(struct audit_check *check);
void audit_check_deinit(struct audit_check *check);
/* "LINE:HASH". False: this is none. */
bool audit_anchor_parse(const char *text, struct audit_anchor *ret);

/* All lines of one file, named as a person will read it. */
void audit_check_file(struct audit_check *check, const char *name, const char *text, size_t length);
/* After the last file. */
void audit_check_end(struct audit_check *check);
