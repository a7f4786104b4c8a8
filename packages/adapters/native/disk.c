#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths cannot be longer, so a program can reach nothing deeper by its name. */
enum { MOST_LEVELS = 2048, ENTRIES_PER_SLICE = 2000 };
/* Files without content take room too. Nobody needs more than this many in one call. */
static const uint64_t MOST_ENTRIES = 2000000;

struct disk_walk {
  const char *const *paths;
  size_t path_count, next_path;
  DIR *levels[MOST_LEVELS];
  size_t depth;
  uint64_t bytes, entries;
  struct inodes linked; /* files with several names, counted once */
};

struct disk_walk *disk_walk_new(const char *const *paths, size_t count) {
  struct disk_walk *walk = calloc(1, sizeof *walk);
  if (walk == NULL) internal_error("no memory");
  walk->paths = paths;
  walk->path_count = count;
  return walk;
}

void disk_walk_free(struct disk_walk *walk) {
  if (walk == NULL) return;
  while (walk->depth > 0) closedir(walk->levels[--walk->depth]);
  inodes_free(&walk->linked);
  free(walk);
}

/* False: too deep or no descriptor left. A folder that vanished or is closed to us is passed over. */
static bool enter(struct disk_walk *walk, int parent, const char *name) {
  if (walk->depth == MOST_LEVELS) return false;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno != EMFILE && errno != ENFILE;
  DIR *level = fdopendir(fd);
  if (level == NULL) {
    close(fd);
    return false;
  }
  walk->levels[walk->depth++] = level;
  return true;
}

static bool visit(struct disk_walk *walk, int folder, const char *name) {
  struct stat state;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
  if (++walk->entries > MOST_ENTRIES) return false;
  if (fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) != 0) return true;
  bool counted = !S_ISDIR(state.st_mode) && state.st_nlink > 1 &&
                 !inodes_add(&walk->linked, (uint64_t)state.st_dev, (uint64_t)state.st_ino);
  if (!counted) walk->bytes += (uint64_t)state.st_blocks * 512;
  return !S_ISDIR(state.st_mode) || enter(walk, folder, name);
}

/* One entry further. False at the end. */
static bool advance(struct disk_walk *walk, bool *fits) {
  if (walk->depth == 0) {
    if (walk->next_path == walk->path_count) return false;
    *fits = enter(walk, AT_FDCWD, walk->paths[walk->next_path++]);
    return true;
  }
  DIR *level = walk->levels[walk->depth - 1];
  struct dirent *entry = readdir(level);
  if (entry == NULL) {
    closedir(level);
    walk->depth--;
    return true;
  }
  *fits = visit(walk, dirfd(level), entry->d_name);
  return true;
}

bool disk_walk_step(struct disk_walk *walk, uint64_t limit, uint64_t *bytes) {
  bool fits = true;
  for (size_t i = 0; i < ENTRIES_PER_SLICE; i++) {
    bool more = advance(walk, &fits);
    /* What cannot be measured is over the limit: not knowing is no reason to go on. */
    if (!fits && walk->bytes <= limit) walk->bytes = limit + 1;
    *bytes = walk->bytes;
    if (!more || walk->bytes > limit) return true;
  }
  return false;
}
