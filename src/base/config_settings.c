/*
 * The table of settings; see config_settings.h. This is data: the documentation is printed from it as well.
 */
#include "base/config_settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/config_values.h"

#define AT(member) offsetof(struct config, member)
#define KIB INT64_C(1024)
#define MIB (INT64_C(1024) * KIB)
#define GIB (INT64_C(1024) * MIB)
#define DAY INT64_C(86400)
#define UIDS_USED 65537 /* after the first: the others of sandboxes, the api process, the egress process */
#define UID_LAST INT64_C(4294967294)

const struct setting config_settings[] = {
        {.group = "Address and places",
         .name = "LISTEN",
         .offset = AT(listen),
         .parse = value_parse_address,
         .initial_text = "127.0.0.1:8080",
         .allowed = "a numeric address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080",
         .doc = "Where the service listens for HTTP. Port 0 takes any free port. Put a proxy that speaks TLS in front "
                "of it before you listen on an address that others can reach."},
        {.name = "DATA_DIR",
         .offset = AT(data_dir),
         .parse = value_parse_path,
         .compute_text = value_default_data_dir,
         .allowed = "the path of a folder",
         .default_doc = "/var/lib/code-sandbox; the folder data of the build folder when started from there",
         .doc = "The folder that the service keeps its data in: database, files of conversations, the admin key. It "
                "is made if it is missing."},
        {.name = "IMAGE",
         .offset = AT(image),
         .parse = value_parse_path,
         .compute_text = value_default_image,
         .allowed = "the path of an .erofs or .squashfs file, or of a folder that holds a root file system",
         .default_doc = "image/image.erofs, image/image.squashfs or image/rootfs, whichever exists first, in the "
                        "build folder or in ../lib/code-sandbox beside the program",
         .doc = "The image that snippets run in. A file is mounted read-only; a folder is used as it is, which works "
                "on every kernel."},
        {.name = "DATABASE",
         .offset = AT(database),
         .parse = value_parse_database,
         .initial_text = "",
         .secret = true,
         .allowed = "sqlite",
         .default_doc = "sqlite",
         .doc = "Where projects, keys and conversations are stored: an SQLite file in the data folder."},

        {.group = "Keys and users",
         .name = "ADMIN_KEY",
         .offset = AT(admin_key),
         .parse = value_parse_secret,
         .initial_text = "",
         .secret = true,
         .allowed = "8 to 256 visible ASCII characters",
         .default_doc = "made on the first start, printed once and kept in the file " CONFIG_ADMIN_KEY_FILE
                        " of the data folder, readable by its owner only",
         .doc = "The admin key. Make it long and random, for example with `openssl rand -hex 32`."},
        {.name = "USER",
         .offset = AT(user),
         .parse = value_parse_user,
         .initial_text = "",
         .allowed = "the name or number of an unprivileged user",
         .default_doc = "a number of its own, just after the range of SANDBOX_UID_BASE",
         .doc = "The user that the process which reads from the network runs as."},
        {.name = "UID_BASE",
         .offset = AT(uid_base),
         .initial = 1900000000,
         .min = 65536,
         .max = UID_LAST - UIDS_USED,
         .unit = "(a user number)",
         .doc = "The first of 65538 user numbers of the host that sandboxes and the service use. Nobody else may own "
                "numbers of this range: no account, no container."},
        {.name = "RATE_LIMIT",
         .reload = true,
         .offset = AT(rate_limit),
         .initial = 0,
         .min = 0,
         .max = 1000000,
         .unit = "requests a minute",
         .doc = "How many requests one key may make in a minute; 0 means no limit. Over it the answer is 429 "
                "`rate_limited` with `Retry-After`."},

        {.group = "Runs",
         .name = "WARM_POOL",
         .reload = true,
         .offset = AT(warm_pool),
         .initial = 3,
         .min = 0,
         .max = 64,
         .unit = "sandboxes",
         .doc = "How many sandboxes are kept started and waiting. More of them take a larger burst without a cold "
                "start, and need about 15 MB each."},
        {.name = "MAX_CONCURRENT",
         .reload = true,
         .offset = AT(max_concurrent),
         .compute_number = value_default_max_concurrent,
         .min = 1,
         .max = 4096,
         .unit = "runs",
         .default_doc = "4 for each CPU that the service may use",
         .doc = "How many snippets may run at the same time. Each may use 512 MiB of memory and one CPU; a host that "
                "must hold the promise for all of them at once needs that much."},
        {.name = "QUEUE_MAX",
         .reload = true,
         .offset = AT(queue_max),
         .initial = 64,
         .min = 0,
         .max = 10000,
         .unit = "requests",
         .doc = "How many requests may wait while the greatest number of snippets is running. Over it the answer is "
                "503 `overloaded` with `Retry-After`."},
        {.name = "QUEUE_TIMEOUT_SECONDS",
         .reload = true,
         .offset = AT(queue_timeout_s),
         .initial = 30,
         .min = 1,
         .max = 600,
         .unit = "seconds",
         .doc = "How long a request may wait for a sandbox before it is answered with 503 `overloaded`."},
        {.name = "EXECUTE_MAX_TIMEOUT_S",
         .reload = true,
         .offset = AT(execute_max_timeout_s),
         .initial = 60,
         .min = 1,
         .max = 120,
         .unit = "seconds",
         .doc = "The greatest time limit that a request may ask for. A request that asks for none gets 20 seconds, or "
                "this maximum if it is lower."},
        {.name = "OUTPUT_KEEP_BYTES",
         .reload = true,
         .offset = AT(output_keep_bytes),
         .initial = MIB,
         .min = 4 * KIB,
         .max = 64 * MIB,
         .unit = "bytes",
         .doc = "How much of standard output, and of standard error, is kept: the beginning and the end, with a mark "
                "between them. It must not exceed SANDBOX_OUTPUT_MAX_BYTES."},
        {.name = "OUTPUT_MAX_BYTES",
         .reload = true,
         .offset = AT(output_max_bytes),
         .initial = 64 * MIB,
         .min = 64 * KIB,
         .max = GIB,
         .unit = "bytes",
         .doc = "A snippet that prints more than this, standard output and standard error together, is ended with the "
                "outcome `output_limit`."},
        {.name = "TEMPLATE_MAX_FORKS",
         .reload = true,
         .offset = AT(template_max_forks),
         .initial = 2000,
         .min = 1,
         .max = 1000000,
         .unit = "sandboxes",
         .doc = "After so many sandboxes their template is replaced by a new one, because all children of one "
                "template share its address layout and hash seed."},
        {.name = "TEMPLATE_MAX_AGE_SECONDS",
         .reload = true,
         .offset = AT(template_max_age_s),
         .initial = 3600,
         .min = 10,
         .max = 7 * DAY,
         .unit = "seconds",
         .doc = "After this time a template that has been used is replaced by a new one."},

        {.group = "Requests",
         .name = "BODY_MAX_BYTES",
         .offset = AT(body_max_bytes),
         .initial = 32 * MIB,
         .min = 64 * KIB,
         .max = GIB,
         .unit = "bytes",
         .doc = "The largest body of a request. Over it the answer is 413 `too_large`."},
        {.name = "REQUEST_TIMEOUT_SECONDS",
         .reload = true,
         .offset = AT(request_timeout_s),
         .initial = 30,
         .min = 1,
         .max = 3600,
         .unit = "seconds",
         .doc = "How long header and body of a request may take to arrive, as a whole. Sending one byte a second does "
                "not extend it."},
        {.name = "CONNECTIONS_PER_ADDRESS",
         .reload = true,
         .offset = AT(connections_per_address),
         .initial = 256,
         .min = 1,
         .max = 65536,
         .unit = "connections",
         .doc = "How many connections one client address may hold open. Behind a proxy all clients have the proxy's "
                "address: raise it there, and limit clients in the proxy."},

        {.group = "Conversations and sessions",
         .name = "CONVERSATION_TTL_SECONDS",
         .reload = true,
         .offset = AT(conversation_ttl_s),
         .initial = DAY,
         .min = 1,
         .max = 366 * DAY,
         .unit = "seconds",
         .doc = "How long a conversation and its files are kept after its last run."},
        {.name = "SESSION_IDLE_SECONDS",
         .reload = true,
         .offset = AT(session_idle_s),
         .initial = 900,
         .min = 1,
         .max = 7 * DAY,
         .unit = "seconds",
         .doc = "How long the interpreter of a stateful session is kept while nothing runs in it."},
        {.name = "SESSIONS_PER_PROJECT",
         .reload = true,
         .offset = AT(sessions_per_project),
         .initial = 2,
         .min = 0,
         .max = 1000,
         .unit = "sessions",
         .doc = "How many stateful sessions one project may have at a time."},
        {.name = "MAX_SESSIONS",
         .reload = true,
         .offset = AT(max_sessions),
         .initial = 20,
         .min = 0,
         .max = 1000,
         .unit = "sessions",
         .doc = "How many stateful sessions the whole service may have at a time."},
        {.name = "QUOTA_BYTES",
         .reload = true,
         .offset = AT(quota_bytes),
         .initial = 10 * GIB,
         .min = 0,
         .max = 1024 * 1024 * GIB,
         .unit = "bytes",
         .doc = "How much the kept files of one project may hold together. 0: no limit."},
        {.name = "QUOTA_FILES",
         .reload = true,
         .offset = AT(quota_files),
         .initial = 100000,
         .min = 0,
         .max = 1000000000,
         .unit = "files",
         .doc = "How many kept files one project may have, older versions included. 0: no limit."},

        {.group = "Audit log",
         .name = "AUDIT_MAX_BYTES",
         .reload = true,
         .offset = AT(audit_max_bytes),
         .initial = GIB,
         .min = 0,
         .max = 1024 * GIB,
         .unit = "bytes",
         .doc = "How much the audit log may hold, about 400 bytes for each run. Over it the oldest of its files is "
                "removed, and a line says so. 0: no limit, nothing is removed."},

        {.group = "Console",
         .name = "CONSOLE",
         .offset = AT(console),
         .parse = value_parse_console,
         .initial_text = "on",
         .allowed = "on, off or https",
         .doc = "Whether the page at /console/ is served. With https it is as well, and its cookie is sent over TLS "
                "only: for a service that browsers reach through a proxy. (With on, that is so for requests whose "
                "X-Forwarded-Proto says https.)"},
        {.name = "CONSOLE_SESSION_SECONDS",
         .offset = AT(console_session_s),
         .initial = 43200,
         .min = 1,
         .max = 30 * DAY,
         .unit = "seconds",
         .doc = "How long somebody who has signed in at the Console stays so. Without a request it ends after an "
                "hour."},

        {.group = "Network of tool calls",
         .name = "EGRESS",
         .offset = AT(egress),
         .parse = value_parse_egress,
         .initial_text = "on",
         .allowed = "on or off",
         .doc = "Whether tool calls, and imports of images, have a network: the public internet over HTTP and HTTPS. "
                "With off, every connection and every lookup is refused. Snippets have none in any case."},
        {.name = "EGRESS_ALLOW",
         .offset = AT(egress_allow),
         .parse = value_parse_prefixes,
         .initial_text = "",
         .allowed = "a list of addresses and ranges, such as 10.1.0.0/16, 10.2.0.7:8000, [fd00:1::/64]:443",
         .default_doc = "none",
         .doc = "Private addresses that tool calls may reach as well, on ports 80 and 443, or on the one port that is "
                "named; at most four ports besides these two. An address of this host itself must be named as a single "
                "address: no range opens it."},
        {.name = "EGRESS_DENY",
         .offset = AT(egress_deny),
         .parse = value_parse_prefixes,
         .initial_text = "",
         .allowed = "a list of addresses and ranges, such as 203.0.113.0/24, 198.51.100.7:443",
         .default_doc = "none",
         .doc = "Addresses that tool calls must not reach, on any port or on the one that is named. It goes before "
                "SANDBOX_EGRESS_ALLOW. Name here the public addresses under which this host and what belongs to it are "
                "reachable by way of a router or a load balancer: the host itself does not know them."},
        {.name = "EGRESS_RESOLVER",
         .offset = AT(egress_resolver),
         .parse = value_parse_resolvers,
         .initial_text = "",
         .allowed = "up to three numeric addresses with an optional port, such as 192.0.2.53 or [2001:db8::53]:5353",
         .default_doc = "those of the host's /etc/resolv.conf, as they are when the service starts",
         .doc = "The name servers that are asked for tool calls' lookups."},

        {.group = "Log",
         .name = "LOG_LEVEL",
         .reload = true,
         .offset = AT(log_level),
         .parse = value_parse_log_level,
         .initial_text = "info",
         .allowed = "debug, info, warning or error",
         .doc = "The least important messages that are written to standard error, one JSON object a line. Code, "
                "output and keys are never logged."},
};
const size_t config_settings_count = ARRAY_SIZE(config_settings);

const char *const config_client_names[] = {"URL", "KEY"};
const size_t config_client_names_count = ARRAY_SIZE(config_client_names);

const char *setting_allowed(const struct setting *setting, char *buffer, size_t size) {
        if (setting->parse)
                return setting->allowed;
        snprintf(buffer, size, "%" PRId64 " to %" PRId64 " %s", setting->min, setting->max, setting->unit);
        return buffer;
}
