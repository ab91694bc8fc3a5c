/*
 * Arguments of a tool against its JSON Schema.
 *
 * Runs in the api process. Pure. Both the schema and the arguments are a client's. What is checked is the part of JSON
 * Schema that descriptions of tools use:
 *
 *   type (one or a list), enum, const
 *   properties, required, additionalProperties, minProperties, maxProperties
 *   items, prefixItems, minItems, maxItems, uniqueItems
 *   minLength, maxLength (in characters)
 *   minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
 *   anyOf, oneOf, allOf, not, $ref to "#/…" within the schema
 *
 * Other keywords (title, description, default, format, pattern, …) say nothing here. A schema that is of no sense at some
 * place allows everything there: the function itself has the last word.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"

#define SCHEMA_DEPTH_MAX 64
#define SCHEMA_STEPS_MAX 200000 /* looked at, schemas times values: bounds the time */

/* 0, or -EINVAL, and `e` names the argument ("arguments.limit") and says what it must be. */
int schema_check(const json_t *schema, const json_t *arguments, const char *name, struct err *e);
