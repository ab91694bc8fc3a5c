/* Checks an audit log; see audit_check.h. */
#include "cli/audit_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FAULTS_MAX 20
#define TEXT_BYTES 512

int audit_check_init(struct audit_check *check) {
        *check = (struct audit_check){.faults = json_array(), .notes = json_array()};
        audit_place_start(&check->place);
        audit_place_start(&check->before);
        return check->faults && check->notes ? 0 : -ENOMEM;
}

void audit_check_deinit(struct audit_check *check) {
        json_decref(check->faults);
        json_decref(check->notes);
}

bool audit_anchor_parse(const char *text, struct audit_anchor *ret) {
        *ret = (struct audit_anchor){.who = "--anchor"};
        return audit_place_parse(text, &ret->place);
}

static void __attribute__((format(printf, 2, 3))) add_fault(struct audit_check *check, const char *format, ...) {
        char text[TEXT_BYTES];
        va_list arguments;
        if (json_array_size(check->faults) == FAULTS_MAX) {
                check->more_faults = true;
                return;
        }
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        json_array_append_new(check->faults, json_string(text));
}

/* ---- what the service itself has done to its log */

static void note_drop(struct audit_check *check, json_t *details) {
        json_int_t through = json_integer_value(json_object_get(details, "through"));
        const char *hash = json_string_value(json_object_get(details, "hash"));
        if (!hash || (uint64_t)through != check->before.seq || strcmp(hash, check->before.hash) != 0)
                return;
        json_array_append_new(check->notes, json_sprintf("lines 1 to %" PRIu64 " were removed by the service for want "
                                                         "of space (SANDBOX_AUDIT_MAX_BYTES); line %" PRIu64 " says so",
                                                         check->before.seq, check->place.seq));
        audit_place_start(&check->before); /* explained */
}

/* The service has found that its log did not end where it had come to. */
static void add_loss(struct audit_check *check, json_t *details) {
        json_int_t through = json_integer_value(json_object_get(details, "through"));
        uint64_t says = check->place.seq;
        if ((uint64_t)through == says)
                add_fault(check,
                          "line %" PRIu64 " was changed or removed while the service was stopped, or lost with the "
                          "disk; what stands in its place now says so",
                          says);
        else if ((uint64_t)through > says)
                add_fault(check,
                          "lines %" PRIu64 " to %" JSON_INTEGER_FORMAT " were changed or removed while the service was "
                          "stopped, or lost with the disk; what stands as line %" PRIu64 " now says so",
                          says, through, says);
        else
                add_fault(check, "line %" PRIu64 " and what is before it were written anew while the service was "
                                 "stopped; line %" PRIu64 " says so",
                          says - 1, says);
}

static void look_into(struct audit_check *check, const char *line, size_t length) {
        json_t *parsed = json_loadb(line, length, 0, NULL), *details = json_object_get(parsed, "details");
        const char *action = json_string_value(json_object_get(parsed, "action"));
        if (action && strcmp(action, "audit.drop") == 0)
                note_drop(check, details);
        if (action && strcmp(action, "audit.lost") == 0)
                add_loss(check, details);
        if (action && strcmp(action, "audit.repair") == 0)
                json_array_append_new(check->notes,
                                      json_sprintf("line %" PRIu64 ": the service found %lld damaged bytes at the end "
                                                   "of its log and set them aside",
                                                   check->place.seq,
                                                   (long long)json_integer_value(json_object_get(details, "bytes"))));
        json_decref(parsed);
}

/* ---- lines */

static void say_order(struct audit_check *check, const char *name, const struct audit_line *line) {
        uint64_t last = check->place.seq;
        if (line->seq <= last)
                add_fault(check, "%s: line %" PRIu64 " stands after line %" PRIu64 ": the order was changed", name,
                          line->seq, last);
        else if (line->seq == last + 2)
                add_fault(check, "%s: line %" PRIu64 " is missing", name, last + 1);
        else
                add_fault(check, "%s: lines %" PRIu64 " to %" PRIu64 " are missing", name, last + 1, line->seq - 1);
}

static void compare_anchors(struct audit_check *check, const struct audit_line *line) {
        for (size_t i = 0; i < ARRAY_SIZE(check->anchors); i++) {
                struct audit_anchor *anchor = &check->anchors[i];
                if (anchor->place.seq != line->seq)
                        continue;
                anchor->seen = true;
                if (strcmp(anchor->place.hash, line->hash) != 0)
                        add_fault(check, "line %" PRIu64 " has another hash than %s says: the log was written anew",
                                  line->seq, anchor->who);
        }
}

/* The first line decides where the chain begins; whether it may begin there is told by a later line. */
static void begin(struct audit_check *check, const struct audit_line *line) {
        check->first = line->seq;
        check->place.seq = check->before.seq = line->seq - 1;
        memcpy(check->place.hash, line->prev, sizeof(line->prev));
        memcpy(check->before.hash, line->prev, sizeof(line->prev));
}

static void check_line(struct audit_check *check, const char *name, uint64_t number, const char *bytes, size_t length) {
        struct audit_line line;
        enum audit_fault fault = audit_line_read(bytes, length, &line);
        if (fault == AUDIT_E_FORM) {
                add_fault(check, "%s: what stands in row %" PRIu64 " is no line of an audit log", name, number);
                return;
        }
        if (fault == AUDIT_E_CHANGED)
                add_fault(check, "%s: line %" PRIu64 " was changed", name, line.seq);
        if (check->lines++ == 0)
                begin(check, &line);
        fault = audit_line_follow(&line, &check->place);
        if (fault == AUDIT_E_ORDER)
                say_order(check, name, &line);
        if (fault == AUDIT_E_CHAIN)
                add_fault(check, "%s: line %" PRIu64 " was not written after the line before it: one was replaced",
                          name, line.seq);
        check->place.seq = line.seq; /* and on from here, to find what else is wrong */
        memcpy(check->place.hash, line.hash, sizeof(line.hash));
        compare_anchors(check, &line);
        look_into(check, bytes, length);
}

void audit_check_file(struct audit_check *check, const char *name, const char *text, size_t length) {
        uint64_t number = 1;
        for (const char *end; length > 0; number++) {
                end = memchr(text, '\n', length);
                if (!end) {
                        add_fault(check, "%s: the last line is cut off", name);
                        return;
                }
                check_line(check, name, number, text, (size_t)(end - text));
                length -= (size_t)(end + 1 - text);
                text = end + 1;
        }
}

void audit_check_end(struct audit_check *check) {
        static const char zero[] = "0000000000000000000000000000000000000000000000000000000000000000";
        if (check->before.seq > 0)
                add_fault(check, "lines 1 to %" PRIu64 " are missing, and no line says that the service removed them",
                          check->before.seq);
        else if (check->lines > 0 && strcmp(check->before.hash, zero) != 0)
                add_fault(check, "line 1 says that lines came before it");
        for (size_t i = 0; i < ARRAY_SIZE(check->anchors); i++) {
                const struct audit_anchor *anchor = &check->anchors[i];
                if (anchor->place.seq && !anchor->seen)
                        add_fault(check, "line %" PRIu64 ", which must be there as %s says, is missing",
                                  anchor->place.seq, anchor->who);
        }
}
