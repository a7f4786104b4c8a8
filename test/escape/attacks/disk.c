/* Filling the disk. The harness allows 16 MiB in all and 8 MiB in one file. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const size_t MIB = 1 << 20, TOO_MUCH_MIB = 320;

static char *megabyte(void) {
  static char bytes[1 << 20];
  memset(bytes, 'x', sizeof bytes);
  return bytes;
}

static int make(const char *folder, int number) {
  char name[64];
  snprintf(name, sizeof name, "/filler-%d", number);
  char *path = joined(folder, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  free(path);
  return fd;
}

/* Whether it is let go on: the limit may be looked at only from time to time. */
static void stay_a_moment(void) { sleep_ms(1500); }

static void fill(const char *folder, bool unlinked) {
  char *bytes = megabyte();
  size_t mib = 0;
  for (int number = 0; mib < TOO_MUCH_MIB; number++) {
    int fd = make(folder, number);
    if (fd < 0) break;
    char name[64];
    snprintf(name, sizeof name, "/filler-%d", number);
    if (unlinked) unlink(joined(folder, name));
    size_t before = mib;
    for (int part = 0; part < 4 && write(fd, bytes, MIB) == (ssize_t)MIB; part++) mib++;
    if (!unlinked) close(fd);
    if (mib == before) break;
  }
  if (mib >= TOO_MUCH_MIB) escaped("%zu MiB were written to %s", mib, folder);
  contained("%zu MiB", mib);
  refused(folder);
  stay_a_moment();
}

ATTACK(fill_folder) { fill(args[0], false); }

ATTACK(fill_with_unlinked_files) { fill(args[0], true); }

/* Files that have no name and no descriptor: on their way through a socket, or only mapped. */
static void fill_out_of_sight(bool mapped) {
  char *bytes = megabyte();
  const char *folder = given("X_WS");
  size_t mib = 0;
  int ends[2];
  signal(SIGXFSZ, SIG_IGN);
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) broken("socketpair");
  for (int number = 0; mib < TOO_MUCH_MIB; number++) {
    int fd = open(joined(folder, "/filler"), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (fd < 0 || unlink(joined(folder, "/filler")) != 0) break;
    size_t before = mib;
    for (int part = 0; part < 7 && write(fd, bytes, MIB) == (ssize_t)MIB; part++) mib++;
    if (mib == before) break;
    if (mapped) {
      if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) break;
      close(fd);
    } else if (!send_away(ends[0], fd)) {
      break;
    }
    sleep_ms(5);
  }
  if (mib >= TOO_MUCH_MIB) escaped("%zu MiB were written to %s", mib, folder);
  contained("%zu MiB", mib);
  refused(folder);
  stay_a_moment();
}

ATTACK(fill_files_in_flight) { fill_out_of_sight(false); }

ATTACK(fill_files_only_mapped) { fill_out_of_sight(true); }

ATTACK(fill_one_file) {
  char *bytes = megabyte();
  int fd = make(given("X_WS"), 0);
  if (fd < 0) broken("create");
  for (size_t mib = 0; mib < TOO_MUCH_MIB; mib++) {
    if (write(fd, bytes, MIB) != (ssize_t)MIB) refused("write");
  }
  escaped("one file of %zu MiB", TOO_MUCH_MIB);
}

ATTACK(fill_one_file_ignoring_signals) {
  signal(SIGXFSZ, SIG_IGN);
  char *bytes = megabyte();
  int fd = make(given("X_WS"), 0);
  size_t mib = 0;
  for (; mib < TOO_MUCH_MIB && write(fd, bytes, MIB) == (ssize_t)MIB; mib++) continue;
  if (mib > 8) escaped("one file of %zu MiB", mib);
  refused("write");
}

ATTACK(sparse_file) {
  signal(SIGXFSZ, SIG_IGN);
  int fd = make(given("X_WS"), 0);
  must_fail("ftruncate", ftruncate(fd, (off_t)1 << 40));
  must_fail("pwrite far away", pwrite(fd, "x", 1, (off_t)1 << 40));
}

ATTACK(reserve_file) {
  signal(SIGXFSZ, SIG_IGN);
  int fd = make(given("X_WS"), 0);
  must_fail("fallocate", fallocate(fd, 0, 0, (off_t)1 << 30));
}

/* The limit for one file does not count what is reserved beyond its end. */
ATTACK(reserve_beyond_the_end) {
  int fd = make(given("X_WS"), 0);
  if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)1 << 30) != 0) {
    refused("fallocate");
    return;
  }
  stay_a_moment();
  escaped("a gigabyte is reserved");
}

ATTACK(reserve_many_files) {
  for (int number = 0; number < 60; number++) {
    int fd = make(given("X_WS"), number);
    if (fd < 0 || fallocate(fd, 0, 0, 8 * (off_t)MIB) != 0) break;
    close(fd);
    sleep_ms(20);
  }
  refused("fallocate");
  stay_a_moment();
}

ATTACK(many_links) {
  const char *workspace = given("X_WS");
  int fd = make(workspace, 0), count = 0;
  if (fd < 0) broken("create");
  for (; count < 200000; count++) {
    char name[64];
    snprintf(name, sizeof name, "/link-%d", count);
    if (link(joined(workspace, "/filler-0"), joined(workspace, name)) != 0) break;
  }
  if (count == 200000) escaped("%d links", count);
  contained("%d links", count);
  refused("link");
}

ATTACK(many_empty_files) {
  int count = 0;
  for (; count < 400000; count++) {
    int fd = make(args[0], count);
    if (fd < 0) break;
    close(fd);
  }
  if (count == 400000) escaped("%d files", count);
  contained("%d files", count);
  refused("create");
  stay_a_moment();
}

/* So deep that a careless clean-up runs out of stack or path. */
ATTACK(deep_folders) {
  if (chdir(given("X_WS")) != 0) broken("chdir");
  int depth = 0;
  for (; depth < 1500; depth++) {
    if (mkdir("a-folder-in-a-folder", 0755) != 0 || chdir("a-folder-in-a-folder") != 0) break;
  }
  int fd = open("at-the-bottom", O_CREAT | O_WRONLY, 0);
  if (fd >= 0) close(fd);
  contained("%d folders", depth);
}

/* Names and modes that trouble whoever cleans up. */
ATTACK(awkward_entries) {
  if (chdir(given("X_WS")) != 0) broken("chdir");
  mkdir("locked", 0755);
  make("locked", 0);
  chmod("locked", 0);
  mkdir("new\nline", 0755);
  mkdir("\xff\xfe", 0755);
  mkdir("-rf", 0755);
  mkdir("*", 0755);
  symlink("/", "root-link");
  symlink("..", "up-link");
  mknod("pipe", S_IFIFO | 0644, 0);
  contained("awkward entries are there");
}

/* The smallest change of a large file copies all of it up. */
ATTACK(copy_up_a_large_file) {
  signal(SIGXFSZ, SIG_IGN);
  int fd = open(joined(given("X_WS"), "/large.bin"), O_WRONLY | O_CLOEXEC);
  if (fd < 0) refused("open");
  if (fd >= 0 && pwrite(fd, "x", 1, 0) != 1) refused("pwrite");
  chmod(joined(given("X_WS"), "/large.bin"), 0600);
  stay_a_moment();
}
