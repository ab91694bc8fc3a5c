/* The Console's files; see console_assets.h. */
#include "api/console_assets.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/console_headers.h"
#include "api/console_login.h"
#include "api/file_headers.h"
#include "api/http.h"
#include "base/cleanup.h"

#define ETAG_BYTES 80
#define PAGE "index.html"
#define ASSETS "assets/"
/* A new version of the service is a new page, which names its files anew. */
#define CACHE_PAGE "no-cache"
#define CACHE_IMMUTABLE "public, max-age=31536000, immutable"

/*
 * Nothing runs but our own files, nothing is asked of another origin, and nobody frames the page. What comes from
 * snippets and could be active is shown in frames of an opaque origin, which inherit all of this; their content is the
 * one place where the page needs trusted types.
 */
static const char content_policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types console-frame";

static const char permissions_policy[] =
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), usb=()";

/* nosniff and Cache-Control: no-store are there anyway. */
static const struct {
        const char *name, *value;
} common_headers[] = {
        {"Content-Security-Policy", content_policy},
        {"Permissions-Policy", permissions_policy},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"X-Frame-Options", "DENY"}, /* for browsers that do not know frame-ancestors */
};

bool console_owns(const char *path) {
        static const char folder[] = "/console";
        size_t length = strlen(folder);
        return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

void console_add_headers(struct http_request *request) {
        for (size_t i = 0; i < ARRAY_SIZE(common_headers); i++)
                http_reply_header(request, common_headers[i].name, common_headers[i].value);
}

/* ---- what is where */

static bool has_dot_segment(const char *path) {
        for (;;) {
                size_t length = strcspn(path, "/");
                if ((length == 1 && path[0] == '.') || (length == 2 && path[0] == '.' && path[1] == '.'))
                        return true;
                if (!path[length])
                        return false;
                path += length + 1;
        }
}

/* Views have addresses below /console/ too, such as conversations/ID, and an ID may have a dot in it. */
static bool is_view(const char *path) {
        return strncmp(path, ASSETS, strlen(ASSETS)) != 0 && (strchr(path, '/') || !strchr(path, '.')) &&
               !has_dot_segment(path);
}

const struct console_asset *console_asset_find(const char *path) {
        const struct console_asset *page = NULL;
        for (const struct console_asset *asset = console_assets; asset->path; asset++) {
                if (strcmp(asset->path, path) == 0)
                        return asset;
                if (strcmp(asset->path, PAGE) == 0)
                        page = asset;
        }
        return is_view(path) ? page : NULL;
}

/* ---- answers */

static void answer(struct http_request *request, const struct console_asset *asset) {
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

void console_handle_asset(struct api *api, struct http_request *request) {
        const struct console_asset *asset = console_asset_find(request->params[0]);
        if (!console_is_on(api, request))
                return;
        if (asset)
                answer(request, asset);
        else
                http_reply_error(request, HTTP_NOT_FOUND, NULL, "The Console has no such file.");
}

void console_handle_redirect(struct api *api, struct http_request *request) {
        if (!console_is_on(api, request))
                return;
        http_reply_header(request, "Location", "/console/");
        http_reply_empty(request, 308);
}
