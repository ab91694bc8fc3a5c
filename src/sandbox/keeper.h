/*
 * The keeper: a process that shares the snippet's memory and does nothing, so that the snippet's end is quick.
 *
 * A child of the template has inherited some hundred megabytes of mappings. When a process ends, the kernel takes its
 * mappings apart before anybody is told of its exit status: tens of milliseconds. It does so only for the last user of
 * the memory, though. The keeper is that last user: it dies afterwards, when the result has arrived already.
 *
 * It runs in the room and is confined before anything untrusted exists. Later, untrusted code can write to its stack and
 * gains a process that may wait and end: its filter allows nothing else, and it holds no descriptor.
 */
#pragma once

/* Made by the future snippet process, without capabilities but before Landlock and filter. 0 or negative errno. */
int keeper_start(void);
