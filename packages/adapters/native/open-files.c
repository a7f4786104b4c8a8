#include "launcher.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

static const long TMPFS = 0x01021994;

/* One look at the tree. */
struct search {
  struct inodes files, sockets, mapped;
  bool is_command; /* not a backend, which may run from a memory file */
  struct unlinked sum;
};

/* ---- descriptors */

static bool is_in_memory(const char *path) {
  struct statfs system;
  return statfs(path, &system) == 0 && (long)system.f_type == TMPFS;
}

static void count_file(struct search *search, const char *path, const struct stat *state) {
  if (state->st_nlink != 0 || !inodes_add(&search->files, (uint64_t)state->st_dev, (uint64_t)state->st_ino)) return;
  uint64_t bytes = (uint64_t)state->st_blocks * 512;
  if (is_in_memory(path)) {
    search->sum.memory_bytes += bytes;
  } else {
    search->sum.disk_bytes += bytes;
  }
}

/* What was sent and not received yet is in no table; a unix socket tells how many descriptors wait in it. */
static void count_waiting(struct search *search, const char *folder, const char *name, const struct stat *state) {
  char path[128], text[512];
  if (!inodes_add(&search->sockets, (uint64_t)state->st_dev, (uint64_t)state->st_ino)) return;
  snprintf(path, sizeof path, "%s/fdinfo/%.16s", folder, name);
  if (read_small_file(path, text, sizeof text) <= 0) return;
  const char *line = strstr(text, "\nscm_fds:");
  if (line != NULL) search->sum.unseen += strtoull(line + strlen("\nscm_fds:"), NULL, 10);
}

static void count_table(struct search *search, const char *folder) {
  char path[128];
  snprintf(path, sizeof path, "%s/fd", folder);
  DIR *open_files = opendir(path);
  /* A task that just ended, or one whose files are not ours to see. */
  if (open_files == NULL) return;
  for (struct dirent *entry = readdir(open_files); entry != NULL; entry = readdir(open_files)) {
    struct stat state;
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/fd/%.16s", folder, entry->d_name);
    /* stat only: opening what somebody else holds could have effects. */
    if (stat(path, &state) != 0) continue;
    if (S_ISREG(state.st_mode)) count_file(search, path, &state);
    if (S_ISSOCK(state.st_mode)) count_waiting(search, folder, entry->d_name, &state);
  }
  closedir(open_files);
}

/* ---- maps: a file can be mapped when no descriptor is left */

/* The file system that holds anonymous shared memory; it is mounted nowhere. */
static uint64_t shared_memory_device(void) {
  static uint64_t device;
  struct stat state;
  int fd = device == 0 ? memfd_create("device", MFD_CLOEXEC) : -1;
  if (fd < 0) return device;
  if (fstat(fd, &state) == 0) device = (uint64_t)state.st_dev;
  close(fd);
  return device;
}

/* Whether a mount that the task sees is a tmpfs with this device. */
static bool is_tmpfs(const char *folder, unsigned major_number, unsigned minor_number) {
  char path[128], wanted[32], line[8192];
  snprintf(path, sizeof path, "%s/mountinfo", folder);
  snprintf(wanted, sizeof wanted, " %u:%u ", major_number, minor_number);
  FILE *mounts = fopen(path, "re");
  if (mounts == NULL) return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, mounts) != NULL) {
    found = strstr(line, wanted) != NULL && strstr(line, " - tmpfs ") != NULL;
  }
  fclose(mounts);
  return found;
}

static void count_map(struct search *search, const char *folder, const char *line) {
  unsigned major_number, minor_number;
  uint64_t inode;
  if (sscanf(line, "%*x-%*x %*4s %*x %x:%x %" SCNu64, &major_number, &minor_number, &inode) != 3 || inode == 0) return;
  uint64_t device = (uint64_t)makedev(major_number, minor_number);
  if (device == shared_memory_device()) {
    search->sum.shared_maps += search->is_command;
    return;
  }
  if (!inodes_add(&search->mapped, device, inode)) return;
  if (!is_tmpfs(folder, major_number, minor_number)) search->sum.unseen++;
}

static void count_maps(struct search *search, const char *folder) {
  static const char DELETED[] = " (deleted)\n";
  char path[128], *line = NULL;
  size_t room = 0;
  snprintf(path, sizeof path, "%s/maps", folder);
  FILE *maps = fopen(path, "re");
  if (maps == NULL) return;
  for (ssize_t length; (length = getline(&line, &room, maps)) > 0;) {
    size_t tail = sizeof DELETED - 1;
    if ((size_t)length > tail && strcmp(line + length - tail, DELETED) == 0) count_map(search, folder, line);
  }
  free(line);
  fclose(maps);
}

/* ---- tasks: the first one may be gone while others go on, and each may have descriptors of its own */

static bool shares_table(pid_t first, pid_t second) {
  return first != 0 && syscall(SYS_kcmp, first, second, KCMP_FILES, 0, 0) == 0;
}

static void count_tasks(struct search *search, const struct process *process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
  DIR *tasks = opendir(path);
  if (tasks == NULL) return;
  pid_t last = 0;
  for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
    pid_t task = (pid_t)atoi(entry->d_name);
    if (task <= 0 || shares_table(last, task)) continue;
    last = task;
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)process->pid, (int)task);
    count_table(search, path);
  }
  closedir(tasks);
}

static void count_process(struct search *search, const struct process *process) {
  char path[64];
  if (process->threads > 1) {
    count_tasks(search, process);
  } else {
    snprintf(path, sizeof path, "/proc/%d", (int)process->pid);
    count_table(search, path);
  }
  if (task_with_memory(process, path, sizeof path)) count_maps(search, path);
}

struct unlinked unlinked_files(const struct tree *tree, pid_t init) {
  struct search search = {0};
  for (size_t i = 0; i < tree->count; i++) {
    search.is_command = init > 0 && is_below(tree, &tree->items[i], init);
    count_process(&search, &tree->items[i]);
  }
  inodes_free(&search.files);
  inodes_free(&search.sockets);
  inodes_free(&search.mapped);
  return search.sum;
}
