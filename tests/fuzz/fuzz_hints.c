/* Fuzz target: the end of a snippet's standard error. Whatever it says, a hint is a short sentence of our own. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "run/hints.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        char hint[HINT_BYTES];
        const struct hint_facts facts = {
                .outcome = OUTCOME_ERROR,
                .exit_code = 1,
                .stderr_end = (const char *)bytes,
                .stderr_length = length,
                .libraries = "numpy",
        };
        if (hint_choose(&facts, hint))
                for (const char *c = hint; *c; c++)
                        assert(*c >= ' ' && *c < 0x7f);
        return 0;
}
