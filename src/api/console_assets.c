/* The Console's files; see console_assets.h. */
#include "api/console_assets.h"

#include <string.h>

#include "api/api.h"
#include "api/console_login.h"
#include "api/http.h"

#define PAGE "index.html"
#define ASSETS "assets/"

/*
 * Nothing runs but our own files, nothing is asked of another origin, and nobody frames the page. What comes from
 * snippets and could be active is shown in frames of an opaque origin, which inherit all of this; their content is the
 * one place where the page needs trusted types.
 */
static const char content_policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types console-frame";

bool console_owns(const char *path) {
        static const char folder[] = "/console";
        size_t length = strlen(folder);
        return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

void console_add_headers(struct http_request *request) {
        asset_add_page_headers(request, content_policy);
}

/* ---- what is where */

/* Views have addresses below /console/ too, such as conversations/ID, and an ID may have a dot in it. */
static bool is_view(const char *path) {
        return strncmp(path, ASSETS, strlen(ASSETS)) != 0 && (strchr(path, '/') || !strchr(path, '.')) &&
               !asset_path_has_dots(path);
}

const struct asset *console_asset_find(const char *path) {
        const struct asset *asset = asset_find(console_assets, path);
        return !asset && is_view(path) ? asset_find(console_assets, PAGE) : asset;
}

/* ---- answers */

void console_handle_asset(struct api *api, struct http_request *request) {
        const struct asset *asset = console_asset_find(request->params[0]);
        if (!console_is_on(api, request))
                return;
        if (asset)
                asset_reply(request, asset);
        else
                http_reply_error(request, HTTP_NOT_FOUND, NULL, "The Console has no such file.");
}

void console_handle_redirect(struct api *api, struct http_request *request) {
        if (!console_is_on(api, request))
                return;
        http_reply_header(request, "Location", "/console/");
        http_reply_empty(request, 308);
}
