import {
  type Attempt,
  CONTAINED,
  ends,
  exited,
  familyOf,
  recorded,
  refused,
  signalled,
  TIMEOUT,
} from "../attempt.ts";

const others = familyOf("other processes");
const KEPT_OUT = refused("EACCES", "EPERM", "ENOENT", "ESRCH", "EIO", "NOTHING");

export const OTHER_PROCESSES: Attempt[] = [
  others.attack("tracing init", "trace_init", ends("ptrace"), { core: true }),
  others.attack("seizing init", "seize_init", ends("ptrace")),
  others.attack("tracing a host process", "trace_host", ends("ptrace")),
  others.attack("tracing an own child", "trace_child", ends("ptrace"), { bites: true }),
  others.attack("asking to be traced", "trace_me", ends("ptrace"), { bites: true }),
  others.attack("reading init's memory", "read_memory_of_init", ends("process_vm_readv"), { core: true }),
  others.attack("writing init's memory", "write_memory_of_init", ends("process_vm_writev")),
  others.attack("reading the host process's memory", "read_memory_of_host", ends("process_vm_readv")),
  others.attack("memory and environment files of other processes", "memory_files_of_others", KEPT_OUT, {
    core: true,
  }),
  others.attack("memory and environment files of host processes", "memory_files_of_host", KEPT_OUT),
  others.attack("taking a descriptor from init", "take_descriptor_of_init", recorded("pidfd_getfd", "HIGH"), {
    core: true,
  }),
  others.attack("handles of host processes", "handles_of_host", refused("ESRCH", "ENOENT", "EINVAL")),
  others.attack(
    "advising init's memory away",
    "advise_memory_of_init",
    refused("EPERM", "EACCES", "ENOSYS", "ESRCH"),
  ),
  others.attack("comparing kernel objects with init", "compare_with_init", refused("EPERM")),
];

const signals = familyOf("signals");

export const SIGNALS: Attempt[] = [
  signals.attack("killing and stopping host processes by number", "signal_host_processes", refused("ESRCH"), {
    core: true,
  }),
  signals.attack("signalling everybody", "signal_everybody", CONTAINED, { core: true }),
  signals.attack("killing every number", "signal_every_number", CONTAINED),
  signals.attack("killing and stopping init", "kill_init", CONTAINED, { core: true }),
  signals.attack("terminating the command by way of init", "terminate_through_init", signalled("SIGTERM")),
  signals.attack("taking init's limits away", "limit_init", [CONTAINED, refused("EPERM")]),
  signals.attack(
    "changing limits and priorities of host processes",
    "limit_host_processes",
    refused("ESRCH"),
  ),
  signals.attack("signals by way of input", "signals_by_input", refused("ESRCH")),
  signals.attack("a higher priority", "raise_priority", refused("EACCES", "EPERM")),
];

const namespaces = familyOf("namespaces");
const KINDS = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"] as const;

export const NAMESPACES: Attempt[] = [
  ...KINDS.map((kind) =>
    namespaces.attack(
      `a ${kind} namespace by unshare`,
      ["unshare_namespaces", kind],
      ends("unshare"),
      kind === "user" ? { core: true, bites: true } : {},
    ),
  ),
  namespaces.attack(
    "all namespaces by unshare",
    ["unshare_namespaces", "user", "mnt", "pid", "net", "ipc", "uts"],
    ends("unshare"),
  ),
  ...(["user", "net", "pid"] as const).map((kind) =>
    namespaces.attack(
      `a ${kind} namespace by clone`,
      ["clone_namespaces", kind],
      recorded("clone", "HIGH"),
      kind === "user" ? { core: true, bites: true } : {},
    ),
  ),
  namespaces.attack(
    "clone with upper bits set",
    ["clone_with_upper_bits", "user", "mnt"],
    [recorded("clone", "HIGH"), refused("EINVAL", "EPERM")],
  ),
  namespaces.attack("namespaces by clone3", ["clone3_namespaces", "user", "mnt"], refused("ENOSYS"), {
    core: true,
  }),
  namespaces.attack(
    "init's namespaces",
    "enter_namespaces_of_init",
    [ends("setns"), refused("EACCES", "EPERM", "ENOENT")],
    { core: true },
  ),
  namespaces.attack("its own namespace once more", "enter_own_namespace", ends("setns")),
  namespaces.attack("namespaces by a handle of init", "enter_by_handle", ends("setns")),
  namespaces.attack("the parent of the user namespace", "parent_of_user_namespace", refused("EPERM")),
  namespaces.script(
    "the system's unshare program",
    'unshare -Ur true && echo ESCAPED; echo "REFUSED unshare EPERM"',
    ends("unshare"),
  ),
  namespaces.script(
    "the system's nsenter program",
    'nsenter -t 1 -m true && echo ESCAPED; echo "REFUSED nsenter EACCES"',
    [ends("setns"), refused("EACCES")],
  ),
  namespaces.script(
    "a sandbox of its own",
    'bwrap --ro-bind / / true && echo ESCAPED; echo "REFUSED bwrap EPERM"',
    [recorded("clone", "HIGH"), ends("unshare"), refused("EPERM")],
  ),
];

const privileges = familyOf("privileges");

export const PRIVILEGES: Attempt[] = [
  privileges.attack("becoming root", "become_root", refused("EPERM", "EINVAL"), { core: true }),
  privileges.attack("joining root's group", "become_group_root", refused("EPERM", "EINVAL")),
  privileges.attack("becoming somebody else", "become_others", refused("EPERM", "EINVAL")),
  privileges.attack("another user for files", "file_system_user", refused("EPERM")),
  privileges.attack("raising capabilities", "raise_capabilities", refused("EPERM"), { core: true }),
  privileges.attack("ambient capabilities", "raise_ambient", refused("EPERM")),
  privileges.attack("capabilities within bounds", "bounding_set", refused("EPERM"), { core: true }),
  privileges.attack("taking back no-new-privileges", "take_back_no_new_privileges", refused("EINVAL")),
  privileges.attack("capabilities of a file", "file_capabilities", refused("EPERM", "EOPNOTSUPP")),
  privileges.attack("giving files to root", "give_files_to_root", refused("EPERM", "EINVAL")),
  privileges.attack("a setuid copy of itself", "setuid_copy_of_ourselves", refused("EPERM", "EACCES")),
  privileges.attack(
    "a setuid copy of itself in a mounted folder",
    "setuid_copy_of_ourselves",
    refused("EPERM", "EACCES"),
    { workspace: "overlay" },
  ),
  privileges.attack(
    "a setuid program of root's in a mounted folder",
    ["setuid_of_the_host", "{devices}/setuid-root"],
    refused("EPERM", "EACCES"),
    { extra: "devices" },
  ),
  privileges.attack("loosening its own process", "loosen_prctl", refused("EPERM", "EINVAL", "EACCES")),
  privileges.script(
    "su",
    'su -c "cat $X_SECRET && echo ESCAPED" root </dev/null; su root -c id </dev/null | grep "uid=0" && echo ESCAPED; echo "REFUSED su EPERM"',
    refused("EPERM"),
  ),
  privileges.script(
    "passwd, newgrp, chsh, sudo",
    'for program in passwd "newgrp root" "chsh -s /bin/sh root" "sudo -n id" "gpasswd -a x root"; do $program </dev/null 2>&1 | grep "uid=0" && echo ESCAPED; done; echo "REFUSED programs EPERM"',
    refused("EPERM"),
  ),
  privileges.script(
    "who it is at the end",
    'id -u | grep -qx 0 && echo ESCAPED; id -G | tr " " "\\n" | grep -qx 0 && echo ESCAPED; grep -E "^Cap(Prm|Eff|Inh|Amb|Bnd):" /proc/self/status | grep -qv 0000000000000000 && echo ESCAPED; grep -q "^NoNewPrivs:.1" /proc/self/status || echo ESCAPED; grep -q "^Seccomp:.2" /proc/self/status || echo ESCAPED; echo "REFUSED root EPERM"',
    refused("EPERM"),
    { core: true },
  ),
];

const terminal = familyOf("terminal");

export const TERMINAL: Attempt[] = [
  terminal.attack("typing into its streams (TIOCSTI)", "type_into_streams", recorded("ioctl", "HIGH"), {
    core: true,
  }),
  terminal.attack("typing with upper bits set", "type_with_upper_bits", recorded("ioctl", "HIGH")),
  terminal.attack("pasting on a console (TIOCLINUX)", "paste_selection", recorded("ioctl", "HIGH")),
  terminal.attack(
    "a controlling terminal",
    "controlling_terminal",
    refused("ENXIO", "ENOENT", "ENOTTY", "EPERM", "EIO", "EACCES"),
  ),
  terminal.attack("consoles", "consoles", refused("ENOENT", "EACCES", "EPERM", "ENXIO", "EIO")),
  terminal.attack("terminals of the host", "terminals_of_the_host", refused("ENOENT", "EACCES", "EIO")),
  terminal.attack("typing into a terminal of its own", "type_into_own_terminal", recorded("ioctl", "HIGH")),
];

const survivors = familyOf("survivors");

export const SURVIVORS: Attempt[] = [
  survivors.attack("a daemon that outlives the command", "leave_daemon", CONTAINED, { core: true }),
  survivors.attack("ten daemons", "leave_many_daemons", CONTAINED),
  survivors.attack("a daemon that holds the streams", "leave_daemon_with_streams", CONTAINED),
  survivors.attack("ignoring every signal", "ignore_all_signals", TIMEOUT, {
    core: true,
    limits: { wallMs: 700 },
  }),
  survivors.attack("daemons that ignore every signal", "ignore_all_signals_in_daemons", TIMEOUT, {
    limits: { wallMs: 700 },
  }),
  survivors.attack("stopping itself", "stop_ourselves", TIMEOUT, { limits: { wallMs: 700 } }),
  survivors.attack("hanging where it cannot be interrupted", "hang_in_vfork", TIMEOUT, {
    limits: { wallMs: 700 },
  }),
  survivors.attack("adopting its orphans", "adopt_orphans", TIMEOUT, { limits: { wallMs: 700 } }),
  survivors.attack("closing its streams and staying", "close_streams_and_stay", TIMEOUT, {
    limits: { wallMs: 700 },
  }),
  survivors.attack("forking away from who kills it", "fork_while_dying", [CONTAINED, exited(0), TIMEOUT], {
    limits: { wallMs: 700 },
  }),
  survivors.script(
    "nohup and background jobs",
    'trap "" TERM HUP INT; nohup sleep 60 >/dev/null 2>&1 & setsid sleep 60 & echo "CONTAINED jobs"',
    CONTAINED,
  ),
];
