/* The fork servers: started, asked, renewed, replaced when they die; see template.c. */
#pragma once

#include "spawner/spawner.h"

struct sandbox;

/* Starts the first one, or a new one if there is none under way. */
void template_start(struct spawner *spawner);

/* Is one ready to fork? */
bool template_serves(const struct spawner *spawner);

/* Asks for a child in this room. 0, or a negative errno: the sandbox cannot go on with this template. */
int template_fork(struct spawner *spawner, struct sandbox *sandbox);

bool template_reaped(struct spawner *spawner, pid_t pid, int wait_status);
void template_end_all(struct spawner *spawner);
void template_tell(struct spawner *spawner); /* sends SPAWN_TEMPLATE */
