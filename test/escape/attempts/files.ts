import { type Attempt, CONTAINED, ends, familyOf, refused } from "../attempt.ts";

const paths = familyOf("paths");
const NOT_THERE = refused("ENOENT", "ENOTDIR", "EACCES");
const READ_ONLY = refused("EROFS", "EACCES", "EPERM", "EBUSY", "EXDEV");
const NOTHING = refused("NOTHING", "ENOENT");

export const PATHS: Attempt[] = [
  paths.attack(
    "a file outside by its own name",
    ["read_paths", "{secret}", "{out}/./secret.txt"],
    NOT_THERE,
    { core: true, bites: true },
  ),
  paths.attack("a file outside by ..", "climb_with_dots", NOT_THERE, { bites: true }),
  paths.attack("above the root from an open handle", "climb_from_root_handle", NOT_THERE, { bites: true }),
  paths.attack("openat2 past the workspace", "climb_with_openat2", NOT_THERE, { bites: true }),
  paths.attack(
    "a file outside through /proc/self/root",
    ["read_paths", "/proc/self/root{secret}", "/proc/thread-self/root{secret}"],
    NOT_THERE,
  ),
  paths.attack(
    "a file outside through /proc/1/root and its folder",
    ["read_paths", "/proc/1/root{secret}", "/proc/1/cwd/../outside/secret.txt"],
    NOT_THERE,
    { core: true },
  ),
  paths.attack("root and folder of every process", "roots_and_folders_of_processes", NOT_THERE, {
    bites: true,
  }),
  paths.attack("root of the host's processes by number", "roots_of_host_processes", NOT_THERE),
  paths.attack("open files of every process", "open_files_of_processes", NOT_THERE),
  paths.attack("a folder left open by the runtime (CVE-2024-21626)", "folders_left_open", refused("EBADF"), {
    core: true,
  }),
  paths.attack("a symbolic link out of the workspace", "link_out_of_the_workspace", NOT_THERE, {
    core: true,
    bites: true,
  }),
  paths.attack("a symbolic link out of a mounted folder", "link_out_of_the_workspace", NOT_THERE, {
    workspace: "bind",
  }),
  paths.attack("symbolic links through /proc", "link_through_proc", NOT_THERE),
  paths.script(
    "a chain of links to the root",
    'ln -s / "$X_WS/a" && ln -s a "$X_WS/b" && cat "$X_WS/b$X_SECRET" && echo ESCAPED; echo "REFUSED chain ENOENT"',
    NOT_THERE,
  ),
  paths.attack("swapping a folder and a link in a race", "race_folder_against_link", NOTHING, {
    core: true,
    bites: true,
  }),
  paths.attack(
    "swapping a folder and a link in a race, in a mounted folder",
    "race_folder_against_link",
    NOTHING,
    { workspace: "bind" },
  ),
  paths.attack("moving a folder while climbing from it", "race_moves_against_dots", NOTHING, {
    workspace: "bind",
  }),
  paths.attack(
    "a hard link to a read-only file",
    "hard_link_to_read_only",
    refused("EXDEV", "EPERM", "ENOENT", "EROFS", "EACCES"),
    { workspace: "bind" },
  ),
  paths.attack(
    "renaming over mount points",
    "rename_over_mount_points",
    refused("EBUSY", "EXDEV", "EROFS", "EACCES", "EPERM"),
    { workspace: "bind" },
  ),
  paths.attack("changing a read-only mount in every way", "change_read_only_mount", READ_ONLY, {
    core: true,
  }),
  paths.attack("reopening a read-only file for writing", "reopen_read_only_for_writing", READ_ONLY),
  paths.attack(
    "mapping a read-only file for writing",
    "map_read_only_for_writing",
    refused("EACCES", "EINVAL", "EBADF", "EROFS", "EPERM"),
  ),
  paths.attack(
    "writing to the system's programs",
    ["write_paths", "/usr/bin/env", "/bin/sh", "/etc/passwd", "/etc/hosts", "/usr/lib/os-release"],
    READ_ONLY,
  ),
  paths.attack(
    "making files in the system's folders",
    [
      "create_paths",
      "/x",
      "/usr/x",
      "/usr/bin/x",
      "/etc/x",
      "/etc/ld.so.preload",
      "/run/x",
      "/dev/x",
      "/proc/x",
      "/var/x",
      "/home/x",
      "/root/x",
      "/opt/x",
    ],
    refused("EROFS", "EACCES", "EPERM", "ENOENT"),
  ),
  paths.attack(
    "accounts and settings of the host",
    [
      "read_paths",
      "/etc/shadow",
      "/etc/sudoers",
      "/etc/machine-id",
      "/etc/ssh/ssh_host_rsa_key",
      "/root/.bashrc",
      "/root/.ssh/id_rsa",
      "/var/log/syslog",
      "/var/lib/dpkg/status",
      "/boot/config",
    ],
    NOT_THERE,
  ),
  paths.attack("anything with a canary anywhere", "search_everything", NOTHING, { core: true }),
  paths.attack("a whiteout made by hand", "whiteout_device", refused("EPERM")),
  paths.attack(
    "an overlay's own attributes",
    "overlay_attributes",
    refused("EPERM", "EOPNOTSUPP", "ENOENT", "EACCES"),
  ),
  paths.attack("page cache of a read-only file (dirty pipe)", "dirty_pipe", NOTHING),
  paths.attack("copy-on-write of a read-only file (dirty cow)", "dirty_cow", NOTHING),
  paths.attack("entries that trouble a clean-up", "awkward_entries", CONTAINED),
  paths.attack("entries that trouble a clean-up, in a copy", "awkward_entries", CONTAINED, {
    workspace: "copy",
  }),
];

const hidden = familyOf("hidden paths");
const MASKED = refused(
  "EACCES",
  "ENOENT",
  "EROFS",
  "EBUSY",
  "EXDEV",
  "EPERM",
  "EEXIST",
  "NOTHING",
  "ENOTDIR",
  "ENXIO",
);
const EACH_VIEW = ["overlay", "bind", "copy"] as const;

export const HIDDEN: Attempt[] = [
  ...EACH_VIEW.flatMap((workspace) => [
    hidden.attack(
      `reading hidden files (${workspace})`,
      ["read_paths", "{hiddenFile}", "{workspace}/.git/hooks/pre-commit", "{workspace}/.sallyport/key.txt"],
      MASKED,
      { workspace, ...(workspace === "overlay" && { core: true as const, bites: true as const }) },
    ),
    hidden.attack(
      `listing hidden folders (${workspace})`,
      ["list_paths", "{workspace}/.git/hooks", "{workspace}/.sallyport"],
      MASKED,
      { workspace },
    ),
    hidden.attack(
      `writing hidden files (${workspace})`,
      ["write_paths", "{hiddenFile}", "{workspace}/.git/hooks/pre-commit", "{workspace}/.sallyport/key.txt"],
      MASKED,
      { workspace },
    ),
    hidden.attack(
      `making files in hidden folders (${workspace})`,
      ["create_paths", "{workspace}/.git/hooks/post-merge", "{workspace}/.sallyport/new"],
      MASKED,
      { workspace },
    ),
    hidden.attack(`renaming hidden paths or their parents (${workspace})`, "rename_hidden", MASKED, {
      workspace,
    }),
    hidden.attack(`linking to hidden files (${workspace})`, "link_hidden", MASKED, { workspace }),
    hidden.attack(`removing what covers them (${workspace})`, "remove_masks", MASKED, { workspace }),
    hidden.attack(`planting a hook of git's (${workspace})`, "plant_hook", MASKED, { workspace }),
  ]),
  hidden.attack("hidden files by odd names", "odd_names_of_hidden", MASKED),
  hidden.attack("swapping a hidden folder's parent in a race", "race_parent_of_hidden", NOTHING, {
    workspace: "bind",
  }),
  hidden.attack(
    "a hidden socket in a mounted folder",
    ["connect_unix", "{hiddenSocket}"],
    refused("ECONNREFUSED", "EACCES", "ENOENT", "EPROTOTYPE"),
    { extra: "sockets" },
  ),
  hidden.script(
    "hidden files with ordinary tools",
    'cat "$X_HIDDEN_FILE" | grep CANARY[-] && echo ESCAPED; grep -r CANARY[-] "$X_WS" && echo ESCAPED; tar cf - "$X_WS" 2>/dev/null | grep -a CANARY[-] && echo ESCAPED; echo "REFUSED tools NOTHING"',
    MASKED,
  ),
];

const kernel = familyOf("kernel files");
const CLOSED = refused("EROFS", "EACCES", "EPERM", "ENOENT");

export const KERNEL_FILES: Attempt[] = [
  kernel.attack("sysrq-trigger", ["open_for_writing", "/proc/sysrq-trigger"], CLOSED, { core: true }),
  kernel.attack("core_pattern", ["open_for_writing", "/proc/sys/kernel/core_pattern"], CLOSED, {
    core: true,
  }),
  kernel.attack(
    "the kernel's module loader",
    [
      "open_for_writing",
      "/proc/sys/kernel/modprobe",
      "/proc/sys/kernel/hotplug",
      "/proc/sys/kernel/usermodehelper/bset",
    ],
    CLOSED,
  ),
  kernel.attack(
    "names of the host",
    ["open_for_writing", "/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname"],
    CLOSED,
  ),
  kernel.attack(
    "hardening switches",
    [
      "open_for_writing",
      "/proc/sys/kernel/randomize_va_space",
      "/proc/sys/kernel/kptr_restrict",
      "/proc/sys/kernel/yama/ptrace_scope",
      "/proc/sys/fs/suid_dumpable",
      "/proc/sys/user/max_user_namespaces",
    ],
    CLOSED,
  ),
  kernel.attack(
    "memory settings",
    [
      "open_for_writing",
      "/proc/sys/vm/drop_caches",
      "/proc/sys/vm/overcommit_memory",
      "/proc/sys/vm/panic_on_oom",
    ],
    CLOSED,
  ),
  kernel.attack(
    "network settings",
    [
      "open_for_writing",
      "/proc/sys/net/ipv4/ip_forward",
      "/proc/sys/net/ipv4/ping_group_range",
      "/proc/sys/net/ipv4/ip_unprivileged_port_start",
    ],
    CLOSED,
  ),
  kernel.attack(
    "program formats",
    ["open_for_writing", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/fs/binfmt_misc/status"],
    CLOSED,
  ),
  kernel.attack(
    "interrupts, buses and controllers",
    [
      "open_for_writing",
      "/proc/irq/default_smp_affinity",
      "/proc/bus/pci/00/00.0",
      "/proc/scsi/scsi",
      "/proc/acpi/wakeup",
      "/proc/mtrr",
      "/proc/fs/ext4/vda/options",
    ],
    CLOSED,
  ),
  kernel.attack(
    "/sys: helpers, power, modules",
    [
      "open_for_writing",
      "/sys/kernel/uevent_helper",
      "/sys/power/state",
      "/sys/kernel/mm/transparent_hugepage/enabled",
      "/sys/module/kernel/parameters/panic",
      "/sys/kernel/security/apparmor/.load",
      "/sys/fs/selinux/enforce",
    ],
    CLOSED,
  ),
  kernel.attack(
    "control groups: release agent and membership (CVE-2022-0492)",
    [
      "open_for_writing",
      "/sys/fs/cgroup/release_agent",
      "/sys/fs/cgroup/memory/release_agent",
      "/sys/fs/cgroup/cgroup.procs",
      "/sys/fs/cgroup/memory/cgroup.procs",
      "/sys/fs/cgroup/pids/tasks",
      "/sys/fs/cgroup/unified/cgroup.procs",
    ],
    CLOSED,
    { core: true },
  ),
  kernel.attack(
    "debugging file systems",
    [
      "open_for_writing",
      "/sys/kernel/debug/sched/features",
      "/sys/kernel/tracing/trace",
      "/sys/kernel/debug/tracing/kprobe_events",
    ],
    CLOSED,
  ),
  kernel.attack(
    "memory and log of the kernel",
    [
      "read_paths",
      "/proc/kcore",
      "/proc/kmsg",
      "/proc/vmcore",
      "/proc/kpagecount",
      "/proc/kpageflags",
      "/dev/kmsg",
    ],
    refused("EROFS", "EACCES", "EPERM", "ENOENT", "NOTHING"),
  ),
  kernel.attack(
    "addresses of the kernel",
    "kernel_addresses",
    refused("NOTHING", "EACCES", "EPERM", "ENOENT"),
  ),
  kernel.attack(
    "settings of init and of every process of the host",
    [
      "open_for_writing",
      "/proc/1/oom_score_adj",
      "/proc/1/coredump_filter",
      "/proc/1/timens_offsets",
      "/proc/{pid}/oom_score_adj",
    ],
    CLOSED,
  ),
  kernel.attack(
    "an own score for the out-of-memory killer",
    "memory_out_of_reach_of_the_killer",
    refused("EACCES", "EPERM"),
  ),
  kernel.attack(
    "projects, which quotas go by",
    "take_project",
    refused("EPERM", "EACCES", "EINVAL", "ENOTTY", "EOPNOTSUPP"),
    { workspace: "bind" },
  ),
  kernel.attack("user and group maps", "write_user_maps", refused("EPERM", "EACCES", "EROFS", "EINVAL"), {
    core: true,
  }),
];

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
