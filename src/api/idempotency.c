/* The header Idempotency-Key; see idempotency.h. */
#include "api/idempotency.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/idempotency_answers.h"
#include "api/paging.h"
#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "run/run.h"
#include "store/idempotency.h"

#define KEPT_MS INT64_C(86400000)
#define LOOK_NS (600 * NS_PER_S)

/* A request that comes while the first one with its key is on its way. */
struct waiting {
        struct http_request *request;
        http_handler_fn handle;
        struct waiting *next, **place; /* of a keyed one, or of those whose turn it is */
};

struct keyed {
        struct idempotency *idempotency;
        struct http_request *request; /* not to be touched once it has begun */
        struct store_idempotency row;
        enum { ADMITTED, BEGUN, OVER } state;
        struct waiting *waiting;
        void (*begun)(void *data, int result);
        void (*kept)(void *data);
        void *data;
        struct keyed *next, **place;
};

struct idempotency {
        struct api *api;
        struct keyed *keyed;
        struct waiting *due;
        struct loop_source *due_timer, *expiry_timer;
        struct store_idempotency_expiry expiry;
};

/* ---- waiting */

static void put_waiting(struct waiting **list, struct waiting *waiting) {
        while (*list)
                list = &(*list)->next;
        waiting->next = NULL;
        waiting->place = list;
        *list = waiting;
}

static void take_waiting(struct waiting *waiting) {
        *waiting->place = waiting->next;
        if (waiting->next)
                waiting->next->place = waiting->place;
}

static void on_waiting_gone(struct http_request *request, void *data) {
        struct waiting *waiting = data;
        take_waiting(waiting);
        free(waiting);
        http_drop(request);
}

/* Those that are not the first of their key now wait again. */
static void on_due(void *data) {
        struct idempotency *idempotency = data;
        struct waiting *waiting;
        idempotency->due_timer = NULL;
        while ((waiting = idempotency->due)) {
                take_waiting(waiting);
                http_on_disconnect(waiting->request, NULL, NULL);
                waiting->handle(idempotency->api, waiting->request);
                free(waiting);
        }
}

static size_t count_waiting(const struct keyed *keyed) {
        size_t count = 0;
        for (const struct waiting *waiting = keyed->waiting; waiting; waiting = waiting->next)
                count++;
        return count;
}

static void wait_for(struct keyed *keyed, struct http_request *request, http_handler_fn handle) {
        struct waiting *waiting = count_waiting(keyed) < IDEMPOTENCY_WAITING_MAX ? malloc(sizeof(*waiting)) : NULL;
        if (!waiting) {
                http_reply_error(request, HTTP_OVERLOADED, NULL,
                                 "A request with this Idempotency-Key is on its way, and others wait for its reply "
                                 "already: %d at most. Try again in 1 s.",
                                 IDEMPOTENCY_WAITING_MAX);
                return;
        }
        *waiting = (struct waiting){.request = request, .handle = handle};
        put_waiting(&keyed->waiting, waiting);
        http_on_disconnect(request, on_waiting_gone, waiting);
}

/* ---- admission */

static bool is_good_key(const char *key) {
        size_t length = strlen(key);
        for (size_t i = 0; i < length; i++)
                if (key[i] < '!' || key[i] > '~')
                        return false;
        return length >= 1 && length <= STORE_IDEMPOTENCY_KEY_MAX;
}

static bool digest_of(const struct http_request *request, unsigned char *ret) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        /* With the path's NUL, which keeps the two apart. */
        bool good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) &&
                    EVP_DigestUpdate(context, request->path, strlen(request->path) + 1) &&
                    EVP_DigestUpdate(context, request->body, request->body_length) &&
                    EVP_DigestFinal_ex(context, ret, NULL);
        EVP_MD_CTX_free(context);
        return good;
}

static struct keyed *find_on_its_way(const struct idempotency *idempotency, int64_t project_id, const char *key) {
        for (struct keyed *keyed = idempotency->keyed; keyed; keyed = keyed->next)
                if (keyed->row.project_id == project_id && strcmp(keyed->row.key, key) == 0)
                        return keyed;
        return NULL;
}

static bool is_same(const struct store_idempotency *row, const unsigned char *digest) {
        return memcmp(row->digest, digest, sizeof(row->digest)) == 0;
}

/* Whether the store knows the key: then the request has been answered. */
static bool answer_from_store(const struct api *api, struct http_request *request, const char *key,
                              const unsigned char *digest) {
        struct store_idempotency row;
        int r = store_idempotency_find(api->store, request->auth.project_id, key, clock_wall_ms() - KEPT_MS, &row);
        if (r == STORE_E_NOT_FOUND)
                return false;
        if (r < 0)
                answer_store_failure(request);
        else if (!is_same(&row, digest))
                answer_other_request(api, request);
        else
                answer_as_before(api, request, &row);
        free(row.reply);
        return true;
}

static struct keyed *enlist(struct idempotency *idempotency, struct http_request *request, const char *key,
                            const unsigned char *digest) {
        struct keyed *keyed = calloc(1, sizeof(*keyed));
        if (!keyed)
                return NULL;
        keyed->idempotency = idempotency;
        keyed->request = request;
        keyed->row.project_id = request->auth.project_id;
        keyed->row.begun_ms = clock_wall_ms();
        snprintf(keyed->row.key, sizeof(keyed->row.key), "%s", key);
        memcpy(keyed->row.digest, digest, sizeof(keyed->row.digest));
        keyed->next = idempotency->keyed;
        keyed->place = &idempotency->keyed;
        if (keyed->next)
                keyed->next->place = &keyed->next;
        idempotency->keyed = keyed;
        return keyed;
}

static bool admit(struct idempotency *idempotency, struct http_request *request, http_handler_fn handle,
                  const char *key, struct keyed **ret) {
        const struct api *api = idempotency->api;
        unsigned char digest[STORE_IDEMPOTENCY_DIGEST_BYTES];
        bool has_digest = digest_of(request, digest);
        struct keyed *first = find_on_its_way(idempotency, request->auth.project_id, key);
        if (has_digest && first) {
                if (is_same(&first->row, digest))
                        wait_for(first, request, handle);
                else
                        answer_other_request(api, request);
                return false;
        }
        if (has_digest && answer_from_store(api, request, key, digest))
                return false;
        *ret = has_digest ? enlist(idempotency, request, key, digest) : NULL;
        if (!*ret)
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
        return *ret != NULL;
}

bool idempotency_admit(struct api *api, struct http_request *request, http_handler_fn handle, struct keyed **ret) {
        const char *key = http_header(request, IDEMPOTENCY_HEADER);
        *ret = NULL;
        if (!key)
                return true;
        if (is_good_key(key))
                return admit(api->idempotency, request, handle, key, ret);
        http_reply_error(request, HTTP_INVALID_REQUEST, IDEMPOTENCY_HEADER,
                         "The header Idempotency-Key must be 1 to %d visible ASCII characters without spaces, such as "
                         "a UUID.",
                         STORE_IDEMPOTENCY_KEY_MAX);
        return false;
}

/* ---- begin and end */

static void on_begun(void *data, int result) {
        struct keyed *keyed = data;
        if (result == 0)
                keyed->state = BEGUN;
        else if (result == STORE_E_FULL)
                answer_keys_full(keyed->idempotency->api, keyed->request);
        else
                answer_store_failure(keyed->request);
        keyed->begun(keyed->data, result);
}

void keyed_begin(struct keyed *keyed, const char *conversation, bool is_stream, void (*begun)(void *data, int result),
                 void *data) {
        const struct api *api = keyed->idempotency->api;
        const struct store_idempotency_limits limits = {api->config->idempotency_keys, api->config->idempotency_bytes};
        keyed->begun = begun;
        keyed->data = data;
        keyed->row.is_stream = is_stream;
        snprintf(keyed->row.conversation, sizeof(keyed->row.conversation), "%s", conversation ? conversation : "");
        int r = store_idempotency_begin(api->store, &keyed->row, keyed->row.begun_ms - KEPT_MS, limits, on_begun,
                                        keyed);
        if (r < 0)
                on_begun(keyed, r);
}

static void on_kept(void *data, int result) {
        struct keyed *keyed = data;
        keyed->row.reply = NULL;
        if (result < 0)
                log_error("the reply to an Idempotency-Key could not be kept", "run", keyed->row.run_id, "error",
                          log_errno(result));
        keyed->kept(keyed->data);
}

void keyed_keep(struct keyed *keyed, const struct run *run, const char *bytes, size_t length, void (*kept)(void *data),
                void *data) {
        struct store_idempotency *row = &keyed->row;
        bool fits = length <= IDEMPOTENCY_REPLY_BYTES_MAX;
        keyed->state = OVER;
        keyed->kept = kept;
        keyed->data = data;
        snprintf(row->run_id, sizeof(row->run_id), "%s", run->id);
        snprintf(row->sandbox_id, sizeof(row->sandbox_id), "%s", run->sandbox_id);
        row->state = fits ? STORE_IDEMPOTENCY_KEPT : STORE_IDEMPOTENCY_TOO_LARGE;
        row->reply = fits ? (char *)(uintptr_t)bytes : NULL;
        row->reply_length = fits ? length : 0;
        int r = bytes ? store_idempotency_keep(keyed->idempotency->api->store, row, on_kept, keyed) : -ENOMEM;
        if (r < 0)
                on_kept(keyed, r);
}

/* Those who waited have their turn: after whoever calls this, so that handlers do not call each other. */
static void dismiss(struct keyed *keyed) {
        struct idempotency *idempotency = keyed->idempotency;
        struct waiting *waiting;
        *keyed->place = keyed->next;
        if (keyed->next)
                keyed->next->place = keyed->place;
        while ((waiting = keyed->waiting)) {
                take_waiting(waiting);
                put_waiting(&idempotency->due, waiting);
        }
        free(keyed);
        if (idempotency->due && !idempotency->due_timer &&
            loop_add_timer(idempotency->api->loop, 0, on_due, idempotency, &idempotency->due_timer) < 0)
                on_due(idempotency);
}

static void on_forgotten(void *data, int result) {
        struct keyed *keyed = data;
        if (result < 0)
                log_error("an Idempotency-Key could not be given back", "key", keyed->row.key, "error",
                          log_errno(result));
        dismiss(keyed);
}

void keyed_end(struct keyed *keyed) {
        if (!keyed)
                return;
        if (keyed->state != BEGUN)
                dismiss(keyed);
        else if (store_idempotency_forget(keyed->idempotency->api->store, &keyed->row, on_forgotten, keyed) < 0)
                dismiss(keyed);
}

/* ---- expiry */

static void look_again(struct idempotency *idempotency);

static void on_expired(void *data, int result) {
        struct idempotency *idempotency = data;
        if (result < 0)
                idempotency->expiry.more = false;
        look_again(idempotency);
}

static void on_look(void *data) {
        struct idempotency *idempotency = data;
        idempotency->expiry_timer = NULL;
        idempotency->expiry.before_ms = clock_wall_ms() - KEPT_MS;
        if (store_idempotency_expire(idempotency->api->store, &idempotency->expiry, on_expired, idempotency) < 0)
                on_expired(idempotency, -ENOMEM);
}

static void look_again(struct idempotency *idempotency) {
        if (idempotency->api->draining)
                return;
        if (loop_add_timer(idempotency->api->loop, idempotency->expiry.more ? NS_PER_MS : LOOK_NS, on_look, idempotency,
                           &idempotency->expiry_timer) < 0)
                log_error("keys do not expire any more: no memory for a timer");
}

int idempotency_new(struct api *api, struct idempotency **ret) {
        struct idempotency *idempotency = calloc(1, sizeof(*idempotency));
        if (!idempotency)
                return -ENOMEM;
        idempotency->api = api;
        idempotency->expiry.more = true; /* from before the start */
        look_again(idempotency);
        *ret = idempotency;
        return 0;
}

void idempotency_free(struct idempotency *idempotency) {
        if (!idempotency)
                return;
        loop_remove(idempotency->api->loop, &idempotency->due_timer);
        loop_remove(idempotency->api->loop, &idempotency->expiry_timer);
        free(idempotency);
}
