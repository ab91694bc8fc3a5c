/*
 * What every transfer to the service has in common, for libcurl: what may be spoken, how long a connection may take to
 * come about, and that nothing on the way is rewritten.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

/* `message` (CURL_ERROR_SIZE) is filled when the transfer fails. The address is copied. */
bool http_transfer_prepare(CURL *curl, const char *url, char *message);

/* Wipes what may be a key. NULL-safe. */
void http_transfer_free_headers(struct curl_slist *headers);
