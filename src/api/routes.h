/*
 * Every endpoint, in one table: method, path, who may call it, who answers it, how large its body may be.
 *
 * Runs in the api process. Pure, but for the handlers it points to. Paths and methods come from the network.
 */
#pragma once

#include <stddef.h>

#include "api/http.h"

/* Whose protocol a route speaks; see door.h. */
enum door { DOOR_NONE, DOOR_E2B, DOOR_DIFY, DOOR_PISTON, DOOR_AZURE, DOORS };

enum route_scope {
        ROUTE_OPEN,    /* no key asked for */
        ROUTE_PROJECT, /* any key; acts in the key's project, an admin key in that of X-Project */
        ROUTE_ADMIN,   /* an admin key */

        /* As ROUTE_PROJECT, at a front door; the route is there only if that is open. */
        ROUTE_E2B = ROUTE_ADMIN + DOOR_E2B,
        ROUTE_DIFY = ROUTE_ADMIN + DOOR_DIFY,
        ROUTE_PISTON = ROUTE_ADMIN + DOOR_PISTON,
        ROUTE_AZURE = ROUTE_ADMIN + DOOR_AZURE,
};

#define ROUTE_BODY_NONE 0
#define ROUTE_BODY_SMALL 65536
#define ROUTE_BODY_CALL 1048576        /* CALL_REQUEST_BYTES_MAX */
#define ROUTE_BODY_VALUE 262144 /* of a setting, which JSON may spell in six characters for each */
#define ROUTE_BODY_CONFIGURED SIZE_MAX /* SANDBOX_BODY_MAX_BYTES */
#define ROUTE_BODY_IMAGE (SIZE_MAX - 1) /* SANDBOX_IMAGE_MAX_BYTES, into a file, for SANDBOX_IMAGE_TIMEOUT_SECONDS */

struct route {
        const char *method;
        /* "/v1/projects/{name}": {name} is one part of the path, not empty; {name...} at the end is all the rest */
        const char *pattern;
        enum route_scope scope;
        http_handler_fn handle;
        size_t body_max;
};

/* DOOR_NONE of the service's own; of NULL as well. */
static inline enum door route_door(const struct route *route) {
        return route && route->scope > ROUTE_ADMIN ? (enum door)(route->scope - ROUTE_ADMIN) : DOOR_NONE;
}

enum route_match { ROUTE_FOUND, ROUTE_UNKNOWN, ROUTE_WRONG_METHOD };

#define ROUTE_ALLOW_BYTES 64

/*
 * Finds the route of a path as sent, without its query; with ROUTE_WRONG_METHOD, one of those that the path has. HEAD
 * finds GET. `storage` takes the decoded parts for {…} and needs strlen(path) + 1 bytes; `params` has HTTP_PARAMS_MAX
 * places. With ROUTE_WRONG_METHOD, `allow` is the value for the Allow header.
 */
enum route_match route_find(const char *method, const char *path, const struct route **ret, char *storage,
                            const char **params, char allow[ROUTE_ALLOW_BYTES]);
