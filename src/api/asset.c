/* Files that are part of the program; see asset.h. */
#include "api/asset.h"

#include <stdio.h>
#include <string.h>

#include "api/console_headers.h"
#include "api/file_headers.h"
#include "api/http.h"
#include "base/cleanup.h"

#define ETAG_BYTES 80
/* A new version of the service is a new page, which names its files anew. */
#define CACHE_PAGE "no-cache"
#define CACHE_IMMUTABLE "public, max-age=31536000, immutable"

static const char permissions_policy[] =
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), usb=()";

/* nosniff and Cache-Control: no-store are there anyway. */
static const struct {
        const char *name, *value;
} page_headers[] = {
        {"Permissions-Policy", permissions_policy},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"X-Frame-Options", "DENY"}, /* for browsers that do not know frame-ancestors */
};

void asset_add_page_headers(struct http_request *request, const char *content_policy) {
        http_reply_header(request, "Content-Security-Policy", content_policy);
        for (size_t i = 0; i < ARRAY_SIZE(page_headers); i++)
                http_reply_header(request, page_headers[i].name, page_headers[i].value);
}

const struct asset *asset_find(const struct asset *table, const char *path) {
        for (const struct asset *asset = table; asset->path; asset++)
                if (strcmp(asset->path, path) == 0)
                        return asset;
        return NULL;
}

bool asset_path_has_dots(const char *path) {
        for (;;) {
                size_t length = strcspn(path, "/");
                if ((length == 1 && path[0] == '.') || (length == 2 && path[0] == '.' && path[1] == '.'))
                        return true;
                if (!path[length])
                        return false;
                path += length + 1;
        }
}

void asset_reply(struct http_request *request, const struct asset *asset) {
        bool gzip = asset->gzip && encoding_allows_gzip(http_header(request, "Accept-Encoding"));
        char etag[ETAG_BYTES];
        snprintf(etag, sizeof(etag), "\"%s%s\"", asset->hash, gzip ? "-gzip" : "");
        http_reply_header(request, "Cache-Control", asset->immutable ? CACHE_IMMUTABLE : CACHE_PAGE);
        http_reply_header(request, "ETag", etag);
        if (asset->gzip)
                http_reply_header(request, "Vary", "Accept-Encoding");
        if (etag_is_listed(http_header(request, "If-None-Match"), etag)) {
                http_reply_empty(request, 304);
                return;
        }
        if (gzip)
                http_reply_header(request, "Content-Encoding", "gzip");
        http_reply_static(request, 200, asset->media_type, gzip ? asset->gzip : asset->bytes,
                          gzip ? asset->gzip_length : asset->length);
}
