/*
 * Fuzz target: what the Console reads in headers, and paths of its files. A cookie's value stands in its header and fits;
 * an origin that counts as our own has our host in it.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/console_assets.h"
#include "api/console_headers.h"

#define HOST "console.example:8080"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_cookie(const char *text) {
        char value[65];
        if (!cookie_find(text, "console_session", value, sizeof(value)))
                return;
        assert(strlen(value) < sizeof(value) && strstr(text, value) && !strchr(value, ';'));
}

static void check_origin(const char *text) {
        const struct origin as_origin = {.origin = text, .host = HOST}, as_site = {.fetch_site = text, .host = HOST};
        const struct origin as_host = {.origin = "http://" HOST, .host = text};
        if (origin_is_own(&as_origin, false))
                assert(strcasecmp(text, "http://" HOST) == 0 || strcasecmp(text, "https://" HOST) == 0);
        if (origin_is_own(&as_site, true))
                assert(strcmp(text, "same-origin") == 0 || strcmp(text, "none") == 0);
        if (origin_is_own(&as_host, false))
                assert(strcasecmp(text, HOST) == 0 || strcasecmp(text, HOST ":80") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        char *text = malloc(length + 1);
        if (!text)
                return 0;
        memcpy(text, bytes, length);
        text[length] = '\0';
        check_cookie(text);
        check_origin(text);
        if (encoding_allows_gzip(text))
                assert(strcasestr(text, "gzip") || strchr(text, '*'));
        if (forwarded_is_https(text))
                assert(strcasestr(text, "https"));
        if (console_asset_find(text))
                assert(strncmp(text, "../", 3) != 0 && !strstr(text, "/../"));
        free(text);
        return 0;
}
