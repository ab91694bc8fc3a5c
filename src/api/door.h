/*
 * Front doors: other services' protocols, as far as they can be had over this one's engine.
 *
 * Runs in the api process. Everything that a client sends is hostile, as everywhere. Here is what all doors share:
 * their names, where each protocol carries the key, what its errors look like, and how fields are taken from bodies.
 * What a door does is in door_NAME.c: it makes requests of the service to itself (door_call.h), and turns their answers
 * into its protocol's. docs/front-doors.md says what each of them covers.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/routes.h"
#include "base/err.h"

struct config;

#define DOOR_KEY_BYTES 513 /* the longest key that is looked at, with its NUL */

/* As the setting SANDBOX_FRONT_DOORS spells it. */
const char *door_name(enum door door);
bool door_is_open(const struct config *config, enum door door);

/*
 * The key of a request at a door: in the header of its protocol, else in Authorization. `storage` has DOOR_KEY_BYTES;
 * NULL: there is none.
 */
const char *door_key(const struct http_request *request, char *storage);
/* Where the protocol has it, for messages. */
const char *door_key_place(enum door door);

/* The body of an error reply in the door's protocol, and the status that its clients expect with it. */
json_t *door_error_body(enum door door, unsigned status, const char *type, const char *message);
unsigned door_error_status(enum door door, unsigned status);

/*
 * Fields. A value is "set" unless it is null, false or empty: clients send such for what their users left out. What is
 * set and unknown is refused by its name, because a client that asks for what is not done would be misled by silence.
 */
bool door_is_set(const json_t *value);
/* `known` ends with NULL. 0 or -EINVAL. */
int door_check_fields(const json_t *object, const char *const *known, struct err *e);
/* NULL if it is not set. 0 or -EINVAL. */
int door_text(const json_t *object, const char *name, const char **ret, struct err *e);
/* The same for a text in which NUL is a character like others. A borrowed string. */
int door_bytes(const json_t *object, const char *name, json_t **ret, struct err *e);
/* `fallback` if it is left out or null. 0 or -EINVAL. */
int door_number(const json_t *object, const char *name, double fallback, double *ret, struct err *e);
