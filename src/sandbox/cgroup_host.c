/*
 * Finds the host's cgroups: which version, where, and which of them this process is in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/cgroup_internal.h"

static const char *const controller_names[CONTROLLERS] = {
        [CONTROLLER_PIDS] = "pids",
        [CONTROLLER_MEMORY] = "memory",
        [CONTROLLER_CPU] = "cpu",
        [CONTROLLER_CPUACCT] = "cpuacct",
};

/* A mount of a cgroup file system; strings borrowed from the line. */
struct cgroup_mount {
        char *root;  /* which group of the file system is mounted */
        char *point; /* where */
        char *type, *options;
};

/* Is `word` an element of the list "a,b,c"? */
static bool list_has(const char *list, const char *word) {
        size_t length = strlen(word);

        for (const char *at = list; at; at = strchr(at, ',')) {
                at += *at == ',';
                if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
                        return true;
        }
        return false;
}

/* proc(5): blanks, tabs, newlines and backslashes of a path are written as \ooo. */
static void unescape(char *text) {
        char *to = text;

        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
                        *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

/* id parent major:minor ROOT POINT options [optional…] - TYPE source OPTIONS */
static bool parse_mount(char *line, struct cgroup_mount *ret) {
        char *save = NULL, *field = strtok_r(line, " \n", &save);

        *ret = (struct cgroup_mount){0};
        for (int i = 0; field; i++, field = strtok_r(NULL, " \n", &save)) {
                if (i == 3)
                        ret->root = field;
                if (i == 4)
                        ret->point = field;
                if (i > 4 && strcmp(field, "-") == 0)
                        break;
        }
        ret->type = strtok_r(NULL, " \n", &save);
        strtok_r(NULL, " \n", &save);
        ret->options = strtok_r(NULL, " \n", &save);
        if (!ret->root || !ret->point || !ret->type || !ret->options)
                return false;
        unescape(ret->root);
        unescape(ret->point);
        return true;
}

/* The process's path in a hierarchy: the line "id:CONTROLLERS:PATH"; v2's has no controllers. Heap, or NULL. */
static char *own_path(const char *file, const char *controller) {
        CLEANUP_FCLOSE FILE *in = fopen(file, "re");
        char line[CGROUP_PATH_MAX];

        while (in && fgets(line, sizeof line, in)) {
                char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

                if (!path)
                        continue;
                *list++ = *path++ = '\0';
                path[strcspn(path, "\n")] = '\0';
                if (controller ? list_has(list, controller) : *list == '\0')
                        return strdup(path);
        }
        return NULL;
}

/*
 * Where a group lies in the file tree. The mount may show only a part of the hierarchy (in a container); a group that
 * is not in this part ("/.." seen from a cgroup namespace, or another path) is stood in for by the top of what is
 * shown.
 */
static char *locate(const struct cgroup_mount *mount, const char *path) {
        size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
        char *place;

        if (strncmp(path, mount->root, root) != 0 || (path[root] != '/' && path[root] != '\0') || strstr(path, "/.."))
                path = "";
        else
                path += root;
        if (strcmp(path, "/") == 0)
                path = "";
        return asprintf(&place, "%s%s", mount->point, path) < 0 ? NULL : place;
}

static int note_mount(const struct cgroup_source *source, const struct cgroup_mount *mount, struct cgroup_host *v1,
                      struct cgroup_host *v2) {
        if (strcmp(mount->type, "cgroup2") == 0 && !v2->top[0]) {
                CLEANUP_FREE char *path = own_path(source->self_cgroup, NULL);

                v2->top[0] = strdup(mount->point);
                v2->own[0] = locate(mount, path ? path : "/");
                return v2->top[0] && v2->own[0] ? 0 : -ENOMEM;
        }
        for (size_t i = 0; strcmp(mount->type, "cgroup") == 0 && i < CONTROLLERS; i++) {
                CLEANUP_FREE char *path = NULL;

                if (v1->own[i] || !list_has(mount->options, controller_names[i]))
                        continue;
                path = own_path(source->self_cgroup, controller_names[i]);
                v1->top[i] = strdup(mount->point);
                v1->own[i] = locate(mount, path ? path : "/");
                if (!v1->top[i] || !v1->own[i])
                        return -ENOMEM;
        }
        return 0;
}

/* The first line is a heading. */
static bool any_swap(const char *file) {
        CLEANUP_FCLOSE FILE *in = fopen(file, "re");
        char line[512];

        return in && fgets(line, sizeof line, in) && fgets(line, sizeof line, in);
}

/* On v1 each of the four must be there; none at all means v2. */
static int choose(struct cgroup_host *v1, struct cgroup_host *v2, struct cgroup_host *ret, struct err *e) {
        char missing[128] = "";
        size_t found = 0;

        for (size_t i = 0; i < CONTROLLERS; i++) {
                if (v1->own[i]) {
                        found++;
                        continue;
                }
                snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s", *missing ? ", " : "",
                         controller_names[i]);
        }
        if (found == CONTROLLERS) {
                *ret = *v1;
                *v1 = (struct cgroup_host){0};
                ret->version = 1;
                return 0;
        }
        if (found > 0)
                return err_set(e, -ENODEV,
                               "cgroup controllers are missing: %s (others are mounted as cgroup v1); mount them below "
                               "/sys/fs/cgroup as well, or boot with systemd.unified_cgroup_hierarchy=1",
                               missing);
        if (!v2->top[0])
                return err_set(
                        e, -ENODEV,
                        "no cgroup file system is mounted; mount one (mount -t cgroup2 none /sys/fs/cgroup), or, in "
                        "a container, let it see the host's /sys/fs/cgroup for writing");
        *ret = *v2;
        *v2 = (struct cgroup_host){0};
        ret->version = 2;
        return 0;
}

int cgroup_host_find(const struct cgroup_source *source, struct cgroup_host *ret, struct err *e) {
        CLEANUP_FCLOSE FILE *in = fopen(source->mountinfo, "re");
        struct cgroup_host v1 = {0}, v2 = {0};
        struct cgroup_mount mount;
        CLEANUP_FREE char *line = NULL;
        size_t size = 0;
        int r = 0;

        if (!in)
                return err_set(e, -errno, "cannot read %s: %s; /proc must be mounted", source->mountinfo,
                               strerror(errno));
        while (r == 0 && getline(&line, &size, in) >= 0)
                if (parse_mount(line, &mount))
                        r = note_mount(source, &mount, &v1, &v2);
        if (r == 0)
                r = choose(&v1, &v2, ret, e);
        if (r == 0)
                ret->has_swap = any_swap(source->swaps);
        cgroup_host_deinit(&v1);
        cgroup_host_deinit(&v2);
        return r;
}

void cgroup_host_deinit(struct cgroup_host *host) {
        for (size_t i = 0; i < CONTROLLERS; i++) {
                free(host->own[i]);
                free(host->top[i]);
        }
        *host = (struct cgroup_host){0};
}
