/*
 * What a sandbox did in the network, in the audit log: one line for each decision.
 *
 * Runs in the api process.
 */
#pragma once

struct api;
struct http_request;
struct run;

/* Once the run is over. `request`: who asked for it. */
void audit_egress(struct api *api, const struct http_request *request, const struct run *run);
