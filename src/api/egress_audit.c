/* The network in the audit log; see egress_audit.h. */
#include "api/egress_audit.h"

#include "api/audit.h"
#include "run/run.h"

void audit_egress(struct api *api, const struct http_request *request, const struct run *run) {
        const struct rendered_list *records = &run->egress.records;
        for (size_t i = 0; i < records->count; i++) {
                json_t *details = json_loadb(records->items[i].json, records->items[i].length, 0, NULL);
                if (details)
                        json_object_set_new(details, "sandbox", json_string(run->sandbox_id));
                audit_add(api, request, AUDIT_EGRESS, run->id, details);
        }
}
