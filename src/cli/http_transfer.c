/* Transfers to the service; see http_transfer.h. */
#include "cli/http_transfer.h"

#include <string.h>

#include "cli/http_client.h"

#define CONNECT_TIMEOUT_MS 5000L

bool http_transfer_prepare(CURL *curl, const char *url, char *message) {
        message[0] = '\0';
        bool ok = curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK && /* ".." may be somebody's name */
                  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_USERAGENT, "platformctl/" PRODUCT_VERSION) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK;
        /* A proxy that the environment names is of no use for this machine's own addresses. */
        if (ok && http_url_is_loopback(url))
                ok = curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK;
        return ok;
}

void http_transfer_free_headers(struct curl_slist *headers) {
        for (struct curl_slist *line = headers; line; line = line->next)
                explicit_bzero(line->data, strlen(line->data));
        curl_slist_free_all(headers);
}
