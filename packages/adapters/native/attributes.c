#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * `attributes FOLDER` says which of the files named on stdin have access lists or attributes of their users, and which of
 * the folders give new files an access list. With --copy names come in pairs: the second gets those of the first, and no
 * access list where the first has none. Never follows a link.
 */

enum { MOST_BYTES = 1 << 16 };

static _Noreturn void give_up(const char *what, const char *name) {
  int error = errno;
  fprintf(stderr, "sallyport-launcher: cannot %s the attributes of ", what);
  json_ascii(stderr, name);
  fprintf(stderr, ": %s\n", strerror(error));
  exit(EXIT_DATA);
}

/* A path by which the file itself is meant, whatever its mode and whatever becomes of its name. -1 with errno. */
static int open_below(int folder, const char *name, char path[64]) {
  struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
  /* Kernels before 5.6, and containers that do not know it. */
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  snprintf(path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

static const char ACCESS[] = "system.posix_acl_access";

static bool is_kept(const char *attribute) {
  if (strcmp(attribute, ACCESS) == 0) return true;
  return strncmp(attribute, "user.", 5) == 0 && strncmp(attribute, "user.overlay.", 13) != 0;
}

/* Copies them to `to`, or only counts them without one. */
static size_t each_kept(const char *from, const char *to, const char *name) {
  static char names[MOST_BYTES], value[MOST_BYTES];
  size_t count = 0;
  ssize_t length = listxattr(from, names, sizeof names);
  if (length < 0 && errno == ENOTSUP) return 0;
  if (length < 0) give_up("list", name);
  for (const char *attribute = names; attribute < names + length; attribute += strlen(attribute) + 1) {
    if (!is_kept(attribute)) continue;
    count++;
    if (to == NULL) continue;
    ssize_t size = getxattr(from, attribute, value, sizeof value);
    if (size < 0) give_up("read", name);
    if (setxattr(to, attribute, value, (size_t)size, 0) != 0) give_up("write", name);
  }
  return count;
}

static void copy_to(int folder, const char *from, const char *name) {
  char to[64];
  struct stat state;
  int target = open_below(folder, name, to);
  if (target < 0 || stat(to, &state) != 0) give_up("look at", name);
  /* What its folder gave it. */
  if (removexattr(to, ACCESS) != 0 && errno != ENODATA && errno != ENOTSUP) give_up("write", name);
  each_kept(from, to, name);
  /* An access list sets permission bits, too; those that the file is to have are set already. */
  if (chmod(to, state.st_mode & 07777) != 0) give_up("write", name);
  int file = open(to, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == EACCES) file = open(to, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 || fsync(file) != 0) give_up("keep", name);
  close(file);
  close(target);
}

static bool is_folder(int file) {
  struct stat state;
  return fstat(file, &state) == 0 && S_ISDIR(state.st_mode);
}

static bool passes_on(const char *folder) { return getxattr(folder, "system.posix_acl_default", NULL, 0) > 0; }

/* The next name on stdin, which ends it with NUL; false at the end. */
static bool next_name(char **name, size_t *room) { return getdelim(name, room, '\0', stdin) > 0; }

int attributes_main(struct args *args) {
  bool copies = args_next_is(args, "--copy");
  const char *root = args_take(args, "attributes");
  char *name = NULL, *target = NULL, path[64];
  size_t room = 0, target_room = 0;
  int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) give_up("find", root);
  for (uint64_t index = 0; next_name(&name, &room); index++) {
    int file = open_below(folder, name, path);
    /* Taken away or replaced since it was looked at: whoever asks finds that himself. */
    if (file < 0 && !copies && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV)) continue;
    if (file < 0) give_up("find", name);
    if (copies && !next_name(&target, &target_room)) usage_error("a name is missing after", name);
    if (copies) {
      copy_to(folder, path, target);
    } else if (is_folder(file) ? passes_on(path) : each_kept(path, NULL, name) > 0) {
      printf("%" PRIu64 "\n", index);
    }
    close(file);
  }
  free(name);
  free(target);
  return fflush(stdout) == 0 ? 0 : EXIT_INTERNAL;
}
