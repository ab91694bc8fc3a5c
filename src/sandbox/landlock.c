#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* linux/landlock.h as of ABI 7; Debian 12's ends at ABI 2. */

#define CREATE_RULESET 444 /* the same numbers on every architecture */
#define ADD_RULE 445
#define RESTRICT_SELF 446

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1
#define RULE_NET_PORT 2
#define LOG_SAME_EXEC_OFF 1u

#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_MAKE_CHAR (UINT64_C(1) << 6)
#define FS_MAKE_BLOCK (UINT64_C(1) << 11)
#define FS_REFER (UINT64_C(1) << 13)     /* ABI 2: without it, rename between folders fails with EXDEV */
#define FS_TRUNCATE (UINT64_C(1) << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5 */
#define FS_ALL_OF_ABI_1 ((UINT64_C(1) << 13) - 1)
#define NET_BIND_TCP (UINT64_C(1) << 0) /* ABI 4 */
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0) /* ABI 6 */
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

/* What concerns files only; for others the kernel refuses the rights that concern folders. */
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset_attributes {
        uint64_t fs, net, scoped; /* older kernels know a beginning of it */
};

struct path_beneath {
        uint64_t allowed;
        int32_t parent_fd;
} __attribute__((packed));

struct net_port {
        uint64_t allowed, port;
};

struct rule {
        const char *path;
        uint64_t rights;
};

#define READ (FS_READ_FILE | FS_READ_DIR)
#define FULL (~(FS_MAKE_CHAR | FS_MAKE_BLOCK))

/* Rights add up along a path: what "/" grants holds below it too, so only the mount keeps /dev/shm from execution. */
/* Of a tool call as well. */
static const struct rule snippet_rules[] = {
        {"/", FS_EXECUTE | READ}, /* the image, and /proc below it */
        {"/dev", READ | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV},
        {"/mnt/data", FULL},
        {"/tmp", FULL},
        {"/home/nonroot", FULL},
        {"/dev/shm", FULL},
};

int landlock_abi(void) {
        long abi = syscall(CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);

        return abi < 0 ? 0 : (int)abi;
}

/* What the kernel can take away: everything of its version and below, as far as this file knows it. */
static struct ruleset_attributes handled_by(int abi) {
        struct ruleset_attributes all = {.fs = FS_ALL_OF_ABI_1};

        if (abi >= 2)
                all.fs |= FS_REFER;
        if (abi >= 3)
                all.fs |= FS_TRUNCATE;
        if (abi >= 4)
                all.net = NET_BIND_TCP | NET_CONNECT_TCP;
        if (abi >= 5)
                all.fs |= FS_IOCTL_DEV;
        if (abi >= 6)
                all.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        return all;
}

static int new_ruleset(int abi, const struct ruleset_attributes *attributes) {
        size_t size = abi >= 6 ? sizeof *attributes
                               : (abi >= 4 ? offsetof(struct ruleset_attributes, scoped)
                                           : offsetof(struct ruleset_attributes, net));
        long fd = syscall(CREATE_RULESET, attributes, size, 0); /* close-on-exec */

        return fd < 0 ? -errno : (int)fd;
}

static int add_rule(int ruleset, uint64_t handled, const struct rule *rule) {
        CLEANUP_CLOSE int fd = open(rule->path, O_PATH | O_CLOEXEC);
        struct path_beneath beneath = {.allowed = rule->rights & handled, .parent_fd = fd};
        struct stat info;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &info) < 0)
                return -errno;
        if (!S_ISDIR(info.st_mode))
                beneath.allowed &= FS_OF_FILES;
        return syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &beneath, 0) < 0 ? -errno : 0;
}

static int add_port(int ruleset, uint64_t handled, uint16_t port) {
        const struct net_port connect = {.allowed = NET_CONNECT_TCP, .port = port};

        if (!(handled & NET_CONNECT_TCP))
                return 0;
        return syscall(ADD_RULE, ruleset, RULE_NET_PORT, &connect, 0) < 0 ? -errno : 0;
}

/* Which TCP may be spoken. */
struct tcp {
        bool all;
        const uint16_t *ports; /* else: connections to these */
        size_t port_count;
};

static int confine(const struct rule *rules, size_t n, struct tcp tcp) {
        int abi = landlock_abi(), r;
        struct ruleset_attributes handled = handled_by(abi);
        CLEANUP_CLOSE int ruleset = -1;

        if (abi == 0)
                return 1;
        if (tcp.all)
                handled.net = 0;
        ruleset = new_ruleset(abi, &handled);
        if (ruleset < 0)
                return ruleset;
        for (size_t i = 0; i < n; i++) {
                r = add_rule(ruleset, handled.fs, &rules[i]);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < tcp.port_count; i++) {
                r = add_port(ruleset, handled.net, tcp.ports[i]);
                if (r < 0)
                        return r;
        }
        /*
         * From ABI 7 on refusals go to the audit log. An honest program meets many (it tries to write beside its
         * modules), and a hostile one could fill the host's log with them.
         */
        return syscall(RESTRICT_SELF, ruleset, abi >= 7 ? LOG_SAME_EXEC_OFF : 0) < 0 ? -errno : 0;
}

int landlock_confine_snippet(void) {
        return confine(snippet_rules, ARRAY_SIZE(snippet_rules), (struct tcp){0});
}

int landlock_confine_call(void) {
        return confine(snippet_rules, ARRAY_SIZE(snippet_rules), (struct tcp){.all = true});
}

int landlock_confine_api(const char *data_dir) {
        const struct rule rule = {data_dir, FULL & ~(FS_EXECUTE | FS_IOCTL_DEV)};

        return confine(&rule, 1, (struct tcp){0});
}

int landlock_confine_egress(const uint16_t *ports, size_t port_count) {
        return confine(NULL, 0, (struct tcp){.ports = ports, .port_count = port_count});
}
