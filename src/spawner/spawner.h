/*
 * The spawner: the root side of the service. What its files share.
 *
 * It builds sandboxes, limits them, kills them, reaps them and counts what they used. It reads fixed-size messages from
 * the api process (src/spawn/proto.h), which it takes for hostile, and reports from processes that it started itself.
 * It parses nothing that came over the network and carries no data of a run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/config.h"
#include "base/loop.h"
#include "sandbox/cgroup.h"
#include "spawn/proto.h"

struct image;
struct sandbox;
struct template;

#define RUN_PARENT "/run/code-sandbox"

struct spawner {
        struct config config;
        struct loop *loop;

        /* Where things are. */
        char program_dir[4096]; /* of sandboxd itself */
        char run_dir[128];      /* a tmpfs in this process's own mount namespace: unseen outside, gone with it */
        char image_dir[160];    /* the image, mounted */
        char dev_dir[160];      /* five device nodes */
        char tools_dir[160];    /* the template's own code, mounted */
        char call_dir[160];     /* the same of tool calls */
        char images_dir[160];   /* agents' images, mounted while they are used */
        char empty_dir[160];    /* has nothing in it: root folder of the egress process */
        char store_dir[160];    /* their files: the folder "images" of the data folder, once it is needed */
        char import_dir[160];   /* the host's tools, for imports */
        int store_fd;           /* the folder of files, or -1 */
        int lock_fd;            /* one service a data folder */
        int init_fd;            /* sealed memory file: the room's init */

        /* The api process. */
        int listening_fd; /* opened by the system's service manager; -1: none. Goes to the api process */
        pid_t api_pid;
        int api_fd;
        struct loop_source *api_source;
        bool stopping;

        /* The egress process: egress.h. */
        pid_t egress_pid; /* 0: it is being started again */
        int egress_fd;
        int egress_old_fd; /* of the one before, which still has the rooms that were given to it; or -1 */
        uint16_t egress_ports[CONFIG_EGRESS_PORTS_MAX];
        size_t egress_port_count;

        /* The outer user and PID namespace, in which everything that is not root lives. */
        pid_t holder_pid;
        int holder_fd; /* its orders; closing it ends it */
        int outer_user_fd, outer_pid_fd;

        struct cgroup_tree *cgroups;
        struct template *template;      /* serves */
        struct template *next_template; /* is warming up; NULL if none */
        struct loop_source *template_timer;
        uint64_t template_generation;
        uint32_t template_failures; /* in a row */

        struct sandbox *sandboxes; /* list */
        struct image *images;      /* those that are mounted */
        uint32_t sandbox_count, sandbox_max;
};

/* main.c: ends the service; the first reason wins. */
void spawner_stop(struct spawner *spawner, int exit_code);

/* main.c: how many sandboxes the settings ask for. */
void spawner_allow_sandboxes(struct spawner *spawner);

/* reload.c: SIGHUP. */
void reload_on_signal(void *data, int signal_number);

/* paths.c: where the parts of the product are, from /proc/self/exe. 0 or negative errno. */
int paths_find(struct spawner *spawner, struct err *e);
int paths_open_part(const struct spawner *spawner, const char *name, char *ret_path, size_t size);

/* image.c: own mount namespace, run folder, image. */
int image_mount(struct spawner *spawner, struct err *e);
/* Mounts the file of an image, read-only; 0 or negative errno. */
int image_mount_file(const char *file, const char *target);
int init_load(struct spawner *spawner, struct err *e);

/* outer.c */
int outer_start(struct spawner *spawner, struct err *e);
void outer_end(struct spawner *spawner);
/* In a child: join the outer user namespace and become `id` in it, with every capability there and none outside. */
int outer_enter(const struct spawner *spawner, uint32_t id);
#define OUTER_IDS 65536
/* A descriptor of a child's namespace ("user", "pid"), or negative errno. */
int namespace_open(pid_t pid, const char *name);

/* service.c: the api process. */
int service_start(struct spawner *spawner, struct err *e);
int service_send(struct spawner *spawner, const struct spawn_message *message, const int *fds, size_t fd_count);

/* requests.c: messages from the api process. */
void requests_on_readable(void *data, int fd, uint32_t events);

/* reap.c */
void reap_on_signal(void *data, int signal_number);
pid_t pidfd_host_pid(int pidfd);
