/* What the Console reads in headers; see console_headers.h. */
#include "api/console_headers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One item of a list, without the space around it. Moves *list behind the separator. */
struct item {
        const char *text;
        size_t length;
};

static struct item next_item(const char **list, char separator) {
        struct item item = {.text = *list + strspn(*list, " \t")};
        const char *end = strchr(item.text, separator);
        *list = end ? end + 1 : item.text + strlen(item.text);
        item.length = (size_t)((end ? end : *list) - item.text);
        while (item.length && strchr(" \t", item.text[item.length - 1]))
                item.length--;
        return item;
}

static bool item_is(struct item item, const char *word) {
        return item.length == strlen(word) && strncasecmp(item.text, word, item.length) == 0;
}

/* ---- cookies */

bool cookie_find(const char *header, const char *name, char *value, size_t size) {
        size_t length = strlen(name);
        bool found = false;
        if (!header)
                return false;
        while (*header) {
                struct item item = next_item(&header, ';');
                if (item.length <= length || strncmp(item.text, name, length) != 0 || item.text[length] != '=')
                        continue;
                size_t count = item.length - length - 1;
                if (found || count >= size)
                        return false;
                memcpy(value, item.text + length + 1, count);
                value[count] = '\0';
                found = true;
        }
        return found;
}

/* ---- origins */

bool forwarded_is_https(const char *scheme) {
        return scheme && item_is(next_item(&scheme, ','), "https");
}

/* Browsers leave the port out of Origin where it is the scheme's own; proxies may write it into Host all the same. */
static size_t without_port(const char *host, const char *port) {
        size_t length = strlen(host), tail = strlen(port);
        return length > tail && strcmp(host + length - tail, port) == 0 ? length - tail : length;
}

/* A proxy that says which scheme the browser used is believed; without one, either may be right. */
static bool names_host(const char *origin, const char *host, const char *scheme) {
        bool https = strncasecmp(origin, "https://", strlen("https://")) == 0;
        if (!https && strncasecmp(origin, "http://", strlen("http://")) != 0)
                return false;
        if (!host || (scheme && https != forwarded_is_https(scheme)))
                return false;
        const char *given = origin + strlen(https ? "https://" : "http://"), *port = https ? ":443" : ":80";
        size_t length = without_port(host, port);
        return length > 0 && length == strlen(given) && strncasecmp(given, host, length) == 0;
}

bool origin_is_own(const struct origin *origin, bool navigates) {
        const char *site = origin->fetch_site;
        if (site && strcmp(site, "same-origin") != 0 && !(navigates && strcmp(site, "none") == 0))
                return false;
        return !origin->origin || names_host(origin->origin, origin->host, origin->scheme);
}

/* ---- encodings */

/* "gzip;q=0" means not at all. */
static bool has_weight(struct item item, const char *parameters) {
        const char *end = item.text + item.length;
        const char *weight = parameters;
        while (weight < end && (*weight == ' ' || *weight == '\t'))
                weight++;
        if (end - weight < 2 || (*weight | 0x20) != 'q' || weight[1] != '=')
                return true;
        return strtod(weight + 2, NULL) > 0;
}

bool encoding_allows_gzip(const char *header) {
        bool any = false;
        while (header && *header) {
                struct item item = next_item(&header, ',');
                const char *mark = memchr(item.text, ';', item.length);
                struct item name = {item.text, mark ? (size_t)(mark - item.text) : item.length};
                while (name.length && strchr(" \t", name.text[name.length - 1]))
                        name.length--;
                bool wanted = !mark || has_weight(item, mark + 1);
                if (item_is(name, "gzip"))
                        return wanted;
                any = any || (wanted && item_is(name, "*"));
        }
        return any;
}
