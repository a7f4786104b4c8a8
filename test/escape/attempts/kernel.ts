import { type Attempt, ends, exited, familyOf, limit, recorded, refused, signalled } from "../attempt.ts";

const keyring = familyOf("keyring");

export const KEYRING: Attempt[] = [
  keyring.attack("adding a key", "add_key", recorded("add_key", "MEDIUM"), { core: true }),
  keyring.attack("asking for a key", "request_key", recorded("request_key", "MEDIUM")),
  keyring.attack("the session's keyring", "session_keyring", recorded("keyctl", "MEDIUM"), { bites: true }),
  keyring.attack("a persistent keyring", "persistent_keyring", recorded("keyctl", "MEDIUM")),
];

const calls = familyOf("kernel calls");
/** As on a kernel without it: runtimes ask for it and do without. */
const NO_RING = refused("ENOSYS", "EPERM");

export const KERNEL_CALLS: Attempt[] = [
  calls.attack("io_uring_setup", "io_uring_setup", NO_RING, {
    core: true,
    bites: true,
  }),
  calls.attack("io_uring_enter", "io_uring_enter", NO_RING),
  calls.attack("io_uring_register", "io_uring_register", NO_RING),
  calls.attack("bpf maps", "bpf_map", ends("bpf"), { core: true }),
  calls.attack("bpf programs", "bpf_program", ends("bpf")),
  calls.attack("perf events", "perf_event", recorded("perf_event_open", "MEDIUM")),
  calls.attack("page faults in user space", "user_faults", recorded("userfaultfd", "MEDIUM")),
  calls.attack("another kernel (kexec_load)", "kexec_load", ends("kexec_load")),
  calls.attack("another kernel (kexec_file_load)", "kexec_file_load", ends("kexec_file_load")),
  calls.attack("loading a module", "init_module", ends("init_module")),
  calls.attack("loading a module from a file", "finit_module", ends("finit_module")),
  calls.attack("removing a module", "delete_module", ends("delete_module")),
  calls.attack("files by handle (shocker)", "handle_of_root", ends("open_by_handle_at"), { core: true }),
  calls.attack("the disk's root by handle", "handle_of_inode_two", ends("open_by_handle_at")),
  calls.attack("odd personalities", "odd_personality", refused("EPERM"), { bites: true }),
  calls.attack("quotas", "quota", recorded("quotactl", "HIGH")),
  calls.attack("process accounting", "accounting", ends("acct")),
  calls.attack("swapping on", "swap_on", ends("swapon")),
  calls.attack("swapping off", "swap_off", ends("swapoff")),
  calls.attack("rebooting", "reboot", ends("reboot")),
  calls.attack("the time of day", "set_time_of_day", recorded("settimeofday", "HIGH")),
  calls.attack("the clock", "set_clock", recorded("clock_settime", "HIGH")),
  calls.attack("the clock's pace", "adjust_clock", refused("EPERM")),
  calls.attack("the host's name", "set_host_name", recorded("sethostname", "HIGH")),
  calls.attack("the domain's name", "set_domain_name", recorded("setdomainname", "HIGH")),
  calls.attack("watching whole file systems", "watch_whole_file_systems", refused("EPERM")),
  calls.attack("the kernel's log", "kernel_log", recorded("syslog", "MEDIUM")),
  calls.attack("hanging up the terminal", "hang_up", recorded("vhangup", "HIGH")),
  calls.attack("pages of host processes", "pages_of_host", refused("ESRCH", "EPERM", "ENOSYS")),
  calls.attack("the privilege level for ports", "port_level", ends("iopl")),
  calls.attack("permission for ports", "port_permission", ends("ioperm")),
];

const filter = familyOf("filter");

export const FILTER: Attempt[] = [
  filter.attack("the same calls by the x32 ABI", "x32_mount", refused("ENOSYS"), { core: true }),
  filter.attack("unshare by the i386 ABI", "i386_unshare", signalled("SIGSYS"), { core: true }),
  filter.attack("ptrace by the i386 ABI", "i386_ptrace", signalled("SIGSYS")),
  filter.attack("chroot by the i386 ABI", "i386_chroot", signalled("SIGSYS")),
  filter.attack("switching the filter off", "switch_filter_off", refused("EINVAL"), { bites: true }),
  filter.attack("a filter that allows everything", "allow_everything", ends("unshare"), { core: true }),
  filter.attack(
    "a filter that allows everything, in all threads",
    "allow_everything_in_all_threads",
    ends("unshare"),
  ),
  filter.attack("a listener of its own", "listen_ourselves", refused("EBUSY")),
  filter.attack("a filter that shadows the listener", "shadow_the_listener", [
    ends("unshare"),
    refused("ENOSYS"),
  ]),
  filter.attack("an attack from a thread", "attack_from_a_thread", ends("unshare")),
  filter.attack("sacrificing a child", "sacrifice_a_child", ends("unshare"), { core: true, bites: true }),
  filter.attack(
    "small offences again and again",
    "repeat_small_offences",
    { kind: "violation", syscall: "sethostname", severity: "HIGH", ends: true },
    { core: true },
  ),
  filter.attack("ending at once after an attack", "exit_while_attacking", [ends("unshare"), exited(0)]),
];

const devices = familyOf("devices");
const CLOSED = refused("ENOENT", "EACCES", "EPERM", "ENXIO", "ENODEV", "EROFS");

export const DEVICES: Attempt[] = [
  devices.script(
    "making device nodes",
    'mknod "$X_WS/mem" c 1 1 && echo ESCAPED; mknod "$X_WS/disk" b 254 0 && echo ESCAPED; mknod /tmp/kmsg c 1 11 && echo ESCAPED; mknod /dev/shm/kvm c 10 232 && echo ESCAPED; echo "REFUSED mknod EPERM"',
    CLOSED,
    { core: true },
  ),
  devices.script(
    "making device nodes in a mounted folder",
    'mknod "$X_WS/mem" c 1 1 && echo ESCAPED; mknod "$X_WS/disk" b 254 0 && echo ESCAPED; echo "REFUSED mknod EPERM"',
    CLOSED,
    { workspace: "overlay" },
  ),
  devices.attack(
    "memory and ports",
    ["open_devices", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/nvram", "/dev/cpu/0/msr"],
    CLOSED,
    { core: true },
  ),
  devices.attack(
    "disks",
    ["open_devices", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/dm-0", "/dev/md0", "/dev/sr0"],
    CLOSED,
  ),
  devices.attack(
    "loop devices",
    ["open_devices", "/dev/loop-control", "/dev/loop0", "/dev/nbd0", "/dev/btrfs-control"],
    CLOSED,
  ),
  devices.attack(
    "virtual machines",
    ["open_devices", "/dev/kvm", "/dev/vhost-vsock", "/dev/vhost-net", "/dev/vsock", "/dev/vfio/vfio"],
    CLOSED,
  ),
  devices.attack(
    "networks and file systems",
    ["open_devices", "/dev/net/tun", "/dev/fuse", "/dev/autofs", "/dev/ppp"],
    CLOSED,
  ),
  devices.attack(
    "keyboards, screens, sound",
    [
      "open_devices",
      "/dev/input/event0",
      "/dev/uinput",
      "/dev/dri/card0",
      "/dev/fb0",
      "/dev/snd/controlC0",
      "/dev/video0",
    ],
    CLOSED,
  ),
  devices.attack(
    "clocks, watchdogs, logs",
    [
      "open_devices",
      "/dev/rtc0",
      "/dev/ptp0",
      "/dev/watchdog",
      "/dev/hpet",
      "/dev/kmsg",
      "/dev/cpu_dma_latency",
    ],
    CLOSED,
  ),
  devices.attack(
    "device nodes that the host has put in a mounted folder",
    ["open_devices", "{devices}/mem", "{devices}/disk", "{devices}/kmsg", "{devices}/zero"],
    CLOSED,
    { extra: "devices", core: true },
  ),
];

const launcher = familyOf("launcher");

export const LAUNCHER: Attempt[] = [
  launcher.attack(
    "overwriting the launcher (CVE-2019-5736)",
    "overwrite_launcher",
    refused("EROFS", "EACCES", "EPERM", "ETXTBSY", "ENOENT", "EBUSY"),
    { core: true },
  ),
  launcher.attack("speaking for init on any descriptor", "speak_for_init", exited(7), { core: true }),
  launcher.attack("forging the report", "forge_report", exited(7), { core: true }),
  launcher.attack("forging the report by a process's name", "forge_report_by_name", ends("unshare")),
  launcher.attack("an exit code that looks like a kill", "exit_like_killed", exited(137)),
  launcher.attack("killing itself", "kill_ourselves", signalled("SIGKILL")),
  launcher.attack("a supervisor of its own", "supervise_ourselves", [
    refused("EPERM", "ENOENT"),
    ends("mount"),
    ends("unshare"),
    ends("setns"),
    ends("open_tree"),
    exited(0),
    exited(64),
    exited(70),
  ]),
  launcher.attack(
    "an init without a filter",
    ["init_without_filter", "{programs}/attack"],
    [refused("EINVAL"), exited(126), limit("openFiles")],
  ),
];
