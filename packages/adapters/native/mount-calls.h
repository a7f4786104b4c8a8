/*
 * The newer mount calls. Neither libc nor all kernel headers have them, and <linux/mount.h> does not go together with
 * every <sys/mount.h>, so the few things needed are written down here.
 */
#ifndef SALLYPORT_MOUNT_CALLS_H
#define SALLYPORT_MOUNT_CALLS_H

#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum {
  TREE_CLONE = 1,                 /* OPEN_TREE_CLONE */
  MOVE_FROM_EMPTY_PATH = 0x00000004, /* MOVE_MOUNT_F_EMPTY_PATH */
  ATTRIBUTE_IDMAP = 0x00100000    /* MOUNT_ATTR_IDMAP */
};

struct mount_attributes {
  uint64_t set, clear, propagation, user_namespace_fd;
};

#endif
