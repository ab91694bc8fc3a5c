/* Hints for tool calls; see call_hint.h. */
#include "api/call_hint.h"

#include <stdio.h>
#include <string.h>

#include "api/call_env.h"
#include "api/names.h"
#include "base/cleanup.h"

#define NAME_BYTES 129
#define DIGEST_SHOWN 19 /* "sha256:" and twelve digits */

typedef bool (*hint_fn)(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]);

static bool is_type(const struct call_hint_facts *facts, const char *type) {
        return facts->error && strcmp(facts->error->type, type) == 0;
}

static const char *message_of(const struct call_hint_facts *facts) {
        return facts->error && facts->error->message ? facts->error->message : "";
}

/* What stands between the first two quotes, if that is a name with points. */
static bool quoted_name(const char *message, char name[NAME_BYTES]) {
        const char *from = strchr(message, '\'');
        size_t length = from ? strspn(from + 1, NAME_LETTERS NAME_DIGITS "_.") : 0;
        if (length == 0 || length >= NAME_BYTES || from[1 + length] != '\'')
                return false;
        snprintf(name, NAME_BYTES, "%.*s", (int)length, from + 1);
        return true;
}

static int print_image(const struct call_hint_facts *facts, char *to, size_t size) {
        if (facts->reference)
                return snprintf(to, size, "%.200s (%.*s)", facts->reference, DIGEST_SHOWN, facts->digest);
        return snprintf(to, size, "%.*s", DIGEST_SHOWN, facts->digest);
}

static bool hint_module(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        char name[NAME_BYTES], image[256];
        if (!is_type(facts, "ModuleNotFoundError") || !quoted_name(message_of(facts), name))
                return false;
        print_image(facts, image, sizeof(image));
        snprintf(hint, CALL_HINT_BYTES,
                 "The agent's image %s has no module \"%s\": calls run with what is in the image, and nothing can be "
                 "installed in them. Add it to the image, build that, and deploy it: platformctl agents deploy %.64s "
                 "--image oci:FOLDER.",
                 image, name, facts->agent);
        return true;
}

static bool hint_entrypoint(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        if (!is_type(facts, "LookupError") || !strstr(message_of(facts), " has no "))
                return false;
        snprintf(hint, CALL_HINT_BYTES,
                 "The list of the agent's tools does not fit its image. Deploy the image again, which finds its tools "
                 "anew: platformctl agents deploy %.64s --image oci:FOLDER.",
                 facts->agent);
        return true;
}

static bool hint_variable(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        char name[NAME_BYTES];
        if (!is_type(facts, "KeyError") || !quoted_name(message_of(facts), name) || !name_is_variable(name) ||
            strcmp(name, "KEY") == 0 || !call_env_is_left_out(name, "", facts->env_strip))
                return false;
        snprintf(hint, CALL_HINT_BYTES,
                 "Variables whose names look like credentials, such as \"%s\", never get into a call, and neither do "
                 "the agent's settings. Do what needs the credential in the agent's own process, or pass what the tool "
                 "needs as an argument.",
                 name);
        return true;
}

static bool hint_read_only(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        if (!strstr(message_of(facts), "Read-only file system") && !strstr(message_of(facts), "Permission denied: '"))
                return false;
        snprintf(hint, CALL_HINT_BYTES,
                 "The image is read-only in a call, which runs as the user nonroot (65532): write to /mnt/data or /tmp, "
                 "and make what it reads readable for everybody when the image is built.");
        return true;
}

static bool hint_refused(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        if (facts->refused == 0 || !facts->error)
                return false;
        snprintf(hint, CALL_HINT_BYTES,
                 "%u %s refused; `egress` says which and by which rule. A call reaches public "
                 "addresses by HTTP and HTTPS (ports 80 and 443) and nothing else; the operator can widen that with "
                 "SANDBOX_EGRESS_ALLOW.",
                 facts->refused, facts->refused == 1 ? "connection or lookup was" : "connections or lookups were");
        return true;
}

static bool hint_timeout(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        if (facts->outcome != OUTCOME_TIMEOUT)
                return false;
        if (facts->timeout_ms < facts->timeout_max_ms)
                snprintf(hint, CALL_HINT_BYTES,
                         "Do less in one call, or ask for more time with `timeout_s`: at most %g s.",
                         facts->timeout_max_ms / 1000.0);
        else
                snprintf(hint, CALL_HINT_BYTES, "%g s is the most that a call may take: do less in one call.",
                         facts->timeout_max_ms / 1000.0);
        return true;
}

static bool hint_memory(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        if (facts->outcome != OUTCOME_OUT_OF_MEMORY && !is_type(facts, "MemoryError"))
                return false;
        snprintf(hint, CALL_HINT_BYTES,
                 "A call may use 1 GiB of memory, the files that it writes included: work on a part of the data at a "
                 "time.");
        return true;
}

static bool hint_not_started(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        if (facts->outcome != OUTCOME_ERROR || facts->started)
                return false;
        snprintf(hint, CALL_HINT_BYTES,
                 "The Python of the agent's image did not come up. Try the image where it was built, as an ordinary "
                 "user and with a read-only root, and deploy it again: platformctl agents deploy %.64s --image "
                 "oci:FOLDER.",
                 facts->agent);
        return true;
}

bool call_hint_choose(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]) {
        static const hint_fn all[] = {hint_timeout,  hint_memory,    hint_module,      hint_entrypoint,
                                      hint_variable, hint_read_only, hint_not_started, hint_refused};
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (all[i](facts, hint))
                        return true;
        return false;
}
