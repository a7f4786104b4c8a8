import { type Attempt, CONTAINED, familyOf, refused } from "../attempt.ts";

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
    workspace: "overlay",
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
    { workspace: "overlay" },
  ),
  paths.attack("moving a folder while climbing from it", "race_moves_against_dots", NOTHING, {
    workspace: "overlay",
  }),
  paths.attack(
    "a hard link to a read-only file",
    "hard_link_to_read_only",
    refused("EXDEV", "EPERM", "ENOENT", "EROFS", "EACCES"),
    { workspace: "overlay" },
  ),
  paths.attack(
    "renaming over mount points",
    "rename_over_mount_points",
    refused("EBUSY", "EXDEV", "EROFS", "EACCES", "EPERM"),
    { workspace: "overlay" },
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
