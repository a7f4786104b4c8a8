import type { Violation } from "@sallyport/protocol";
import type { SyscallName } from "./syscall-numbers.ts";

/** Error numbers a refused syscall is answered with, NONE as if it had worked; the same on every architecture we know. */
export const ERRNO = { NONE: 0, EPERM: 1, ENOMEM: 12, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
export type ErrnoName = keyof typeof ERRNO;

/**
 * A condition on the low 32 bits of an argument. All of them are ints to the kernel, so that the upper half must not
 * be looked at: comparing it too is how such filters were slipped past.
 */
export type ArgumentTest =
  | { argument: number; is: "anyBit"; bits: number }
  | { argument: number; is: "oneOf"; values: readonly number[] }
  | { argument: number; is: "noneOf"; values: readonly number[] };

/** What the filter does about one syscall. */
export interface SyscallRule {
  syscall: SyscallName;
  /** `notify`: refused with EPERM, seen and recorded. Otherwise refused in silence with that error. */
  action: "notify" | ErrnoName;
  severity: Violation["severity"];
  /** Left out: always. Several: all must hold. */
  when?: readonly ArgumentTest[];
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const CLONE_NEW_NAMESPACES = 0x7e02_0000;
/** PER_LINUX, PER_LINUX32, both with UNAME26, and "only ask". */
const PLAIN_PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];
const AF = { UNIX: 1, INET: 2, INET6: 10, NETLINK: 16 } as const;
const NETLINK_ROUTE = 0;
const MAP_SHARED_BIT = 0x01;
const MAP_ANONYMOUS = 0x20;
const SOL_SOCKET = 1;
/** SO_SNDBUF, SO_RCVBUF, and both with FORCE. */
const BUFFER_SIZES = [7, 8, 32, 33];
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const notify = (severity: Violation["severity"], names: readonly SyscallName[]): SyscallRule[] =>
  names.map((syscall) => ({ syscall, action: "notify", severity }));

const quiet = (action: ErrnoName, names: readonly SyscallName[]): SyscallRule[] =>
  names.map((syscall) => ({ syscall, action, severity: "LOW" }));

/** Nobody calls these by accident: the first attempt ends the sandbox. */
const ATTACKS = notify("CRITICAL", [
  ...(["mount", "umount2", "pivot_root", "chroot", "unshare", "setns"] as const),
  ...(["move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick"] as const),
  ...(["mount_setattr", "ptrace", "process_vm_readv", "process_vm_writev", "open_by_handle_at"] as const),
  ...(["bpf", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"] as const),
  ...(["create_module", "iopl", "ioperm", "reboot", "swapon", "swapoff", "acct", "uselib"] as const),
]);

/** Administration that some programs try when they believe to be root; recorded, not fatal at once. */
const ADMINISTRATION = notify("HIGH", [
  ...(["settimeofday", "clock_settime", "sethostname", "setdomainname", "quotactl", "quotactl_fd"] as const),
  ...(["pidfd_getfd", "vhangup"] as const),
]);

/** Seldom called, and then a program does without: recorded, and fatal only when it goes on and on. */
const PROBED = notify("MEDIUM", [
  ...(["perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "syslog"] as const),
]);

/** Every event loop of libuv tries it, so that Node alone would fill the record: refused as if it did not exist. */
const IO_URING = quiet("ENOSYS", ["io_uring_setup", "io_uring_enter", "io_uring_register"]);

const ARGUMENTS: SyscallRule[] = [
  // Browsers and other sandboxes try a namespace of their own and fall back: recorded, not fatal at once.
  {
    syscall: "clone",
    action: "notify",
    severity: "HIGH",
    when: [{ argument: 0, is: "anyBit", bits: CLONE_NEW_NAMESPACES }],
  },
  {
    syscall: "ioctl",
    action: "notify",
    severity: "HIGH",
    when: [{ argument: 1, is: "oneOf", values: [TIOCSTI, TIOCLINUX] }],
  },
  {
    syscall: "personality",
    action: "EPERM",
    severity: "LOW",
    when: [{ argument: 0, is: "noneOf", values: PLAIN_PERSONALITIES }],
  },
  // Other families lead to the machine under us (vsock, packet, bluetooth) or are rich in holes (alg, can, tipc).
  {
    syscall: "socket",
    action: "EAFNOSUPPORT",
    severity: "LOW",
    when: [{ argument: 0, is: "noneOf", values: Object.values(AF) }],
  },
  // Resolvers and getifaddrs need the routing family; audit, netfilter and the like are nobody's business here.
  {
    syscall: "socket",
    action: "EAFNOSUPPORT",
    severity: "LOW",
    when: [
      { argument: 0, is: "oneOf", values: [AF.NETLINK] },
      { argument: 2, is: "noneOf", values: [NETLINK_ROUTE] },
    ],
  },
  {
    syscall: "socketpair",
    action: "EAFNOSUPPORT",
    severity: "LOW",
    when: [{ argument: 0, is: "noneOf", values: [AF.UNIX] }],
  },
];

/**
 * Everything LEVEL_2 refuses, RFC-0002's list included. Not here on purpose: name_to_handle_at, which ordinary
 * libraries call and which is of no use without open_by_handle_at.
 */
export const SYSCALL_RULES: readonly SyscallRule[] = [
  ...ATTACKS,
  ...ADMINISTRATION,
  ...PROBED,
  ...IO_URING,
  ...ARGUMENTS,
  // Memory that belongs to nobody: where no cgroup counts it, nothing would.
  ...quiet("ENOSYS", ["shmget", "msgget"]),
  // libc falls back from clone3 to clone, whose flags can be looked at.
  ...quiet("ENOSYS", ["clone3", "lookup_dcookie", "nfsservctl"]),
  ...quiet("EPERM", ["adjtimex", "clock_adjtime", "fanotify_init", "kcmp"]),
];

/**
 * Refused as well where no cgroup counts memory: shared memory stays when a process lets go of its pages, and a memory
 * file under way in a socket is in no process. Files in /dev/shm and /tmp remain, which have a size.
 */
export const UNCOUNTED_MEMORY_RULES: readonly SyscallRule[] = [
  ...quiet("ENOSYS", ["memfd_create", "memfd_secret"]),
  // A hint, which the kernel itself takes as far as it likes. The watch counts sockets as full ones of the usual size.
  {
    syscall: "setsockopt",
    action: "NONE",
    severity: "LOW",
    when: [
      { argument: 1, is: "oneOf", values: [SOL_SOCKET] },
      { argument: 2, is: "oneOf", values: BUFFER_SIZES },
    ],
  },
  {
    syscall: "mmap",
    action: "ENOMEM",
    severity: "LOW",
    when: [
      { argument: 3, is: "anyBit", bits: MAP_ANONYMOUS },
      { argument: 3, is: "anyBit", bits: MAP_SHARED_BIT },
    ],
  },
];

/** How bad an attempt at that syscall is; HIGH for one that no rule knows, which then was not ours to notify. */
export function syscallSeverity(name: SyscallName | undefined): Violation["severity"] {
  const rule = SYSCALL_RULES.find((one) => one.syscall === name && one.action === "notify");
  return rule?.severity ?? "HIGH";
}

/** Syscalls whose first attempt ends the sandbox. */
export function fatalSyscalls(): SyscallName[] {
  return SYSCALL_RULES.filter((rule) => rule.severity === "CRITICAL").map((rule) => rule.syscall);
}
