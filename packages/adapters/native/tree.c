#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static const size_t MOST_PROCESSES = 1 << 16;

/* Fields of /proc/PID/stat are counted from the state on: the name before it may hold anything, `)` included. */
static bool parse_stat(char *text, struct process *process) {
  char *rest = strrchr(text, ')');
  if (rest == NULL || rest[1] != ' ') return false;
  uint64_t fields[20] = {0};
  bool ended = rest[2] == 'Z' || rest[2] == 'X';
  rest += 3;
  for (size_t i = 0; i < 19; i++) {
    char *end;
    fields[i] = strtoull(rest, &end, 10);
    if (end == rest) return false;
    rest = end;
  }
  process->parent = (pid_t)fields[0];
  process->user_ticks = fields[10];
  process->system_ticks = fields[11];
  process->waited_user_ticks = fields[12];
  process->waited_system_ticks = fields[13];
  process->threads = fields[16];
  process->start = fields[18];
  /* The first thread can end before the others do. */
  process->zombie = ended && process->threads <= 1;
  return true;
}

bool read_process(pid_t pid, struct process *process) {
  char path[64], text[2048];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  if (read_small_file(path, text, sizeof text) <= 0) return false;
  process->pid = pid;
  return parse_stat(text, process);
}

static bool add(struct tree *tree, const struct process *process) {
  if (tree->count >= (tree->most == 0 ? MOST_PROCESSES : tree->most)) {
    tree->cut = true;
    return false;
  }
  if (tree->count == tree->room) {
    size_t room = tree->room == 0 ? 64 : tree->room * 2;
    struct process *items = realloc(tree->items, room * sizeof *items);
    if (items == NULL) {
      tree->cut = true;
      return false;
    }
    tree->items = items;
    tree->room = room;
  }
  tree->items[tree->count++] = *process;
  return true;
}

static void send_signal(int handle, pid_t pid, int number) {
  if (handle >= 0) {
    syscall(SYS_pidfd_send_signal, handle, number, NULL, 0);
  } else {
    kill(pid, number);
  }
}

void signal_seen(const struct process *seen, int number) {
  struct process now;
  int handle = (int)syscall(SYS_pidfd_open, seen->pid, 0);
  if (handle < 0 && errno != ENOSYS) return;
  if (read_process(seen->pid, &now) && now.start == seen->start) send_signal(handle, seen->pid, number);
  if (handle >= 0) close(handle);
}

/* Takes a pid into the tree, unless it is no child of that parent any more: numbers are used again. */
static void add_child(struct tree *tree, pid_t parent, pid_t pid) {
  struct process process;
  int handle = tree->signal == 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
  bool gone = tree->signal != 0 && handle < 0 && errno != ENOSYS;
  if (!gone && read_process(pid, &process) && process.parent == parent) {
    if (tree->signal != 0) send_signal(handle, pid, tree->signal);
    add(tree, &process);
  }
  if (handle >= 0) close(handle);
}

static bool add_listed(struct tree *tree, pid_t parent, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[4096];
  int64_t pid = 0;
  for (;;) {
    ssize_t got = read(fd, text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; i++) {
      if (text[i] >= '0' && text[i] <= '9') {
        pid = (pid * 10 + (text[i] - '0')) & INT32_MAX;
      } else if (pid > 0) {
        add_child(tree, parent, (pid_t)pid);
        pid = 0;
      }
    }
  }
  close(fd);
  return true;
}

static bool is_number(const char *name) { return name[0] >= '0' && name[0] <= '9'; }

static bool add_children(struct tree *tree, pid_t parent, uint64_t threads) {
  char path[320];
  if (threads <= 1) {
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    return add_listed(tree, parent, path);
  }
  snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
  DIR *tasks = opendir(path);
  if (tasks == NULL) return false;
  for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    if (!is_number(task->d_name)) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)parent, task->d_name);
    add_listed(tree, parent, path);
  }
  closedir(tasks);
  return true;
}

static bool holds(const struct tree *tree, pid_t pid) {
  for (size_t i = 0; i < tree->count; i++) {
    if (tree->items[i].pid == pid) return true;
  }
  return false;
}

/* For kernels built without the children files: look at all processes until a round finds nothing new. */
static bool collect_by_parents(struct tree *tree) {
  pid_t self = getpid();
  for (size_t before = SIZE_MAX; before != tree->count && !tree->cut;) {
    before = tree->count;
    DIR *all = opendir("/proc");
    if (all == NULL) return false;
    for (struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
      struct process process;
      if (!is_number(entry->d_name) || !read_process((pid_t)atoi(entry->d_name), &process)) continue;
      if (process.parent != self && !holds(tree, process.parent)) continue;
      if (holds(tree, process.pid) || !add(tree, &process)) continue;
      if (tree->signal != 0) signal_seen(&process, tree->signal);
    }
    closedir(all);
  }
  return true;
}

bool tree_collect(struct tree *tree) {
  tree->count = 0;
  tree->cut = false;
  if (!add_children(tree, getpid(), 1)) return collect_by_parents(tree);
  for (size_t i = 0; i < tree->count && !tree->cut; i++) {
    /* A copy: the array may move while it grows. */
    struct process parent = tree->items[i];
    if (!parent.zombie) add_children(tree, parent.pid, parent.threads);
  }
  return true;
}

void tree_free(struct tree *tree) {
  free(tree->items);
  memset(tree, 0, sizeof *tree);
}

static bool has_memory(const char *folder) {
  char path[96], text[256];
  snprintf(path, sizeof path, "%s/statm", folder);
  return read_small_file(path, text, sizeof text) > 0 && strncmp(text, "0 ", 2) != 0;
}

bool task_with_memory(const struct process *process, char *path, size_t size) {
  snprintf(path, size, "/proc/%d", (int)process->pid);
  if (process->threads <= 1 || has_memory(path)) return true;
  char folder[64];
  snprintf(folder, sizeof folder, "/proc/%d/task", (int)process->pid);
  DIR *tasks = opendir(folder);
  if (tasks == NULL) return false;
  bool found = false;
  for (struct dirent *task = readdir(tasks); task != NULL && !found; task = readdir(tasks)) {
    if (!is_number(task->d_name)) continue;
    snprintf(path, size, "%s/%.16s", folder, task->d_name);
    found = has_memory(path);
  }
  closedir(tasks);
  return found;
}

/* The pids of a process in each namespace, outermost first: the last one is its own view of itself. */
static size_t namespace_depth(const char *path, unsigned long *innermost) {
  char text[4096];
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  char *line = strstr(text, "\nNSpid:");
  if (line == NULL) return 0;
  size_t depth = 0;
  for (char *rest = line + 7; *rest == '\t' || *rest == ' ';) {
    char *end;
    unsigned long pid = strtoul(rest, &end, 10);
    if (end == rest) break;
    *innermost = pid;
    depth++;
    rest = end;
  }
  return depth;
}

bool is_namespace_init(pid_t pid) {
  char path[64];
  unsigned long innermost = 0, own = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  size_t depth = namespace_depth(path, &innermost);
  return depth > namespace_depth("/proc/self/status", &own) && innermost == 1;
}
