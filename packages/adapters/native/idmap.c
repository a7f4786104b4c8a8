#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount-calls.h"

/* A child that sits in a user namespace of its own until its pipe closes. */
static pid_t start_holder(int *release, const char **step) {
  int ready[2], hold[2];
  *step = "make pipes";
  if (pipe2(ready, O_CLOEXEC) != 0) return -1;
  if (pipe2(hold, O_CLOEXEC) != 0) {
    close(ready[0]);
    close(ready[1]);
    return -1;
  }
  pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(hold[1]);
    if (unshare(CLONE_NEWUSER) != 0) byte = (char)errno;
    if (!write_all(ready[1], &byte, 1) || byte != 0) _exit(1);
    while (read(hold[0], &byte, 1) < 0 && errno == EINTR) continue;
    _exit(0);
  }
  int error = errno;
  close(ready[1]);
  close(hold[0]);
  char byte = 0;
  ssize_t got = 0;
  if (child > 0) {
    while ((got = read(ready[0], &byte, 1)) < 0 && errno == EINTR) continue;
    error = got == 1 ? (unsigned char)byte : EIO;
  }
  close(ready[0]);
  *release = hold[1];
  if (child > 0 && error == 0) return child;
  *step = "make a user namespace for the mapping";
  close(hold[1]);
  if (child > 0) waitpid(child, NULL, 0);
  errno = error;
  return -1;
}

/* One piece of a map, left out when it is empty. */
static int add_range(char *text, size_t room, uint64_t from, uint64_t to, uint64_t count) {
  if (count == 0) return 0;
  int length = snprintf(text, room, "%llu %llu %llu\n", (unsigned long long)from, (unsigned long long)to,
                        (unsigned long long)count);
  return length > 0 && (size_t)length < room ? length : 0;
}

/* Swaps two ids and leaves all others as they are, so that files of third parties keep their owners. */
static void swap_map(char *text, size_t room, uint64_t from, uint64_t to) {
  uint64_t low = from < to ? from : to, high = from < to ? to : from, last = UINT32_MAX;
  size_t used = (size_t)add_range(text, room, 0, 0, low);
  used += (size_t)add_range(text + used, room - used, low, high, 1);
  used += (size_t)add_range(text + used, room - used, low + 1, low + 1, high - low - 1);
  used += (size_t)add_range(text + used, room - used, high, low, 1);
  add_range(text + used, room - used, high + 1, high + 1, last - high - 1);
}

static bool write_map(pid_t holder, const char *name, uint64_t from, uint64_t to) {
  char path[64], map[256] = "";
  snprintf(path, sizeof path, "/proc/%d/%s", (int)holder, name);
  if (from == to) {
    add_range(map, sizeof map, 0, 0, UINT32_MAX);
  } else {
    swap_map(map, sizeof map, from, to);
  }
  if (write_small_file(path, map)) return true;
  /* Where we do not own all ids (inside a container) only the one that matters is mapped. */
  snprintf(map, sizeof map, "%llu %llu 1", (unsigned long long)from, (unsigned long long)to);
  return write_small_file(path, map);
}

static int open_mapping(const struct idmap *idmap, const char **step) {
  int release;
  pid_t holder = start_holder(&release, step);
  if (holder < 0) return -1;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", (int)holder);
  *step = "write the mapping of owners";
  int namespace = -1;
  if (write_map(holder, "uid_map", idmap->from_uid, idmap->to_uid) &&
      write_map(holder, "gid_map", idmap->from_gid, idmap->to_gid)) {
    namespace = open(path, O_RDONLY | O_CLOEXEC);
  }
  int error = errno;
  close(release);
  while (waitpid(holder, NULL, 0) < 0 && errno == EINTR) continue;
  errno = error;
  return namespace;
}

int open_idmapped(const char *source, const struct idmap *idmap, const char **step) {
  int namespace = open_mapping(idmap, step);
  if (namespace < 0) return -1;
  *step = "clone the folder";
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, source, TREE_CLONE | O_CLOEXEC);
  if (tree >= 0) {
    struct mount_attributes attributes = {.set = ATTRIBUTE_IDMAP, .user_namespace_fd = (uint64_t)namespace};
    *step = "map the owners of the folder";
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
      int error = errno;
      close(tree);
      errno = error;
      tree = -1;
    }
  }
  int error = errno;
  close(namespace);
  errno = error;
  return tree;
}
