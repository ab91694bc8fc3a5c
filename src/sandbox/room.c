/*
 * The file system and identity of a room; see room.h.
 *
 * What it looks like from inside: the image as "/", read-only; tmpfs, all charged to the sandbox's memory, at
 * /mnt/data, /tmp, /home/nonroot and /dev/shm; a /proc with nothing but its own processes; five devices; no /sys.
 */
#include "sandbox/room.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/mount.h"
#include "sandbox/network.h"
#include "sandbox/steps.h"
#include "spawn/proto.h"

#define SCRATCH (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int await_cgroup(void *data) {
        struct room_plan *plan = data;
        return step_order_wait(plan->report_fd, ORDER_GO);
}

/* Only now, inside the cgroup: the namespace's root is where the process is when it is made, cgroup_namespaces(7). */
static int own_cgroup_namespace(void *data) {
        (void)data;
        return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

/*
 * Before the mounts: a file made in a new tmpfs by an unmapped ID fails with EOVERFLOW. Capabilities survive, because
 * no ID involved is a root ID of this namespace (capabilities(7), "Effect of user ID changes"); init drops them.
 */
static int become_nonroot(void *data) {
        (void)data;
        if (setgroups(0, NULL) < 0 || setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0 ||
            setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0)
                return -errno;
        umask(022);
        return 0;
}

static int mount_image(void *data) {
        struct room_plan *plan = data;
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;

        CLEANUP_CLOSE int image = mount_clone(AT_FDCWD, plan->image);
        if (image < 0)
                return image;
        int r = mount_set(image, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 1);
        if (r < 0)
                return r;
        if (move_mount(image, "", AT_FDCWD, plan->image, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return -errno;
        plan->root_fd = take_fd(&image); /* of the mount itself, which is attached now */
        return 0;
}

static int attach(struct room_plan *plan, int mount_fd, const char *path) {
        CLEANUP_CLOSE int owned = mount_fd;
        return owned < 0 ? owned : mount_attach(owned, plan->root_fd, path);
}

static int mount_proc(void *data) {
        return attach(data, mount_new_proc(), "proc");
}

static int add_device(int dev_fd, int devices_fd, const char *name) {
        CLEANUP_CLOSE int node = mount_clone(devices_fd, name);
        if (node < 0)
                return node;
        CLEANUP_CLOSE int place = openat(dev_fd, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_RDONLY, 0600);
        if (place < 0)
                return -errno;
        return mount_attach(node, dev_fd, name);
}

static int make_dev(void *data) {
        static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
        static const struct {
                const char *name, *target;
        } links[] = {
                {"fd", "/proc/self/fd"},
                {"stdin", "/proc/self/fd/0"},
                {"stdout", "/proc/self/fd/1"},
                {"stderr", "/proc/self/fd/2"},
        };
        struct room_plan *plan = data;

        CLEANUP_CLOSE int nodes = open(plan->devices, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (nodes < 0)
                return -errno;
        CLEANUP_CLOSE int dev = mount_new_tmpfs(64 << 10, 32, 0755, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        int r = dev < 0 ? dev : mount_attach(dev, plan->root_fd, "dev");
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(devices); i++)
                r = add_device(dev, nodes, devices[i]);
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(links); i++)
                r = symlinkat(links[i].target, dev, links[i].name) < 0 ? -errno : 0;
        if (r >= 0 && mkdirat(dev, "shm", 0755) < 0)
                r = -errno;
        if (r >= 0)
                r = mount_set(dev, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, 0);
        if (r < 0)
                return r;
        return attach(plan, mount_new_tmpfs(SANDBOX_SHM_BYTES, SANDBOX_TMP_INODES, 01777, SCRATCH | MOUNT_ATTR_NOEXEC),
                      "dev/shm");
}

static int mount_workdir(void *data) {
        /* Mapping a file then sets its atime: how init learns of files that were written to by mapping. */
        const uint64_t attributes = SCRATCH | MOUNT_ATTR_STRICTATIME;
        return attach(data, mount_new_tmpfs(SANDBOX_WORKDIR_BYTES, SANDBOX_WORKDIR_INODES, 0755, attributes),
                      "mnt/data");
}

/* An import unpacks gigabytes there, which must not be memory. Its user owns the folder, and nothing is run from it. */
static int mount_work(struct room_plan *plan) {
        CLEANUP_CLOSE int work = mount_clone(AT_FDCWD, plan->work);
        int r = work < 0 ? work : mount_set(work, SCRATCH | MOUNT_ATTR_NOEXEC, 0);
        return r < 0 ? r : mount_attach(work, plan->root_fd, "tmp");
}

static int mount_scratch(void *data) {
        struct room_plan *plan = data;
        int r = plan->kind == ROOM_IMPORT
                        ? mount_work(plan)
                        : attach(plan, mount_new_tmpfs(SANDBOX_TMP_BYTES, SANDBOX_TMP_INODES, 01777, SCRATCH), "tmp");
        if (r < 0)
                return r;
        return attach(plan, mount_new_tmpfs(SANDBOX_TMP_BYTES, SANDBOX_TMP_INODES, 0755, SCRATCH), "home/nonroot");
}

static int mount_tools(void *data) {
        struct room_plan *plan = data;
        CLEANUP_CLOSE int tools = mount_clone(AT_FDCWD, plan->tools);
        if (tools < 0)
                return tools;
        int r = mount_set(tools, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 1);
        return r < 0 ? r : mount_attach(tools, plan->root_fd, "opt/sandbox");
}

/* Images leave the names of the host itself to whoever runs them. One without the file keeps to what it has. */
static int name_own_host(const struct room_plan *plan) {
        char path[256];
        CLEANUP_CLOSE int place = mount_open_beneath(plan->root_fd, "etc/hosts", 0);
        if (place < 0)
                return 0;
        snprintf(path, sizeof(path), "%s/hosts", plan->tools);
        CLEANUP_CLOSE int hosts = mount_clone(AT_FDCWD, path);
        if (hosts < 0)
                return hosts;
        int r = mount_set(hosts, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0);
        return r < 0 ? r : mount_attach(hosts, plan->root_fd, "etc/hosts");
}

static int open_network(void *data) {
        const struct room_plan *plan = data;
        int r = plan->egress_fd < 0 ? 0 : network_open(plan->egress_fd, plan->ports, plan->port_count);
        return r < 0 ? r : name_own_host(plan);
}

static int change_root(void *data) {
        struct room_plan *plan = data;
        int r = mount_pivot(plan->root_fd);
        close_fd(&plan->root_fd);
        if (r < 0)
                return r;
        return chdir("/mnt/data") < 0 ? -errno : 0;
}

static int set_hostname(void *data) {
        static const char name[] = "sandbox";
        (void)data;
        return sethostname(name, sizeof(name) - 1) < 0 ? -errno : 0;
}

static const struct step template_steps[] = {
        {STEP_CGROUP, await_cgroup},   {STEP_CGROUP_NS, own_cgroup_namespace},
        {STEP_ROOT, mount_image},      {STEP_PROC, mount_proc},
        {STEP_DEV, make_dev},          {STEP_WORKDIR, mount_workdir},
        {STEP_SCRATCH, mount_scratch}, {STEP_TOOLS, mount_tools},
        {STEP_PIVOT, change_root},     {STEP_HOSTNAME, set_hostname},
};

static const struct step snippet_steps[] = {
        {STEP_CGROUP, await_cgroup},     {STEP_CGROUP_NS, own_cgroup_namespace},
        {STEP_IDENTITY, become_nonroot}, {STEP_ROOT, mount_image},
        {STEP_PROC, mount_proc},         {STEP_DEV, make_dev},
        {STEP_WORKDIR, mount_workdir},   {STEP_SCRATCH, mount_scratch},
        {STEP_PIVOT, change_root},       {STEP_HOSTNAME, set_hostname},
};

static const struct step call_steps[] = {
        {STEP_CGROUP, await_cgroup},     {STEP_CGROUP_NS, own_cgroup_namespace},
        {STEP_IDENTITY, become_nonroot}, {STEP_ROOT, mount_image},
        {STEP_NETWORK, open_network},    {STEP_PROC, mount_proc},
        {STEP_DEV, make_dev},            {STEP_WORKDIR, mount_workdir},
        {STEP_SCRATCH, mount_scratch},   {STEP_TOOLS, mount_tools},
        {STEP_PIVOT, change_root},       {STEP_HOSTNAME, set_hostname},
};

static const struct step import_steps[] = {
        {STEP_CGROUP, await_cgroup},     {STEP_CGROUP_NS, own_cgroup_namespace},
        {STEP_IDENTITY, become_nonroot}, {STEP_NETWORK, open_network},
        {STEP_ROOT, mount_image},        {STEP_PROC, mount_proc},
        {STEP_DEV, make_dev},            {STEP_WORKDIR, mount_workdir},
        {STEP_SCRATCH, mount_scratch},   {STEP_PIVOT, change_root},
        {STEP_HOSTNAME, set_hostname},
};

int room_furnish(struct room_plan *plan) {
        static const struct {
                const struct step *steps;
                size_t count;
        } furniture[] = {
                [ROOM_TEMPLATE] = {template_steps, ARRAY_SIZE(template_steps)},
                [ROOM_SNIPPET] = {snippet_steps, ARRAY_SIZE(snippet_steps)},
                [ROOM_CALL] = {call_steps, ARRAY_SIZE(call_steps)},
                [ROOM_IMPORT] = {import_steps, ARRAY_SIZE(import_steps)},
        };
        return steps_run(furniture[plan->kind].steps, furniture[plan->kind].count, plan, &plan->report_fd);
}
