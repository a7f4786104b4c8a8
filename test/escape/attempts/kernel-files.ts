import { type Attempt, familyOf, refused } from "../attempt.ts";

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
    { workspace: "overlay" },
  ),
  kernel.attack("user and group maps", "write_user_maps", refused("EPERM", "EACCES", "EROFS", "EINVAL"), {
    core: true,
  }),
];
