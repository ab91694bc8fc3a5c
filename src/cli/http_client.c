/* HTTP to the service; see http_client.h. */
#include "cli/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/http_transfer.h"
#include "cli/interrupt.h"

#define REPLY_MAX (256UL << 20) /* 16 MB of files as base64, output, figures: with room to spare */
#define POLL_MS 1000

struct http_client {
        char *url; /* without a slash at its end */
        CURL *curl;
        CURLM *multi;
        struct curl_slist *headers;
        char message[CURL_ERROR_SIZE];
};

/* One request on its way. */
struct transfer {
        struct http_client *client;
        const struct http_call *call;
        struct http_reply *reply;
        size_t size;
        bool stopped, too_large;
        struct curl_slist *headers; /* of this request */
        uint64_t sent, received;    /* that were told last */
};

static void curl_url_free(CURLU **url) {
        curl_url_cleanup(*url);
}

static void curl_string_free(char **text) {
        curl_free(*text);
}

/* Takes "http://host:port[/prefix]" and nothing that would be dropped without a word, such as a query. */
static int check_url(const char *text, struct err *e) {
        CLEANUP(curl_url_free) CURLU *url = curl_url();
        CLEANUP(curl_string_free) char *scheme = NULL, *query = NULL, *fragment = NULL, *user = NULL;
        if (!url)
                return err_set(e, -ENOMEM, "out of memory");
        CURLUcode problem = curl_url_set(url, CURLUPART_URL, text, 0);
        if (problem != CURLUE_OK)
                return err_set(e, -EINVAL, "\"%s\" is not an address such as http://127.0.0.1:8080 (%s)", text,
                               curl_url_strerror(problem));
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
        curl_url_get(url, CURLUPART_QUERY, &query, 0);
        curl_url_get(url, CURLUPART_FRAGMENT, &fragment, 0);
        curl_url_get(url, CURLUPART_USER, &user, 0);
        if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
                return err_set(e, -EINVAL, "\"%s\" is not an address that begins with http:// or https://", text);
        if (query || fragment || user)
                return err_set(e, -EINVAL, "the address of the service has no query, fragment or user name");
        return 0;
}

bool http_url_is_loopback(const char *text) {
        CLEANUP(curl_url_free) CURLU *url = curl_url();
        CLEANUP(curl_string_free) char *host = NULL;
        struct in_addr address;
        if (!url || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
            curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK)
                return false;
        if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
                return true;
        return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

static int add_header(struct http_client *client, const char *line) {
        struct curl_slist *grown = curl_slist_append(client->headers, line);
        if (!grown)
                return -ENOMEM;
        client->headers = grown;
        return 0;
}

/* What goes into a header must not end it. */
static bool is_visible(const char *text) {
        for (const char *c = text; *c; c++)
                if (*c <= ' ' || *c > '~')
                        return false;
        return true;
}

static int add_key(struct http_client *client, const char *key, struct err *e) {
        CLEANUP_FREE char *line = NULL;
        if (!is_visible(key))
                return err_set(e, -EINVAL, "the key has a character that no key has (a space or line break?)");
        if (asprintf(&line, "Authorization: Bearer %s", key) < 0) {
                line = NULL;
                return err_set(e, -ENOMEM, "out of memory");
        }
        int r = add_header(client, line);
        explicit_bzero(line, strlen(line));
        return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static int set_up(struct http_client *client, const char *url, const char *key, struct err *e) {
        client->url = strdup(url);
        client->curl = curl_easy_init();
        client->multi = curl_multi_init();
        if (!client->url || !client->curl || !client->multi ||
            add_header(client, "Content-Type: application/json") < 0 ||
            add_header(client, "Expect:") < 0) /* no waiting for "100 Continue" before a body */
                return err_set(e, -ENOMEM, "out of memory");
        for (char *end = client->url + strlen(client->url); end > client->url && end[-1] == '/';)
                *--end = '\0';
        return key ? add_key(client, key, e) : 0;
}

int http_client_new(const char *url, const char *key, struct http_client **ret, struct err *e) {
        int r = check_url(url, e);
        if (r < 0)
                return r;
        struct http_client *client = calloc(1, sizeof(*client));
        if (!client)
                return err_set(e, -ENOMEM, "out of memory");
        r = set_up(client, url, key, e);
        if (r < 0) {
                http_client_free(client);
                return r;
        }
        *ret = client;
        return 0;
}

int http_client_set_project(struct http_client *client, const char *project, struct err *e) {
        CLEANUP_FREE char *line = NULL;
        if (!is_visible(project) || !project[0])
                return err_set(e, -EINVAL, "\"%s\" cannot be the name of a project", project);
        if (asprintf(&line, "X-Project: %s", project) < 0)
                line = NULL;
        return line && add_header(client, line) == 0 ? 0 : err_set(e, -ENOMEM, "out of memory");
}

void http_client_free(struct http_client *client) {
        if (!client)
                return;
        http_transfer_free_headers(client->headers);
        curl_easy_cleanup(client->curl);
        curl_multi_cleanup(client->multi);
        free(client->url);
        free(client);
}

const char *http_client_url(const struct http_client *client) {
        return client->url;
}

const struct curl_slist *http_client_headers(const struct http_client *client) {
        return client->headers;
}

void http_reply_deinit(struct http_reply *reply) {
        free(reply->body);
        *reply = (struct http_reply){0};
}

static bool has_type(CURL *curl, const char *wanted) {
        const char *type = NULL;
        size_t length = strlen(wanted);
        curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
        return type && strncasecmp(type, wanted, length) == 0 && (!type[length] || strchr("; \t", type[length]));
}

static int collect(struct transfer *transfer, const char *bytes, size_t length) {
        struct http_reply *reply = transfer->reply;
        if (length > REPLY_MAX - reply->body_length) {
                transfer->too_large = true;
                return -EMSGSIZE;
        }
        size_t needed = reply->body_length + length + 1;
        if (needed > transfer->size) {
                size_t size = 2 * needed;
                char *grown = realloc(reply->body, size);
                if (!grown)
                        return -ENOMEM;
                reply->body = grown;
                transfer->size = size;
        }
        memcpy(reply->body + reply->body_length, bytes, length);
        reply->body_length += length;
        reply->body[reply->body_length] = '\0';
        return 0;
}

/* libcurl's: anything but `length` ends the transfer. */
static size_t on_body(char *bytes, size_t one, size_t length, void *user) {
        struct transfer *transfer = user;
        long status = 0;
        (void)one;
        curl_easy_getinfo(transfer->client->curl, CURLINFO_RESPONSE_CODE, &status);
        transfer->reply->is_stream = status == 200 && has_type(transfer->client->curl, "text/event-stream");
        int r;
        if (transfer->call->on_data && transfer->reply->is_stream) {
                r = transfer->call->on_data(transfer->call->user, bytes, length);
                transfer->stopped = r != 0;
        } else {
                r = collect(transfer, bytes, length);
        }
        return r == 0 ? length : CURL_WRITEFUNC_ERROR;
}

static size_t on_upload(char *bytes, size_t one, size_t room, void *user) {
        struct transfer *transfer = user;
        const struct http_upload *upload = transfer->call->upload;
        ssize_t got;
        (void)one;
        do
                got = read(upload->fd, bytes, room);
        while (got < 0 && errno == EINTR && !interrupt_caught());
        if (got < 0)
                return CURL_READFUNC_ABORT;
        return (size_t)got;
}

/* libcurl's, which calls it whether or not anything has moved. Another result than 0 would end the transfer. */
static int on_progress(void *user, curl_off_t to_receive, curl_off_t received, curl_off_t to_send, curl_off_t sent) {
        struct transfer *transfer = user;
        const struct http_call *call = transfer->call;
        if (call->on_sent && (uint64_t)sent != transfer->sent)
                call->on_sent(call->user, (uint64_t)sent, (uint64_t)to_send);
        if (call->on_received && (uint64_t)received != transfer->received)
                call->on_received(call->user, (uint64_t)received, (uint64_t)to_receive);
        transfer->sent = (uint64_t)sent;
        transfer->received = (uint64_t)received;
        return 0;
}

static int add_own(struct transfer *transfer, const char *line) {
        struct curl_slist *grown = curl_slist_append(transfer->headers, line);
        if (!grown)
                return -ENOMEM;
        transfer->headers = grown;
        return 0;
}

/* The client's headers, but for what this request has otherwise. They hold the key: freed with the request, wiped. */
static int own_headers(struct transfer *transfer) {
        const struct http_call *call = transfer->call;
        CLEANUP_FREE char *type = NULL;
        if (call->upload && asprintf(&type, "Content-Type: %s", call->upload->type) < 0) {
                type = NULL;
                return -ENOMEM;
        }
        for (const struct curl_slist *line = transfer->client->headers; line; line = line->next) {
                bool is_type = strncmp(line->data, "Content-Type:", strlen("Content-Type:")) == 0;
                if (add_own(transfer, is_type && type ? type : line->data) < 0)
                        return -ENOMEM;
        }
        return call->wants_events ? add_own(transfer, "Accept: text/event-stream, application/json") : 0;
}

static bool configure_upload(struct transfer *transfer) {
        CURL *curl = transfer->client->curl;
        curl_off_t length = (curl_off_t)transfer->call->upload->length;
        return curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, length) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_upload) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_READDATA, transfer) == CURLE_OK;
}

static bool configure_progress(struct transfer *transfer) {
        CURL *curl = transfer->client->curl;
        return curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer) == CURLE_OK;
}

static int configure(struct transfer *transfer, const char *url) {
        const struct http_call *call = transfer->call;
        struct http_client *client = transfer->client;
        CURL *curl = client->curl;
        double timeout_ms = call->timeout_s * 1000;
        curl_easy_reset(curl);
        bool ok = own_headers(transfer) == 0 && http_transfer_prepare(curl, url, client->message) &&
                  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer->headers) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                                   timeout_ms > (double)INT_MAX ? (long)INT_MAX : (long)timeout_ms) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer) == CURLE_OK;
        if (ok && call->body)
                ok = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_length) == CURLE_OK &&
                     curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body) == CURLE_OK;
        if (ok && call->upload)
                ok = configure_upload(transfer);
        if (ok && (call->on_sent || call->on_received))
                ok = configure_progress(transfer);
        return ok && curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method) == CURLE_OK ? 0 : -ENOMEM;
}

static int explain(struct transfer *transfer, CURLcode result, struct err *e) {
        const char *url = transfer->client->url;
        const char *detail = transfer->client->message[0] ? transfer->client->message : curl_easy_strerror(result);
        switch (result) {
        case CURLE_COULDNT_CONNECT:
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_PEER_FAILED_VERIFICATION:
                return err_set(e, HTTP_CLIENT_E_CONNECT, "cannot reach the service at %s: %s", url, detail);
        case CURLE_OPERATION_TIMEDOUT:
                return err_set(e, HTTP_CLIENT_E_TIMEOUT, "the service at %s did not answer in time: %s", url, detail);
        case CURLE_GOT_NOTHING:
        case CURLE_PARTIAL_FILE:
        case CURLE_RECV_ERROR:
        case CURLE_SEND_ERROR:
                return err_set(e, HTTP_CLIENT_E_BROKEN, "the connection to %s ended in the middle of an answer: %s",
                               url, detail);
        case CURLE_WRITE_ERROR:
                if (transfer->stopped)
                        return HTTP_CLIENT_E_STOPPED;
                if (!transfer->too_large)
                        return err_set(e, -ENOMEM, "the answer does not fit into memory");
                return err_set(e, HTTP_CLIENT_E_PROTOCOL, "the answer of %s is longer than %lu MiB", url,
                               REPLY_MAX >> 20);
        case CURLE_OUT_OF_MEMORY:
                return err_set(e, -ENOMEM, "out of memory");
        default:
                return err_set(e, HTTP_CLIENT_E_PROTOCOL, "no sense in what %s answers: %s", url, detail);
        }
}

static bool finished(CURLM *multi, CURLcode *result) {
        int left;
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
                if (message->msg != CURLMSG_DONE)
                        continue;
                *result = message->data.result;
                return true;
        }
        return false;
}

/* Runs the transfer until it is done or a signal came. 0 and `result`, or a negative errno. */
static int drive(struct transfer *transfer, int notice_fd, CURLcode *result, struct err *e) {
        CURLM *multi = transfer->client->multi;
        struct curl_waitfd notice = {.fd = notice_fd, .events = CURL_WAIT_POLLIN};
        int running;
        while (!interrupt_caught()) {
                CURLMcode m = curl_multi_perform(multi, &running);
                if (m == CURLM_OK && finished(multi, result))
                        return 0;
                if (m == CURLM_OK)
                        m = curl_multi_poll(multi, &notice, 1, POLL_MS, NULL);
                if (m != CURLM_OK)
                        return err_set(e, -EIO, "libcurl failed: %s", curl_multi_strerror(m));
        }
        return 0;
}

static int perform(struct transfer *transfer, struct err *e) {
        CURLcode result = CURLE_FAILED_INIT;
        if (curl_multi_add_handle(transfer->client->multi, transfer->client->curl) != CURLM_OK)
                return err_set(e, -ENOMEM, "out of memory");
        int r = interrupt_watch();
        if (r >= 0)
                r = drive(transfer, r, &result, e);
        else
                err_set(e, r, "cannot watch for signals: %s", strerror(-r));
        interrupt_unwatch();
        curl_multi_remove_handle(transfer->client->multi, transfer->client->curl); /* closes it if it is under way */
        if (interrupt_caught())
                return err_set(e, HTTP_CLIENT_E_INTERRUPTED, "interrupted");
        if (r < 0)
                return r;
        return result == CURLE_OK ? 0 : explain(transfer, result, e);
}

int http_client_call(struct http_client *client, const struct http_call *call, struct http_reply *ret, struct err *e) {
        CLEANUP_FREE char *url = NULL;
        CLEANUP(http_reply_deinit) struct http_reply reply = {.body = strdup("")};
        struct transfer transfer = {.client = client, .call = call, .reply = &reply};
        if (!reply.body || asprintf(&url, "%s%s", client->url, call->path) < 0) {
                url = NULL;
                return err_set(e, -ENOMEM, "out of memory");
        }
        int r = configure(&transfer, url);
        if (r == 0)
                r = perform(&transfer, e);
        else
                err_set(e, r, "libcurl does not take the request");
        curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, NULL);
        http_transfer_free_headers(transfer.headers);
        if (r != 0)
                return r;
        curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &reply.status);
        reply.is_json = has_type(client->curl, "application/json");
        *ret = reply;
        reply = (struct http_reply){0};
        return 0;
}
