#include "launcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const long TMPFS = 0x01021994;

static bool is_in_memory(const char *path) {
  struct statfs system;
  return statfs(path, &system) == 0 && (long)system.f_type == TMPFS;
}

static void count_one(const char *path, struct inodes *seen, struct unlinked *sum) {
  struct stat state;
  /* stat only: opening what somebody else holds could have effects. */
  if (stat(path, &state) != 0 || !S_ISREG(state.st_mode) || state.st_nlink != 0) return;
  if (!inodes_add(seen, (uint64_t)state.st_dev, (uint64_t)state.st_ino)) return;
  uint64_t bytes = (uint64_t)state.st_blocks * 512;
  if (is_in_memory(path)) {
    sum->memory_bytes += bytes;
  } else {
    sum->disk_bytes += bytes;
  }
}

static void count_process(pid_t pid, struct inodes *seen, struct unlinked *sum) {
  char path[320];
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR *open_files = opendir(path);
  /* A process that just ended, or one whose files are not ours to see. */
  if (open_files == NULL) return;
  for (struct dirent *entry = readdir(open_files); entry != NULL; entry = readdir(open_files)) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, entry->d_name);
    count_one(path, seen, sum);
  }
  closedir(open_files);
}

struct unlinked unlinked_files(const struct tree *tree) {
  struct unlinked sum = {0};
  struct inodes seen = {0};
  for (size_t i = 0; i < tree->count; i++) count_process(tree->items[i].pid, &seen, &sum);
  inodes_free(&seen);
  return sum;
}
