#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths cannot be longer, so a program can reach nothing deeper by its name. */
static const size_t MOST_LEVELS = 2048;
/* Files without content take room too. Nobody needs more than this many in one call. */
static const uint64_t MOST_ENTRIES = 2000000;

struct walk {
  uint64_t bytes, entries, limit;
  struct inodes linked; /* files with several names, counted once */
};

static bool walk_folder(struct walk *walk, int parent, const char *name, size_t depth);

static bool visit(struct walk *walk, int folder, const char *name, size_t depth) {
  struct stat state;
  if (++walk->entries > MOST_ENTRIES) return false;
  if (fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  bool counted = !S_ISDIR(state.st_mode) && state.st_nlink > 1 &&
                 !inodes_add(&walk->linked, (uint64_t)state.st_dev, (uint64_t)state.st_ino);
  if (!counted) walk->bytes += (uint64_t)state.st_blocks * 512;
  if (walk->bytes > walk->limit) return false;
  return !S_ISDIR(state.st_mode) || walk_folder(walk, folder, name, depth + 1);
}

static bool is_itself(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* False when there is no need or no way to go on. What vanished meanwhile is passed over. */
static bool walk_folder(struct walk *walk, int parent, const char *name, size_t depth) {
  if (depth > MOST_LEVELS) return false;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
  DIR *folder = fdopendir(fd);
  if (folder == NULL) {
    close(fd);
    return false;
  }
  bool going = true;
  while (going) {
    struct dirent *entry = readdir(folder);
    if (entry == NULL) break;
    going = is_itself(entry->d_name) || visit(walk, fd, entry->d_name, depth);
  }
  closedir(folder);
  return going;
}

uint64_t disk_used(const char *const *paths, size_t count, uint64_t limit) {
  struct walk walk = {.limit = limit};
  bool going = true;
  for (size_t i = 0; i < count && going; i++) going = walk_folder(&walk, AT_FDCWD, paths[i], 0);
  inodes_free(&walk.linked);
  /* What cannot be measured is over the limit: not knowing is no reason to go on. */
  return going || walk.bytes > limit ? walk.bytes : limit + 1;
}
