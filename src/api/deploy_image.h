/*
 * What the sandboxes of a deployment are told, and what they say, checked.
 *
 * Runs in the api process. Pure. An import that has been taken over by a hostile archive says what it likes: nothing of
 * it is believed beyond the one image.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "run/call_end.h"
#include "run/run_files.h"
#include "store/images.h"

struct config;

#define DEPLOY_REASON_BYTES 512

/* The registry that "docker://…" names. 0, or -EINVAL with the reason: no such form, or none that the operator allows. */
int deploy_check_reference(const char *reference, const char *registries, struct err *e);

/* What an import is told. `known`: a list of digests that need not be unpacked; stolen. malloc()ed, or NULL. */
char *deploy_import_frame(const struct config *config, const char *source, json_t *known);
/* What a discovery is told. */
char *deploy_discovery_frame(const struct config *config, const struct store_image *image);

/* What kept an import from the network, as a sentence of its own; "" if nothing did. */
void deploy_network_reason(const struct rendered_list *records, char ret[DEPLOY_REASON_BYTES]);

/* One of an import's FRAME_PROGRESS, made harmless. A new reference, or NULL if it is no sense. */
json_t *deploy_progress(const char *bytes, size_t length);

/*
 * The import's description of the image, without what `config` leaves out of its environment. `*ret_known`: it is one of
 * those that it was told of, and only the digest is set. 0, -EINVAL with the reason, or -ENOMEM.
 */
int deploy_take_image(const struct json_span *span, const struct config *config, struct store_image *ret,
                      bool *ret_known, struct err *e);

/* The tools that were found: their JSON text, and the Python's version. 0, -EINVAL with the reason, or -ENOMEM. */
int deploy_take_tools(const struct call_end *end, char **ret_tools, char ret_python[STORE_PYTHON_MAX + 1],
                      struct err *e);
