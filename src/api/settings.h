/*
 * Settings that change while the service runs, as the spawner sends them after SIGHUP.
 *
 * Runs in the api process.
 */
#pragma once

struct api;

/* `fd` holds a struct config_numbers; it stays the caller's. */
void settings_take(struct api *api, int fd);
