#include "launcher.h"

#include <errno.h>
#include <signal.h>
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
static const int64_t GIVE_UP_MS = 10000;

/*
 * Kills exactly the process that was seen: the descriptor pins whoever has the number now, and the start time tells
 * whether that is still the same one. A number used again by a stranger is left alone.
 */
static void kill_seen(const struct process *seen) {
  struct process now;
  int handle = (int)syscall(SYS_pidfd_open, seen->pid, 0);
  if (handle < 0 && errno != ENOSYS) return;
  if (read_process(seen->pid, &now) && now.start == seen->start) {
    if (handle >= 0) {
      syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0);
    } else {
      kill(seen->pid, SIGKILL);
    }
  }
  if (handle >= 0) close(handle);
}

bool reap_ended(pid_t backend, int *backend_status, bool *backend_reaped) {
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;
    if (pid == 0) return true;
    if (pid == backend) {
      *backend_status = status;
      *backend_reaped = true;
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
    kill_seen(&tree->items[i]);
    any = true;
  }
  return any;
}

/* A runtime that sees its container die takes its own leavings away; give it the time. */
void await_backend(pid_t backend, int *backend_status, bool *backend_reaped) {
  int64_t end = now_ms() + GRACE_MS;
  while (reap_ended(backend, backend_status, backend_reaped) && !*backend_reaped && now_ms() < end) wait_for_child(20);
}

size_t kill_everything(pid_t backend, int *backend_status, bool *backend_reaped) {
  struct tree tree = {0};
  int64_t end = now_ms() + GIVE_UP_MS;
  if (reap_ended(backend, backend_status, backend_reaped) && kill_namespaces(&tree)) {
    await_backend(backend, backend_status, backend_reaped);
  }
  while (reap_ended(backend, backend_status, backend_reaped) && now_ms() < end) {
    tree_collect(&tree);
    for (size_t i = 0; i < tree.count; i++) kill_seen(&tree.items[i]);
    wait_for_child(tree.count > 256 ? 0 : 2);
  }
  bool any = reap_ended(backend, backend_status, backend_reaped);
  if (any) tree_collect(&tree);
  size_t left = any ? tree.count : 0;
  tree_free(&tree);
  return left;
}
