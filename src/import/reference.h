/*
 * References to images in registries ("docker://ghcr.io/acme/agent:1.2"), and the registries that the operator allows.
 *
 * Used by the api process, which refuses what it would not try, and by the import, which has the last word. The reference
 * comes from a client, the list from SANDBOX_REGISTRIES. Pure text: nothing is opened, nothing is asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define REFERENCE_MAX 512 /* bytes of a whole reference */
#define REGISTRY_MAX 256  /* of the host and port in it */

/*
 * Checks the form of a reference and finds the registry that it names: docker.io if it names none. 0, or -EINVAL with a
 * sentence.
 */
int reference_registry(const char *reference, char ret_registry[REGISTRY_MAX], struct err *e);

/*
 * Whether the list ("docker.io,ghcr.io,http://registry.internal") holds the registry. `ret_plain`: it is to be spoken
 * to without TLS, because its place in the list begins with http://.
 */
bool reference_allowed(const char *list, const char *registry, bool *ret_plain);
