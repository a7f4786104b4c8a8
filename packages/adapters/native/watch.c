#include "launcher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Measures the tree from time to time. It is the limit for those who cannot have a cgroup: what a process does between
 * two looks is seen late.
 */
struct watch {
  const struct supervise_options *options;
  bool wanted;
  struct reaper *reaper;
  pid_t init; /* 0 until it has said so */
  int64_t next_at, disk_next_at, disk_started_at;
  struct tree now, before; /* sorted by pid */
  struct unlinked unlinked; /* of `now`, once it was asked for */
  bool unlinked_known;
  uint64_t user_ticks, system_ticks; /* summed up over looks, so that children nobody waits for are not lost */
  struct disk_job disk;
  unsigned disk_failures; /* in a row */
  uint64_t free_before; /* on the disk, when nothing was out of sight */
  uint64_t pause_ms, cpu_before; /* of the last look */
};

struct watch *watch_new(const struct supervise_options *options, struct reaper *reaper) {
  struct watch *watch = calloc(1, sizeof *watch);
  if (watch == NULL) internal_error("no memory");
  watch->options = options;
  watch->reaper = reaper;
  watch->disk.result = -1;
  watch->wanted = options->watch_memory != 0 || options->watch_cpu_ms != 0 || options->watch_processes != 0 ||
                  options->watch_disk != 0;
  watch->next_at = now_ms();
  return watch;
}

void watch_free(struct watch *watch) {
  tree_free(&watch->now);
  tree_free(&watch->before);
  if (watch->disk.result >= 0) close(watch->disk.result);
  free(watch);
}

int64_t watch_wait_ms(const struct watch *watch) {
  if (!watch->wanted) return -1;
  int64_t rest = watch->next_at - now_ms();
  return rest < 0 ? 0 : rest;
}

static uint64_t to_ms(uint64_t ticks) {
  long per_second = sysconf(_SC_CLK_TCK);
  return ticks * 1000 / (uint64_t)(per_second > 0 ? per_second : 100);
}

struct usage watch_usage(const struct watch *watch) {
  return (struct usage){.user_us = to_ms(watch->user_ticks) * 1000, .system_us = to_ms(watch->system_ticks) * 1000};
}

int watch_fd(const struct watch *watch) { return watch->disk.result; }

static int by_pid(const void *a, const void *b) {
  pid_t left = ((const struct process *)a)->pid, right = ((const struct process *)b)->pid;
  return left < right ? -1 : left > right;
}

/* Our own helper is no part of what we measure. */
static void leave_out(struct tree *tree, pid_t helper) {
  for (size_t i = 0; helper != 0 && i < tree->count; i++) {
    if (tree->items[i].pid == helper) tree->items[i--] = tree->items[--tree->count];
  }
}

/* To count a fork bomb to its end would only give it time. Some are the backend's, some may be zombies. */
static size_t most_of_interest(const struct supervise_options *options) {
  return options->watch_processes == 0 ? 0 : (size_t)options->watch_processes * 4 + 64;
}

static void look(struct watch *watch) {
  struct tree old = watch->before;
  watch->before = watch->now;
  watch->now = old;
  watch->unlinked_known = false;
  watch->now.most = most_of_interest(watch->options);
  tree_collect(&watch->now);
  leave_out(&watch->now, watch->reaper->helper);
  if (watch->now.count > 1) qsort(watch->now.items, watch->now.count, sizeof *watch->now.items, by_pid);
}

static struct unlinked unlinked_now(struct watch *watch) {
  if (!watch->unlinked_known) watch->unlinked = unlinked_files(&watch->now, watch->init);
  watch->unlinked_known = true;
  return watch->unlinked;
}

/* ---- processor time */

static void add_since_before(struct watch *watch, const struct process *process) {
  const struct process *before = watch->before.count == 0 ? NULL
                                                          : bsearch(process, watch->before.items, watch->before.count,
                                                                    sizeof *process, by_pid);
  bool same = before != NULL && before->start == process->start;
  uint64_t user = same ? before->user_ticks : 0, system = same ? before->system_ticks : 0;
  if (process->user_ticks > user) watch->user_ticks += process->user_ticks - user;
  if (process->system_ticks > system) watch->system_ticks += process->system_ticks - system;
}

static uint64_t tree_cpu_ms(struct watch *watch) {
  struct rusage waited;
  uint64_t living = 0;
  for (size_t i = 0; i < watch->now.count; i++) {
    const struct process *process = &watch->now.items[i];
    add_since_before(watch, process);
    living += process->user_ticks + process->system_ticks + process->waited_user_ticks + process->waited_system_ticks;
  }
  uint64_t exact = to_ms(living), summed = to_ms(watch->user_ticks + watch->system_ticks);
  if (getrusage(RUSAGE_CHILDREN, &waited) == 0) {
    exact += (uint64_t)(waited.ru_utime.tv_sec + waited.ru_stime.tv_sec) * 1000;
    exact += (uint64_t)(waited.ru_utime.tv_usec + waited.ru_stime.tv_usec) / 1000;
    exact -= (watch->reaper->helper_usage.user_us + watch->reaper->helper_usage.system_us) / 1000;
  }
  return exact > summed ? exact : summed;
}

/* ---- memory: what cannot be dropped, so neither program text nor the page cache */

static uint64_t kilobytes(const char *status, const char *field) {
  const char *line = strstr(status, field);
  return line == NULL ? 0 : strtoull(line + strlen(field), NULL, 10) * 1024;
}

static uint64_t number_in(const char *path, const char *field, uint64_t otherwise) {
  char text[1024];
  if (read_small_file(path, text, sizeof text) <= 0) return otherwise;
  const char *found = strstr(text, field);
  return found == NULL ? otherwise : strtoull(found + strlen(field), NULL, 10);
}

/* What waits in the connections of a network namespace, both ways. */
static uint64_t queued_bytes(pid_t init, const char *name) {
  char path[64], line[512];
  unsigned sent, received;
  uint64_t all = 0;
  snprintf(path, sizeof path, "/proc/%d/net/%s", (int)init, name);
  FILE *table = fopen(path, "re");
  if (table == NULL) return 0;
  while (fgets(line, sizeof line, table) != NULL) {
    if (sscanf(line, " %*s %*s %*s %*s %x:%x", &sent, &received) == 2) all += (uint64_t)sent + received;
  }
  fclose(table);
  return all;
}

/*
 * What sockets hold is in no process. Each counts as full: one whose other end is gone still holds what it was sent, and
 * nobody tells how much. Only TCP grows its buffers by itself.
 */
static uint64_t socket_memory(pid_t init) {
  char path[64];
  uint64_t each = number_in("/proc/sys/net/core/wmem_default", "", 212992);
  snprintf(path, sizeof path, "/proc/%d/net/sockstat", (int)init);
  return number_in(path, "sockets: used ", 0) * each + queued_bytes(init, "tcp") + queued_bytes(init, "tcp6");
}

static uint64_t tree_memory(struct watch *watch) {
  struct unlinked unlinked = unlinked_now(watch);
  if (watch->options->no_shared_memory && unlinked.shared_maps > 0) return watch->options->watch_memory + 1;
  uint64_t private = 0, shared = 0, nameless = unlinked.memory_bytes;
  char folder[64], path[96], status[4096];
  for (size_t i = 0; i < watch->now.count; i++) {
    if (!task_with_memory(&watch->now.items[i], folder, sizeof folder)) continue;
    snprintf(path, sizeof path, "%s/status", folder);
    if (read_small_file(path, status, sizeof status) <= 0) continue;
    /* Page tables too: a tree can fill memory with them alone. */
    private += kilobytes(status, "\nRssAnon:") + kilobytes(status, "\nVmSwap:") + kilobytes(status, "\nVmPTE:") +
               kilobytes(status, "\nHugetlbPages:");
    shared += kilobytes(status, "\nRssShmem:");
  }
  /* Where the filter leaves buffers as they are, the sandbox has a network of its own. */
  uint64_t sockets = watch->options->no_shared_memory && watch->init > 0 ? socket_memory(watch->init) : 0;
  /* A memory file may be held without being mapped; mapped it is counted already. */
  return private + (nameless > shared ? nameless : shared) + sockets;
}

/* ---- processes: tasks below init, as the kernel's own limits count them */

bool is_below(const struct tree *tree, const struct process *process, pid_t init) {
  pid_t parent = process->parent;
  for (size_t steps = 0; steps < 1024; steps++) {
    if (parent == init) return true;
    struct process key = {.pid = parent};
    const struct process *next = bsearch(&key, tree->items, tree->count, sizeof key, by_pid);
    if (next == NULL) return false;
    parent = next->parent;
  }
  return true;
}

static uint64_t tree_tasks(const struct watch *watch, pid_t init, pid_t forwarder) {
  uint64_t tasks = 0;
  for (size_t i = 0; i < watch->now.count; i++) {
    const struct process *process = &watch->now.items[i];
    if (process->pid != forwarder && !process->zombie && is_below(&watch->now, process, init)) tasks += process->threads;
  }
  return tasks;
}

/* ---- disk: measured by a helper, then paused four times as long as that took */

static const unsigned MOST_DISK_FAILURES = 20;

static uint64_t free_bytes(const char *path) {
  struct statfs system;
  return statfs(path, &system) == 0 ? (uint64_t)system.f_bfree * (uint64_t)system.f_bsize : 0;
}

/*
 * Files that are only mapped, or under way in a socket, cannot be measured. While there are any, what the disk loses
 * counts as theirs.
 */
static uint64_t with_unlinked(struct watch *watch, uint64_t named) {
  struct unlinked unlinked = unlinked_now(watch);
  uint64_t now_free = free_bytes(watch->options->disk_paths[0]);
  if (unlinked.unseen == 0 || watch->free_before == 0) watch->free_before = now_free;
  uint64_t seen = named + unlinked.disk_bytes;
  uint64_t lost = watch->free_before > now_free ? watch->free_before - now_free : 0;
  return lost > seen ? lost : seen;
}

static bool disk_exceeded(struct watch *watch, uint64_t *value) {
  const struct supervise_options *options = watch->options;
  int64_t now = now_ms();
  if (watch->disk.result < 0) {
    if (now < watch->disk_next_at) return false;
    watch->disk_started_at = now;
    if (!disk_start(&watch->disk, options)) return ++watch->disk_failures > MOST_DISK_FAILURES;
    watch->reaper->helper = watch->disk.helper;
    return false;
  }
  enum disk_answer answer = disk_answer(&watch->disk, value);
  if (answer == DISK_PENDING) return false;
  watch->disk_next_at = now + (now - watch->disk_started_at) * 4;
  /* Without a pid namespace the command can kill the helper; it cannot get away with that for long. */
  if (answer == DISK_FAILED) return ++watch->disk_failures > MOST_DISK_FAILURES;
  watch->disk_failures = 0;
  if (*value <= options->watch_disk) *value = with_unlinked(watch, *value);
  return *value > options->watch_disk;
}

/* A tree that uses no processor time is looked at less and less often, where a cgroup holds what grows fast. */
static void set_pause(struct watch *watch, uint64_t cpu_ms) {
  const struct supervise_options *options = watch->options;
  bool idle = cpu_ms == watch->cpu_before && watch->pause_ms != 0;
  uint64_t longer = watch->pause_ms * 2 < options->watch_idle_ms ? watch->pause_ms * 2 : options->watch_idle_ms;
  watch->pause_ms = idle && longer > options->watch_ms ? longer : options->watch_ms;
  watch->cpu_before = cpu_ms;
}

static enum watch_limit measured(struct watch *watch, pid_t init, pid_t forwarder, uint64_t *value) {
  const struct supervise_options *options = watch->options;
  watch->init = init;
  look(watch);
  *value = tree_cpu_ms(watch);
  set_pause(watch, *value);
  if (watch->now.cut && options->watch_processes != 0) {
    *value = watch->now.count;
    return LIMIT_PROCESSES;
  }
  if (options->watch_cpu_ms != 0 && *value > options->watch_cpu_ms) return LIMIT_CPU;
  if (options->watch_memory != 0 && (*value = tree_memory(watch)) > options->watch_memory) return LIMIT_MEMORY;
  if (options->watch_processes == 0) return LIMIT_NONE;
  *value = tree_tasks(watch, init, forwarder);
  return *value > options->watch_processes ? LIMIT_PROCESSES : LIMIT_NONE;
}

enum watch_limit watch_tick(struct watch *watch, pid_t init, pid_t forwarder, uint64_t *value) {
  if (!watch->wanted) return LIMIT_NONE;
  bool due = now_ms() >= watch->next_at;
  if (due) {
    enum watch_limit limit = measured(watch, init, forwarder, value);
    watch->next_at = now_ms() + (int64_t)watch->pause_ms;
    if (limit != LIMIT_NONE) return limit;
  }
  if (watch->options->watch_disk == 0 || (!due && watch->disk.result < 0)) return LIMIT_NONE;
  return disk_exceeded(watch, value) ? LIMIT_DISK : LIMIT_NONE;
}
