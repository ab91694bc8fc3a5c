/* GET /openapi.json; see openapi.h. */
#include "api/openapi.h"

#include "api/http.h"

/* From tools/embed. */
extern const unsigned char openapi_document[];
extern const size_t openapi_document_length;

void openapi_handle(struct api *api, struct http_request *request) {
        (void)api;
        http_reply_static(request, 200, "application/json", openapi_document, openapi_document_length);
}
