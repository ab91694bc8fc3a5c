/*
 * The keeper: a process that shares the snippet's memory and does nothing, so that the snippet's end is quick.
 *
 * A child of the template has inherited some hundred megabytes of mappings. When a process ends, the kernel takes its
 * mappings apart before anybody is told of its exit status: tens of milliseconds. It does so only for the last user of
 * the memory, though. The keeper is that last user: it dies afterwards, when the result is on its way already.
 *
 * It runs in the room, confined like the snippet and before anything untrusted exists; later, untrusted code can write
 * to its stack, and gains a second process with the rights of the first. It holds no descriptor.
 */
#pragma once

/* Made by the future snippet process, without capabilities but before Landlock and filter. 0 or negative errno. */
int keeper_start(void);
