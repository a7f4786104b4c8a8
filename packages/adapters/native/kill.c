#include "launcher.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int64_t GRACE_MS = 1000;
static const int64_t GIVE_UP_MS = 120000;
static const int64_t STUCK_MS = 10000;
static const int64_t ROUND_MS = 200;

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
 * stopped first, each before its children are looked for: what is stopped cannot fork. Again, until no new one turns up.
 */
static void stop_all(struct tree *tree, int64_t end) {
  struct inodes stopped = {0};
  tree->signal = SIGSTOP;
  for (bool any = true; any && now_ms() < end;) {
    any = false;
    tree_collect(tree);
    for (size_t i = 0; i < tree->count; i++) {
      if (inodes_add(&stopped, tree->items[i].start, (uint64_t)tree->items[i].pid)) any = true;
    }
  }
  tree->signal = 0;
  inodes_free(&stopped);
}

/* True when there was one that had not been killed before. */
static bool kill_all(const struct tree *tree, struct inodes *killed) {
  bool any = false;
  for (size_t i = 0; i < tree->count; i++) {
    signal_seen(&tree->items[i], SIGKILL);
    if (inodes_add(killed, tree->items[i].start, (uint64_t)tree->items[i].pid)) any = true;
  }
  return any;
}

/* Goes on as long as it gets anywhere; processes that the kernel holds do not die, whatever we do. */
static void kill_in_rounds(struct reaper *reaper, struct tree *tree) {
  struct inodes killed = {0};
  int64_t end = now_ms() + GIVE_UP_MS, stuck_at = now_ms() + STUCK_MS;
  while (reap_ended(reaper) && now_ms() < end && now_ms() < stuck_at) {
    stop_all(tree, end);
    if (kill_all(tree, &killed)) stuck_at = now_ms() + STUCK_MS;
    int64_t round_end = now_ms() + ROUND_MS;
    while (reap_ended(reaper) && now_ms() < round_end) wait_for_child(5);
  }
  inodes_free(&killed);
}

size_t kill_everything(struct reaper *reaper) {
  struct tree tree = {0};
  if (!reap_ended(reaper)) return 0;
  hurry();
  /* A runtime that sees its container die takes its own leavings away; give it the time. */
  if (kill_namespaces(&tree)) await_main(reaper);
  kill_in_rounds(reaper, &tree);
  bool any = reap_ended(reaper);
  if (any) tree_collect(&tree);
  size_t left = any ? tree.count : 0;
  tree_free(&tree);
  return left;
}
