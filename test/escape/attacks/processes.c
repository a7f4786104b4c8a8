/* Reaching other processes: the sandbox's init and the host's. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sched.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

static pid_t pausing_child(void) {
  pid_t child = fork();
  if (child < 0) broken("fork");
  while (child == 0) pause();
  return child;
}

ATTACK(trace_init) { must_fail("ptrace", ptrace(PTRACE_ATTACH, 1, NULL, NULL)); }

ATTACK(seize_init) { must_fail("ptrace", ptrace(PTRACE_SEIZE, 1, NULL, NULL)); }

ATTACK(trace_host) { must_fail("ptrace", ptrace(PTRACE_ATTACH, (pid_t)given_number("X_PID"), NULL, NULL)); }

ATTACK(trace_child) { must_fail("ptrace", ptrace(PTRACE_ATTACH, pausing_child(), NULL, NULL)); }

ATTACK(trace_me) { must_fail("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL)); }

static long copy_memory(long number, pid_t pid) {
  char bytes[64];
  struct iovec mine = {.iov_base = bytes, .iov_len = sizeof bytes}, theirs = {.iov_base = (void *)0x400000, .iov_len = 64};
  return syscall(number, pid, &mine, 1UL, &theirs, 1UL, 0UL);
}

ATTACK(read_memory_of_init) { must_fail("process_vm_readv", copy_memory(SYS_process_vm_readv, 1)); }

ATTACK(write_memory_of_init) { must_fail("process_vm_writev", copy_memory(SYS_process_vm_writev, 1)); }

ATTACK(read_memory_of_host) {
  must_fail("process_vm_readv", copy_memory(SYS_process_vm_readv, (pid_t)given_number("X_NODE")));
}

static void try_memory_of(long pid) {
  static const char *const FILES[] = {"mem", "environ", "auxv", "maps", "stack", "syscall"};
  char path[64];
  if (pid == getpid()) return;
  for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, FILES[i]);
    int fd = open(path, (i == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) {
      refused(path);
      continue;
    }
    char byte;
    /* Its content could not be read even so; only bytes count. */
    if (pread(fd, &byte, 1, 0x400000 * (i == 0)) == 1) escaped("%s can be read", path);
    refused_by(path, "NOTHING");
    close(fd);
  }
}

ATTACK(memory_files_of_others) { each_pid(try_memory_of); }

ATTACK(memory_files_of_host) {
  try_memory_of(given_number("X_PID"));
  try_memory_of(given_number("X_NODE"));
}

ATTACK(take_descriptor_of_init) {
  int handle = (int)syscall(SYS_pidfd_open, 1, 0);
  if (handle < 0) {
    refused("pidfd_open");
    return;
  }
  for (int fd = 0; fd < 16; fd++) must_fail("pidfd_getfd", syscall(SYS_pidfd_getfd, handle, fd, 0));
}

ATTACK(handles_of_host) {
  const char *pids[] = {given("X_PID"), given("X_NODE")};
  for (size_t i = 0; i < 2; i++) {
    must_fail("pidfd_open", syscall(SYS_pidfd_open, atoi(pids[i]), 0));
    int folder = open(joined("/proc/", pids[i]), O_DIRECTORY | O_CLOEXEC);
    must_fail("open /proc of it", folder);
  }
}

ATTACK(advise_memory_of_init) {
  struct iovec theirs = {.iov_base = (void *)0x400000, .iov_len = 4096};
  int handle = (int)syscall(SYS_pidfd_open, 1, 0);
  if (handle < 0) broken("pidfd_open");
  must_fail("process_madvise", syscall(SYS_process_madvise, handle, &theirs, 1UL, 21 /* PAGEOUT */, 0));
}

ATTACK(compare_with_init) { must_fail("kcmp", syscall(SYS_kcmp, getpid(), 1, 0, 0, 0)); }

/* ---- signals */

static void guard_host(void) {
  if (kill((pid_t)given_number("X_PID"), 0) == 0) escaped("a host process can be signalled");
}

ATTACK(signal_host_processes) {
  static const char *const PIDS[] = {"X_PID", "X_NODE", "X_PARENT"};
  static const int SIGNALS[] = {SIGKILL, SIGSTOP, SIGTERM};
  for (size_t i = 0; i < 3; i++) {
    for (size_t j = 0; j < 3; j++) must_fail("kill", kill((pid_t)given_number(PIDS[i]), SIGNALS[j]));
    pid_t pid = (pid_t)given_number(PIDS[i]);
    must_fail("tgkill", syscall(SYS_tgkill, pid, pid, SIGKILL));
    must_fail("group", kill(-pid, SIGKILL));
  }
}

ATTACK(signal_everybody) {
  guard_host();
  signal(SIGTERM, SIG_IGN);
  /* Reaches all inside but us and init; the host's canary shows whether it went further. */
  if (kill(-1, SIGTERM) != 0) refused("kill");
  contained("only what is inside was signalled");
}

ATTACK(signal_every_number) {
  guard_host();
  long reached = 0;
  for (pid_t pid = 2; pid < 70000; pid++) {
    if (pid != getpid() && kill(pid, SIGKILL) == 0) reached++;
  }
  if (reached > 8) escaped("%ld processes were killed", reached);
  contained("%ld processes were there", reached);
}

ATTACK(kill_init) {
  static const int SIGNALS[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGABRT, SIGUSR1, SIGALRM};
  for (size_t i = 0; i < sizeof SIGNALS / sizeof SIGNALS[0]; i++) kill(1, SIGNALS[i]);
  sleep_ms(200);
  /* Still here: the kernel drops what a namespace's first process does not ask for. */
  contained("init lives on");
}

ATTACK(terminate_through_init) {
  /* Init passes it on to the command, which is us. */
  kill(1, SIGTERM);
  sleep_ms(2000);
  escaped("the signal was lost");
}

ATTACK(limit_init) {
  /* The same user may do this; it must not loosen anything nor change how the run ends. */
  struct rlimit none = {0, 0};
  if (syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &none, NULL) != 0) refused("prlimit");
  if (syscall(SYS_prlimit64, 1, RLIMIT_AS, &none, NULL) != 0) refused("prlimit");
  contained("still running");
}

ATTACK(limit_host_processes) {
  struct rlimit none = {0, 0};
  must_fail("prlimit", syscall(SYS_prlimit64, (pid_t)given_number("X_PID"), RLIMIT_NOFILE, &none, NULL));
  must_fail("prlimit", syscall(SYS_prlimit64, (pid_t)given_number("X_NODE"), RLIMIT_NOFILE, &none, NULL));
  must_fail("setpriority", setpriority(PRIO_PROCESS, (id_t)given_number("X_PID"), 19));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  must_fail("sched_setaffinity", sched_setaffinity((pid_t)given_number("X_PID"), sizeof one, &one));
}

ATTACK(signals_by_input) {
  int ends[2];
  if (pipe(ends) != 0) broken("pipe");
  must_fail("F_SETOWN", fcntl(ends[0], F_SETOWN, (pid_t)given_number("X_PID")));
  must_fail("F_SETOWN", fcntl(ends[0], F_SETOWN, (pid_t)given_number("X_NODE")));
}

ATTACK(raise_priority) {
  struct sched_param real_time = {.sched_priority = 50};
  must_fail("setpriority", setpriority(PRIO_PROCESS, 0, -20));
  must_fail("sched_setscheduler", sched_setscheduler(0, SCHED_FIFO, &real_time));
}
