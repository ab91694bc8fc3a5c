/*
 * Kinds of values that settings take; see config_values.h.
 *
 * Runs in every program that reads settings, root-side ones included. The texts come from the operator. Looks at files
 * only to find the image beside the program, and never resolves a name.
 */
#include "base/config_values.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/prefix.h"

#define SECRET_LENGTH_MIN 8
#define SECRET_LENGTH_MAX 256
#define CPUS_KNOWN_MAX 1024
#define RUNS_PER_CPU 4
#define RESOLVERS_MAX 3 /* as resolv.conf(5) has it */
#define INSTALLED_DATA_DIR "/var/lib/code-sandbox"
#define INSTALLED_FOLDER "lib/code-sandbox"

static int duplicate(const char *text, char **ret) {
        char *copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

int value_parse_number(const char *text, int64_t *ret) {
        const char *digits = text[0] == '-' ? text + 1 : text;
        char *end;
        if (!isdigit((unsigned char)digits[0]))
                return -EINVAL; /* strtoll would take spaces and a plus sign */
        errno = 0;
        long long value = strtoll(text, &end, 10);
        if (*end)
                return -EINVAL;
        if (errno == ERANGE)
                return -ERANGE;
        *ret = value;
        return 0;
}

/* Splits "host:port" and "[host]:port"; both parts are copied. */
static int split_address(const char *text, char host[INET6_ADDRSTRLEN], int64_t *port, struct err *e) {
        const char *colon = strrchr(text, ':');
        const char *start = text, *end = colon;
        if (!colon || (text[0] != '[' && strchr(text, ':') != colon))
                return err_set(e, -EINVAL, colon ? "needs brackets around an IPv6 address" : "has no port");
        if (text[0] == '[') {
                if (colon == text || colon[-1] != ']')
                        return err_set(e, -EINVAL, "has no port after the bracket");
                start++;
                end--;
        }
        if (end == start)
                return err_set(e, -EINVAL, "has no address (0.0.0.0 or [::] means every address of this machine)");
        if ((size_t)(end - start) >= INET6_ADDRSTRLEN)
                return err_set(e, -EINVAL, "is not an address");
        memcpy(host, start, (size_t)(end - start));
        host[end - start] = '\0';
        if (value_parse_number(colon + 1, port) < 0 || *port < 0 || *port > 65535)
                return err_set(e, -EINVAL, "has a port that is not a number from 0 to 65535");
        return 0;
}

int value_parse_address(const char *text, const char *base, char **ret, struct err *e) {
        char host[INET6_ADDRSTRLEN], *address;
        struct in6_addr binary;
        int64_t port;
        (void)base;
        int r = split_address(text, host, &port, e);
        if (r < 0)
                return r;
        if (strcmp(host, "localhost") == 0)
                strcpy(host, "127.0.0.1"); /* spares us a look-up */
        int family = text[0] == '[' ? AF_INET6 : AF_INET;
        if (inet_pton(family, host, &binary) != 1)
                return err_set(e, -EINVAL, "is not a numeric address (names are not looked up, but localhost works)");
        if (asprintf(&address, family == AF_INET6 ? "[%s]:%" PRId64 : "%s:%" PRId64, host, port) < 0)
                return err_set(e, -ENOMEM, "does not fit into memory");
        *ret = address;
        return 0;
}

int value_parse_path(const char *text, const char *base, char **ret, struct err *e) {
        char *path;
        if (text[0] == '/')
                return duplicate(text, ret);
        if (base[0] != '/')
                return err_set(e, -EINVAL, "is a relative path, and the working directory is not known");
        if (asprintf(&path, "%s/%s", strcmp(base, "/") == 0 ? "" : base, text) < 0)
                return err_set(e, -ENOMEM, "does not fit into memory");
        *ret = path;
        return 0;
}

/* A secret travels in an Authorization header, so it is made of visible ASCII characters. */
int value_parse_secret(const char *text, const char *base, char **ret, struct err *e) {
        size_t length = strlen(text);
        (void)base;
        for (const char *c = text; *c; c++)
                if (*c <= ' ' || *c > '~')
                        return err_set(e, -EINVAL,
                                       "has a character that is not visible ASCII (a space or line break?)");
        if (length < SECRET_LENGTH_MIN || length > SECRET_LENGTH_MAX)
                return err_set(e, -EINVAL, "has %zu characters", length);
        return duplicate(text, ret);
}

int value_parse_user(const char *text, const char *base, char **ret, struct err *e) {
        int64_t number;
        (void)base;
        if (value_parse_number(text, &number) == 0) {
                if (number < 1 || number > UINT32_MAX - 1)
                        return err_set(e, -EINVAL, "is not the number of an unprivileged user");
                return duplicate(text, ret);
        }
        if (strcmp(text, "root") == 0)
                return err_set(e, -EINVAL, "would run the process that reads network bytes as root");
        for (const char *c = text; *c; c++)
                if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
                        return err_set(e, -EINVAL, "is not the name of a user");
        if (text[0] == '-')
                return err_set(e, -EINVAL, "is not the name of a user");
        return duplicate(text, ret);
}

int value_parse_log_level(const char *text, const char *base, char **ret, struct err *e) {
        static const char *const levels[] = {"debug", "info", "warning", "error"};
        (void)base;
        for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
                if (strcmp(text, levels[i]) == 0)
                        return duplicate(text, ret);
        return err_set(e, -EINVAL, "is not a level");
}

int value_parse_console(const char *text, const char *base, char **ret, struct err *e) {
        static const char *const modes[] = {"on", "off", "https"};
        (void)base;
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
                if (strcmp(text, modes[i]) == 0)
                        return duplicate(text, ret);
        return err_set(e, -EINVAL, "is not one of these words");
}

/* A list with commas between its members, of which each is made of these characters. Without its spaces. */
static int parse_list(const char *text, const char *characters, char **ret, struct err *e) {
        CLEANUP_FREE char *copy = malloc(strlen(text) + 1);
        char *to = copy;
        if (!copy)
                return -ENOMEM;
        for (const char *from = text; *from; from++) {
                if (*from == ',' || strchr(characters, *from))
                        *to++ = *from;
                else if (*from != ' ')
                        return err_set(e, -EINVAL, "has a character that no name has");
        }
        *to = '\0';
        if (copy[0] == ',' || strstr(copy, ",,") || (to > copy && to[-1] == ','))
                return err_set(e, -EINVAL, "has an empty name in it");
        *ret = TAKE_PTR(copy);
        return 0;
}

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

int value_parse_names(const char *text, const char *base, char **ret, struct err *e) {
        (void)base;
        return parse_list(text, LETTERS_AND_DIGITS "_*", ret, e);
}

int value_parse_registries(const char *text, const char *base, char **ret, struct err *e) {
        static const char plain[] = "http://";
        CLEANUP_FREE char *list = NULL;
        (void)base;
        int r = parse_list(text, LETTERS_AND_DIGITS ".-:/", &list, e);
        if (r < 0)
                return r;
        for (const char *name = list; *name; name += strcspn(name, ","), name += *name == ',') {
                size_t length = strcspn(name, ","), start = strncmp(name, plain, sizeof(plain) - 1) == 0 ? 7 : 0;
                if (length == start || memchr(name + start, '/', length - start))
                        return err_set(e, -EINVAL, "has a name that is not that of a registry: a host, and a port");
        }
        *ret = TAKE_PTR(list);
        return 0;
}

int value_parse_front_doors(const char *text, const char *base, char **ret, struct err *e) {
        static const char *const doors[] = {"e2b", "dify", "piston", "azure"};
        CLEANUP_FREE char *list = NULL;
        (void)base;
        int r = parse_list(text, LETTERS_AND_DIGITS, &list, e);
        if (r < 0)
                return r;
        for (const char *name = list; *name; name += *name == ',') {
                size_t length = strcspn(name, ","), i = 0;
                while (i < ARRAY_SIZE(doors) && (strlen(doors[i]) != length || memcmp(doors[i], name, length) != 0))
                        i++;
                if (i == ARRAY_SIZE(doors))
                        return err_set(e, -EINVAL, "has a name in it that is none of a front door");
                name += length;
        }
        *ret = TAKE_PTR(list);
        return 0;
}

int value_parse_database(const char *text, const char *base, char **ret, struct err *e) {
        (void)base;
        if (strcmp(text, "sqlite") == 0)
                return duplicate("", ret);
        if (strncmp(text, "postgres", strlen("postgres")) == 0)
                return err_set(e, -EINVAL, "names a PostgreSQL server, which this version cannot use yet");
        return err_set(e, -EINVAL, "is not a database that this version knows");
}

int value_parse_egress(const char *text, const char *base, char **ret, struct err *e) {
        (void)base;
        if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
                return err_set(e, -EINVAL, "is not one of these words");
        return duplicate(text, ret);
}

int value_parse_prefixes(const char *text, const char *base, char **ret, struct err *e) {
        struct prefix_list list;
        (void)base;
        int r = prefix_list_parse(text, &list, e);
        return r < 0 ? r : duplicate(text, ret);
}

int value_parse_resolvers(const char *text, const char *base, char **ret, struct err *e) {
        struct prefix_list list;
        (void)base;
        int r = prefix_list_parse(text, &list, e);
        if (r < 0)
                return r;
        if (list.count > RESOLVERS_MAX)
                return err_set(e, -EINVAL, "has more than %d addresses", RESOLVERS_MAX);
        for (size_t i = 0; i < list.count; i++)
                if (!prefix_is_single(&list.items[i]))
                        return err_set(e, -EINVAL, "has a range where a single address is needed");
        return duplicate(text, ret);
}

/* Counts the CPUs that this process may use, so that a CPU set or `taskset` is respected. */
int64_t value_default_max_concurrent(void) {
        cpu_set_t *set = CPU_ALLOC(CPUS_KNOWN_MAX);
        size_t size = CPU_ALLOC_SIZE(CPUS_KNOWN_MAX);
        int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);
        if (set && sched_getaffinity(0, size, set) == 0)
                cpus = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        return RUNS_PER_CPU * (cpus < 1 ? 1 : cpus);
}

char *value_folder_of(const char *path) {
        const char *slash = strrchr(path, '/');
        if (!slash)
                return strdup("");
        return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* The folder of the running program; the link is the kernel's, so argv[0] and PATH have no say. */
static int program_folder(char **ret) {
        char path[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
        if (length < 0)
                return -errno;
        path[length] = '\0';
        char *folder = value_folder_of(path);
        if (!folder)
                return -ENOMEM;
        *ret = folder;
        return 0;
}

static bool exists(const char *folder, const char *name) {
        CLEANUP_FREE char *path = NULL;
        return asprintf(&path, "%s/%s", folder, name) >= 0 && access(path, F_OK) == 0;
}

/* A build folder is the nearest one at or above the program that Ninja works in; programs lie at most three deep. */
static int find_build_folder(char **ret) {
        CLEANUP_FREE char *folder = NULL;
        int r = program_folder(&folder);
        for (int depth = 0; r == 0 && depth <= 3; depth++) {
                if (exists(folder, "build.ninja")) {
                        *ret = TAKE_PTR(folder);
                        return 0;
                }
                char *parent = value_folder_of(folder);
                if (!parent)
                        return -ENOMEM;
                free(folder);
                folder = parent;
        }
        return r < 0 ? r : -ENOENT;
}

int value_default_data_dir(char **ret) {
        CLEANUP_FREE char *build = NULL;
        char *path;
        if (find_build_folder(&build) < 0)
                return duplicate(INSTALLED_DATA_DIR, ret);
        if (asprintf(&path, "%s/data", build) < 0)
                return -ENOMEM;
        *ret = path;
        return 0;
}

/* Takes the best form of the image in `folder`/image: erofs mounts quickest, a plain folder works everywhere. */
static int find_image(const char *folder, char **ret) {
        static const char *const forms[] = {"image.erofs", "image.squashfs", "rootfs"};
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                CLEANUP_FREE char *path = NULL;
                if (asprintf(&path, "%s/image/%s", folder, forms[i]) < 0)
                        return -ENOMEM;
                if (access(path, F_OK) < 0)
                        continue;
                char *clean = realpath(path, NULL); /* without the ".." of the installed layouts */
                *ret = clean ? clean : TAKE_PTR(path);
                return 0;
        }
        return -ENOENT;
}

/* Where no image is found, the first place is the answer, so that whoever opens it can say what is missing. */
int value_default_image(char **ret) {
        static const char *const installed[] = {"../" INSTALLED_FOLDER, ".", "../../" INSTALLED_FOLDER};
        CLEANUP_FREE char *build = NULL, *program = NULL;
        char *path;
        if (find_build_folder(&build) == 0) {
                if (find_image(build, ret) == 0)
                        return 0;
                if (asprintf(&path, "%s/image/image.erofs", build) < 0)
                        return -ENOMEM;
                *ret = path;
                return 0;
        }
        int r = program_folder(&program);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(installed); i++) {
                CLEANUP_FREE char *folder = NULL;
                if (asprintf(&folder, "%s/%s", program, installed[i]) < 0)
                        return -ENOMEM;
                if (find_image(folder, ret) == 0)
                        return 0;
        }
        return duplicate("/usr/" INSTALLED_FOLDER "/image/image.erofs", ret);
}

size_t value_distance(const char *a, const char *b, size_t limit) {
        size_t row[64], columns = strlen(b);
        if (columns >= ARRAY_SIZE(row) || strlen(a) >= ARRAY_SIZE(row))
                return limit + 1;
        for (size_t j = 0; j <= columns; j++)
                row[j] = j;
        for (size_t i = 1; a[i - 1]; i++) {
                size_t diagonal = row[0];
                row[0] = i;
                for (size_t j = 1; j <= columns; j++) {
                        bool same = toupper((unsigned char)a[i - 1]) == toupper((unsigned char)b[j - 1]);
                        size_t change = diagonal + (same ? 0 : 1);
                        diagonal = row[j];
                        size_t gap = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
                        row[j] = change < gap ? change : gap;
                }
        }
        return row[columns] > limit ? limit + 1 : row[columns];
}
