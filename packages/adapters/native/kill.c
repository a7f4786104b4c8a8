#include "launcher.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static const int64_t GRACE_MS = 1000;
static const int64_t GIVE_UP_MS = 30000;
static const int64_t ROUND_MS = 200;

/*
 * Signals exactly the process that was seen: the descriptor pins whoever has the number now, and the start time tells
 * whether that is still the same one. A number used again by a stranger is left alone.
 */
static void signal_seen(const struct process *seen, int number) {
  struct process now;
  int handle = (int)syscall(SYS_pidfd_open, seen->pid, 0);
  if (handle < 0 && errno != ENOSYS) return;
  if (read_process(seen->pid, &now) && now.start == seen->start) {
    if (handle >= 0) {
      syscall(SYS_pidfd_send_signal, handle, number, NULL, 0);
    } else {
      kill(seen->pid, number);
    }
  }
  if (handle >= 0) close(handle);
}

static uint64_t microseconds(struct timeval time) { return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec; }

bool reap_ended(struct reaper *reaper) {
  for (;;) {
    int status;
    struct rusage used;
    pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &used);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;
    if (pid == 0) return true;
    if (pid == reaper->main) {
      reaper->status = status;
      reaper->ended = true;
    }
    if (pid == reaper->helper) {
      reaper->helper = 0;
      reaper->helper_usage.user_us += microseconds(used.ru_utime);
      reaper->helper_usage.system_us += microseconds(used.ru_stime);
    }
  }
}

static void wait_for_child(int64_t most_ms) {
  sigset_t children;
  struct timespec wait = {.tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000};
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigtimedwait(&children, NULL, &wait);
}

/* The kernel ends a whole pid namespace with its first process: nothing in it can fork itself free. */
static bool kill_namespaces(struct tree *tree) {
  bool any = false;
  tree_collect(tree);
  for (size_t i = 0; i < tree->count; i++) {
    if (!is_namespace_init(tree->items[i].pid)) continue;
    signal_seen(&tree->items[i], SIGKILL);
    any = true;
  }
  return any;
}

void await_main(struct reaper *reaper) {
  int64_t end = now_ms() + GRACE_MS;
  while (reap_ended(reaper) && !reaper->ended && now_ms() < end) wait_for_child(20);
}

/* Among a thousand busy processes our turn would come too late. Without the right to it we take our turn. */
static void hurry(void) {
  struct sched_param first = {.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first) == 0) return;
  if (setpriority(PRIO_PROCESS, 0, -20) != 0) return;
}

/*
 * Killed one by one, a tree that forks all the time makes new processes in the room that the dead ones leave. So all are
 * stopped first, again and again until no new one turns up: what is stopped cannot fork.
 */
static void stop_all(struct tree *tree, int64_t end) {
  struct inodes stopped = {0};
  for (bool any = true; any && now_ms() < end;) {
    any = false;
    tree_collect(tree);
    for (size_t i = 0; i < tree->count; i++) {
      const struct process *process = &tree->items[i];
      if (!inodes_add(&stopped, process->start, (uint64_t)process->pid)) continue;
      signal_seen(process, SIGSTOP);
      any = true;
    }
  }
  inodes_free(&stopped);
}

size_t kill_everything(struct reaper *reaper) {
  struct tree tree = {0};
  int64_t end = now_ms() + GIVE_UP_MS;
  if (!reap_ended(reaper)) return 0;
  hurry();
  /* A runtime that sees its container die takes its own leavings away; give it the time. */
  if (kill_namespaces(&tree)) await_main(reaper);
  while (reap_ended(reaper) && now_ms() < end) {
    stop_all(&tree, end);
    for (size_t i = 0; i < tree.count; i++) signal_seen(&tree.items[i], SIGKILL);
    int64_t round_end = now_ms() + ROUND_MS;
    while (reap_ended(reaper) && now_ms() < round_end) wait_for_child(5);
  }
  bool any = reap_ended(reaper);
  if (any) tree_collect(&tree);
  size_t left = any ? tree.count : 0;
  tree_free(&tree);
  return left;
}
