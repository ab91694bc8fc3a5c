/*
 * The service as commands see it: the right address and key, JSON in and out, errors explained and turned into exit
 * codes.
 */
#pragma once

#include <jansson.h>

#include "cli/cli.h"
#include "cli/http_client.h"

/*
 * Finds address and key and makes cli->client, if that was not done yet. 0 or an exit code; what is wrong was said.
 * The key of a local data folder is only ever sent to an address of this machine, the key of a login only to the
 * address that it was given for.
 */
int service_open(struct cli *cli);

/*
 * The address that is taken if nobody says otherwise: that of the login, else of a service on this machine. On the
 * heap, or NULL. Errors of the login file are passed over.
 */
char *service_default_url(void);

/*
 * A request whose answer is a JSON object or empty (then `*ret` is NULL); takes the reference to `body`, which may be
 * NULL. 0 and the status if it is 2xx, or an exit code after the reason was said. `forgive`: a status that is returned
 * like a success, or 0.
 */
int service_call(struct cli *cli, const char *method, const char *path, json_t *body, long forgive, long *status,
                 json_t **ret);

/* GET of a JSON object. 0 and a new reference, or an exit code after the reason was said. */
int service_get(struct cli *cli, const char *path, json_t **ret);

/* Says why a call failed (http_client_call's result) and returns the exit code. */
int service_explain_call(struct cli *cli, int result, const struct err *e);
/* Says what the body of an answer other than 200 means and returns the exit code. */
int service_explain_status(struct cli *cli, long status, const json_t *body);

/* Parses a reply's body; NULL if it is no JSON object. NUL characters in strings are kept. */
json_t *service_parse(const char *text, size_t length);

/* Borrowed; "" if the member is missing or no string. */
const char *json_text(const json_t *object, const char *name);
