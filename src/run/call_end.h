/*
 * What came of a tool call: the runner's last word, and how the process ended, together.
 *
 * Runs in the api process. The runner shares its process with the agent's code, so its last word is hostile: bounded,
 * checked, and believed about the call alone. It counts only if the process then ended well: a result from a process that
 * died is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/json_scan.h"
#include "run/outcome.h"

#define CALL_ERROR_TYPE_MAX 200
#define CALL_ERROR_MESSAGE_MAX 16384
#define CALL_ERROR_TRACEBACK_MAX 131072

struct json_out;

/* The payload of FRAME_CALL_END, and what is in it. */
struct call_end {
        bool seen;
        char *bytes; /* owned */
        struct json_span result, error;               /* of a call: one of them */
        struct json_span tools, python, implementation; /* of a discovery */
        struct json_span image;                       /* of an import */
        char problem[160];                            /* why it cannot be taken, for the end of a sentence; "": it can */
        size_t too_large;                             /* its size, if that is the reason */
};

void call_end_deinit(struct call_end *end);
/* Copies and checks. What is wrong with it is noted in `problem`. */
void call_end_take(struct call_end *end, const char *payload, size_t length);
/* One came that is too large to be read. */
void call_end_refuse_size(struct call_end *end, size_t length);

/* Why a call has no result. */
struct call_error {
        char type[CALL_ERROR_TYPE_MAX + 1];
        char *message, *traceback; /* owned; NULL: none */
        bool builtin;              /* `type` is one of Python's own exceptions */
};

struct call_facts {
        struct outcome_of_run outcome; /* as the process ended */
        int wait_status;
        uint32_t timeout_ms;
        uint64_t memory_bytes, output_max_bytes;
        bool started; /* the agent's code ran */
};

/*
 * Decides how it ended. True: with what was `wanted`, one of the members of `end`. False: without, and `error` says why. In
 * both cases facts->outcome is what the reply says.
 */
bool call_end_judge(const struct call_end *end, const struct json_span *wanted, struct call_facts *facts,
                    struct call_error *error);
void call_error_deinit(struct call_error *error);
/* The member's value: an object. */
void call_error_write(const struct call_error *error, struct json_out *out);
