/* Changing what is mounted. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The headers of libc and kernel cannot both be had everywhere. */
int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int);
enum { DETACH = 2, BIND = 4096, REMOUNT = 32, MOVE = 8192, PRIVATE = 1 << 18 };

ATTACK(mount_tmpfs) { must_fail("mount", mount("none", given("X_WS"), "tmpfs", 0, NULL)); }

ATTACK(mount_proc) { must_fail("mount", mount("proc", given("X_WS"), "proc", 0, NULL)); }

ATTACK(mount_sysfs) { must_fail("mount", mount("sysfs", given("X_WS"), "sysfs", 0, NULL)); }

ATTACK(mount_bind_root) { must_fail("mount", mount("/", given("X_WS"), NULL, BIND, NULL)); }

ATTACK(mount_bind_over_programs) { must_fail("mount", mount(given("X_WS"), "/usr/bin", NULL, BIND, NULL)); }

ATTACK(mount_block_device) { must_fail("mount", mount("/dev/vda", given("X_WS"), "ext4", 0, NULL)); }

ATTACK(mount_cgroup) { must_fail("mount", mount("cgroup", given("X_WS"), "cgroup", 0, "memory")); }

ATTACK(mount_move) { must_fail("mount", mount(given("X_RO"), given("X_WS"), NULL, MOVE, NULL)); }

ATTACK(mount_propagation) { must_fail("mount", mount(NULL, "/", NULL, PRIVATE, NULL)); }

ATTACK(remount_writable) {
  must_fail("remount", mount(NULL, given("X_RO"), NULL, REMOUNT | BIND, NULL));
  try_write(joined(given("X_RO"), "/kept.txt"));
}

ATTACK(remount_system_writable) { must_fail("remount", mount(NULL, "/usr", NULL, REMOUNT | BIND, NULL)); }

ATTACK(mount_overlay) {
  must_fail("mount", mount("overlay", given("X_WS"), "overlay", 0, "lowerdir=/usr,upperdir=/tmp,workdir=/tmp"));
}

ATTACK(unmount_mask) {
  must_fail("umount", umount2(given("X_HIDDEN_FILE"), DETACH));
  try_read(given("X_HIDDEN_FILE"));
}

ATTACK(unmount_proc) { must_fail("umount", umount2("/proc", DETACH)); }

ATTACK(unmount_root) { must_fail("umount", umount2("/", DETACH)); }

ATTACK(pivot_root_away) { must_fail("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp")); }

ATTACK(chroot_and_climb) {
  must_fail("chroot", chroot("/tmp"));
  try_read(joined("../../../..", given("X_SECRET")));
}

ATTACK(open_tree_clone) { must_fail("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE)); }

ATTACK(move_mount_over) {
  must_fail("move_mount", syscall(SYS_move_mount, AT_FDCWD, given("X_RO"), AT_FDCWD, given("X_WS"), 0));
}

ATTACK(fsopen_tmpfs) { must_fail("fsopen", syscall(SYS_fsopen, "tmpfs", 0)); }

ATTACK(fsconfig_any) { must_fail("fsconfig", syscall(SYS_fsconfig, 0, FSCONFIG_CMD_CREATE, NULL, NULL, 0)); }

ATTACK(fsmount_any) { must_fail("fsmount", syscall(SYS_fsmount, 0, 0, 0)); }

ATTACK(fspick_root) { must_fail("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0)); }

ATTACK(clear_read_only) {
  struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
  long result = syscall(442 /* mount_setattr */, AT_FDCWD, given("X_RO"), 0, &attributes, sizeof attributes);
  must_fail("mount_setattr", result);
}
