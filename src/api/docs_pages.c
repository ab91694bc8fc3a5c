/* The documentation; see docs_pages.h. */
#include "api/docs_pages.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/http.h"

#define FIRST_PAGE "index.html"
#define ENDING ".html"

static const char content_policy[] = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
                                     "form-action 'none'; frame-ancestors 'none'";

const struct asset *docs_find(const char *path) {
        size_t length = strlen(path);
        if (length == 0)
                return asset_find(docs_assets, FIRST_PAGE);
        for (const struct asset *asset = docs_assets; asset->path; asset++) {
                bool is_start = strncmp(asset->path, path, length) == 0;
                if (is_start && (asset->path[length] == '\0' || strcmp(asset->path + length, ENDING) == 0))
                        return asset;
        }
        return NULL;
}

void docs_handle_page(struct api *api, struct http_request *request) {
        const struct asset *asset = docs_find(request->params[0]);
        (void)api;
        if (asset) {
                asset_add_page_headers(request, content_policy);
                asset_reply(request, asset);
        } else {
                http_reply_error(request, HTTP_NOT_FOUND, NULL, "The documentation has no such page: begin at /docs/.");
        }
}

void docs_handle_redirect(struct api *api, struct http_request *request) {
        (void)api;
        http_reply_header(request, "Location", "/docs/");
        http_reply_empty(request, 308);
}
