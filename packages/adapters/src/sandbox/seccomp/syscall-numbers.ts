/** The architectures the filter knows, as Node names them. */
export type FilterArch = "x64" | "arm64";

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
export const AUDIT_ARCH: Record<FilterArch, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** [x86_64, aarch64] by name; -1 where the architecture has no such syscall. From 424 on they are the same. */
const NUMBERS = {
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: [435, 435],
  create_module: [174, -1],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioctl: [16, 29],
  ioperm: [173, -1],
  iopl: [172, -1],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  mmap: [9, 222],
  msgget: [68, 186],
  shmget: [29, 194],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  perf_event_open: [298, 241],
  personality: [135, 92],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  setsockopt: [54, 208],
  settimeofday: [164, 170],
  socket: [41, 198],
  socketpair: [53, 199],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  uselib: [134, -1],
  vhangup: [153, 58],
} as const satisfies Record<string, readonly [number, number]>;

export type SyscallName = keyof typeof NUMBERS;

const NAMES = Object.keys(NUMBERS) as SyscallName[];

/** The syscall's number, or undefined where the architecture does not have it. */
export function syscallNumber(name: SyscallName, arch: FilterArch): number | undefined {
  const number = NUMBERS[name][arch === "x64" ? 0 : 1];
  return number === -1 ? undefined : number;
}

/** The name the filter's rules use for a number; undefined for a syscall no rule is about. */
export function syscallName(number: number, arch: FilterArch): SyscallName | undefined {
  return NAMES.find((name) => syscallNumber(name, arch) === number);
}

/** Tells whether the filter can be made for an architecture as Node names it. */
export function isFilterArch(arch: string): arch is FilterArch {
  return arch in AUDIT_ARCH;
}
