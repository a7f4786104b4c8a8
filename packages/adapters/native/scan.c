#include "launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

struct scan {
  bool user_xattr;
  uint64_t left; /* how many more entries may come */
  char path[PATH_MAX];
  size_t length;
};

struct names {
  char **items;
  size_t count, room;
};

static _Noreturn void give_up(const struct scan *scan, const char *why) {
  /* The reason first: a path may be longer than what a reader keeps. */
  fprintf(stderr, "sallyport-launcher: cannot scan: %s: ", why);
  json_ascii(stderr, scan->length == 0 ? "." : scan->path);
  fputc('\n', stderr);
  exit(EXIT_DATA);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void add_name(const struct scan *scan, struct names *names, const char *name) {
  if (names->count >= scan->left) give_up(scan, "more entries than allowed");
  if (names->count == names->room) {
    names->room = names->room == 0 ? 32 : names->room * 2;
    char **items = realloc(names->items, names->room * sizeof *items);
    if (items == NULL) give_up(scan, "no memory");
    names->items = items;
  }
  names->items[names->count] = strdup(name);
  if (names->items[names->count++] == NULL) give_up(scan, "no memory");
}

static struct names read_names(const struct scan *scan, int folder) {
  struct names names = {0};
  int copy = fcntl(folder, F_DUPFD_CLOEXEC, 3);
  DIR *stream = copy < 0 ? NULL : fdopendir(copy);
  if (stream == NULL) give_up(scan, strerror(errno));
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(stream);
    if (entry == NULL) break;
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) add_name(scan, &names, entry->d_name);
  }
  if (errno != 0) give_up(scan, strerror(errno));
  closedir(stream);
  if (names.count > 1) qsort(names.items, names.count, sizeof *names.items, by_bytes);
  return names;
}

static void free_names(struct names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
}

static const char *type_of(const struct stat *state) {
  switch (state->st_mode & S_IFMT) {
    case S_IFREG: return "file";
    case S_IFDIR: return "folder";
    case S_IFLNK: return "symlink";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    case S_IFCHR: return state->st_rdev == makedev(0, 0) ? "whiteout" : "device";
    default: return "device";
  }
}

static void print_text(const char *name, const char *text, size_t length) {
  printf("\"%s%s\":", name, is_utf8(text, length) ? "" : "Base64");
  if (is_utf8(text, length)) {
    json_string(stdout, text, length);
  } else {
    base64(stdout, text, length);
  }
}

static void print_target(const struct scan *scan, int folder, const char *name) {
  char target[PATH_MAX];
  ssize_t length = readlinkat(folder, name, target, sizeof target);
  if (length < 0) give_up(scan, strerror(errno));
  putchar(',');
  print_text("target", target, (size_t)length);
}

/* Times far from our own are cut to what fits rather than wrapped. */
static int64_t nanoseconds(struct timespec time) {
  int64_t result;
  if (__builtin_mul_overflow((int64_t)time.tv_sec, (int64_t)1000000000, &result)) return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  if (__builtin_add_overflow(result, (int64_t)time.tv_nsec, &result)) return INT64_MAX;
  return result;
}

static void print_facts(const struct stat *state) {
  printf(",\"type\":\"%s\",\"mode\":%u,\"size\":%" PRIu64 ",\"mtimeNs\":\"%" PRId64 "\"", type_of(state),
         (unsigned)(state->st_mode & 07777), (uint64_t)state->st_size, nanoseconds(state->st_mtim));
  printf(",\"uid\":%u,\"gid\":%u,\"ino\":\"%" PRIu64 "\",\"dev\":\"%" PRIu64 "\",\"nlink\":%" PRIu64 ",\"blocks\":%" PRIu64,
         (unsigned)state->st_uid, (unsigned)state->st_gid, (uint64_t)state->st_ino, (uint64_t)state->st_dev,
         (uint64_t)state->st_nlink, (uint64_t)state->st_blocks);
}

static bool is_opaque(const struct scan *scan, int folder) {
  char value[4];
  ssize_t length = fgetxattr(folder, scan->user_xattr ? "user.overlay.opaque" : "trusted.overlay.opaque", value, sizeof value);
  if (length < 0 && errno == ERANGE) return false;
  if (length < 0 && errno != ENODATA && errno != ENOTSUP) give_up(scan, strerror(errno));
  return length == 1 && value[0] == 'y';
}

/* A folder that its own owner cannot look into is opened for the time of the walk; *opened says so. */
static int open_folder(const struct scan *scan, int parent, const char *name, const struct stat *state, bool *opened) {
  int handle = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (handle < 0) give_up(scan, strerror(errno));
  char path[64];
  /* Through the descriptor, so that no link put there meanwhile can be followed. */
  snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
  *opened = geteuid() != 0 && state->st_uid == geteuid() && (state->st_mode & 0500) != 0500;
  if (*opened && chmod(path, (state->st_mode & 07777) | 0500) != 0) give_up(scan, strerror(errno));
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) give_up(scan, strerror(errno));
  close(handle);
  return folder;
}

static void scan_folder(struct scan *scan, int folder);

static void scan_inside(struct scan *scan, int parent, const char *name, const struct stat *state) {
  bool opened;
  int folder = open_folder(scan, parent, name, state, &opened);
  if (is_opaque(scan, folder)) fputs(",\"opaque\":true", stdout);
  fputs("}\n", stdout);
  scan_folder(scan, folder);
  if (opened && fchmod(folder, state->st_mode & 07777) != 0) give_up(scan, strerror(errno));
  close(folder);
}

static void scan_entry(struct scan *scan, int folder, const char *name) {
  struct stat state;
  if (scan->left-- == 0) give_up(scan, "more entries than allowed");
  if (fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) != 0) give_up(scan, strerror(errno));
  putchar('{');
  print_text("path", scan->path, scan->length);
  print_facts(&state);
  if (S_ISLNK(state.st_mode)) print_target(scan, folder, name);
  if (S_ISDIR(state.st_mode)) {
    scan_inside(scan, folder, name, &state);
  } else {
    fputs("}\n", stdout);
  }
  if (ferror(stdout)) exit(EXIT_INTERNAL);
}

static void scan_folder(struct scan *scan, int folder) {
  struct names names = read_names(scan, folder);
  size_t before = scan->length;
  for (size_t i = 0; i < names.count; i++) {
    int added = snprintf(scan->path + before, sizeof scan->path - before, "%s%s", before == 0 ? "" : "/", names.items[i]);
    if (added < 0 || (size_t)added >= sizeof scan->path - before) {
      scan->path[before] = '\0';
      give_up(scan, "a path below it is too long");
    }
    scan->length = before + (size_t)added;
    scan_entry(scan, folder, names.items[i]);
    scan->path[before] = '\0';
    scan->length = before;
  }
  free_names(&names);
}

/* One descriptor is open per level. */
static void allow_many_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int scan_main(struct args *args) {
  static struct scan scan = {.left = INT64_MAX};
  for (;;) {
    if (args_next_is(args, "--user-xattr")) {
      scan.user_xattr = true;
    } else if (args_next_is(args, "--max-entries")) {
      scan.left = args_take_number(args, "--max-entries", INT64_MAX);
    } else {
      break;
    }
  }
  const char *path = args_take(args, "scan");
  if (args->next != args->count) usage_error("not understood", args->items[args->next]);
  allow_many_descriptors();
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) give_up(&scan, strerror(errno));
  scan_folder(&scan, folder);
  close(folder);
  return fflush(stdout) == 0 ? 0 : EXIT_INTERNAL;
}
