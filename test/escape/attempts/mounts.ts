import { type Attempt, ends, familyOf, refused } from "../attempt.ts";

const mounts = familyOf("mounts");
const mountCall = (name: string, attack: string, syscall = "mount", core?: true): Attempt =>
  mounts.attack(name, attack, ends(syscall), core ? { core } : {});

export const MOUNTS: Attempt[] = [
  mountCall("a memory file system", "mount_tmpfs", "mount", true),
  mountCall("a fresh /proc", "mount_proc"),
  mountCall("a fresh /sys", "mount_sysfs"),
  mountCall("the root once more", "mount_bind_root"),
  mountCall("over the system's programs", "mount_bind_over_programs"),
  mountCall("the host's disk", "mount_block_device"),
  mountCall("control groups", "mount_cgroup"),
  mountCall("moving a mount", "mount_move"),
  mountCall("changing propagation", "mount_propagation"),
  mountCall("an overlay of its own", "mount_overlay"),
  mountCall("remounting a read-only bind read-write", "remount_writable", "mount", true),
  mountCall("remounting the system read-write", "remount_system_writable"),
  mountCall("unmounting what covers a hidden file", "unmount_mask", "umount2", true),
  mountCall("unmounting /proc", "unmount_proc", "umount2"),
  mountCall("unmounting the root", "unmount_root", "umount2"),
  mountCall("another root by pivot_root", "pivot_root_away", "pivot_root"),
  mountCall("another root by chroot", "chroot_and_climb", "chroot"),
  mountCall("a detached copy of the tree", "open_tree_clone", "open_tree"),
  mountCall("move_mount", "move_mount_over", "move_mount"),
  mountCall("fsopen", "fsopen_tmpfs", "fsopen"),
  mountCall("fsconfig", "fsconfig_any", "fsconfig"),
  mountCall("fsmount", "fsmount_any", "fsmount"),
  mountCall("fspick", "fspick_root", "fspick"),
  mountCall("clearing read-only by mount_setattr", "clear_read_only", "mount_setattr", true),
  mounts.script(
    "the system's mount program",
    'mount -t tmpfs none /tmp && echo ESCAPED; mount -o remount,bind,rw "$X_RO" && echo ESCAPED; echo "REFUSED mount EPERM"',
    [ends("mount"), ends("open_tree"), ends("fsopen"), refused("EPERM")],
  ),
  mounts.script(
    "the system's umount program",
    'umount -l /proc && echo ESCAPED; echo "REFUSED umount EPERM"',
    [ends("umount2"), refused("EPERM")],
  ),
  mounts.script(
    "a user's file system (fuse)",
    'fusermount3 -o ro "$X_WS" 2>/dev/null && echo ESCAPED; fusermount "$X_WS" 2>/dev/null && echo ESCAPED; (: </dev/fuse) && echo ESCAPED; echo "REFUSED fuse ENOENT"',
    [refused("ENOENT"), ends("mount")],
  ),
];
