/* Reaching a file that is not ours by odd names, links and races. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

ATTACK(read_paths) {
  for (int i = 0; i < arg_count; i++) try_read(args[i]);
}

ATTACK(write_paths) {
  for (int i = 0; i < arg_count; i++) try_write(args[i]);
}

/* Where even writing the same again could hurt the host: being let in is enough. */
ATTACK(open_for_writing) {
  for (int i = 0; i < arg_count; i++) {
    int fd = open(args[i], O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    must_fail(args[i], fd);
  }
}

ATTACK(open_devices) {
  for (int i = 0; i < arg_count; i++) {
    must_fail(args[i], open(args[i], O_RDWR | O_CLOEXEC | O_NONBLOCK));
    must_fail(args[i], open(args[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  }
}

ATTACK(create_paths) {
  for (int i = 0; i < arg_count; i++) {
    must_fail(args[i], open(args[i], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755));
  }
}

ATTACK(list_paths) {
  for (int i = 0; i < arg_count; i++) {
    DIR *folder = opendir(args[i]);
    if (folder == NULL) {
      refused(args[i]);
      continue;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) escaped("%s has %s", args[i], entry->d_name);
    }
    closedir(folder);
    refused_by(args[i], "NOTHING");
  }
}

ATTACK(climb_with_dots) {
  char climb[512] = "";
  if (chdir(given("X_WS")) != 0) broken("chdir");
  try_read("../outside/secret.txt");
  for (int i = 0; i < 40; i++) strcat(climb, "../");
  try_read(joined(climb, given("X_SECRET") + 1));
}

ATTACK(climb_from_root_handle) {
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) broken("open /");
  int above = openat(root, "../../../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (above < 0) broken("openat");
  int fd = openat(above, given("X_SECRET") + 1, O_RDONLY | O_CLOEXEC);
  must_fail("openat above the root", fd);
  if (fchdir(above) != 0) broken("fchdir");
  try_read(given("X_SECRET") + 1);
}

ATTACK(climb_with_openat2) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};
  int folder = open(given("X_WS"), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) broken("open the workspace");
  must_fail("openat2 ..", syscall(SYS_openat2, folder, "../outside/secret.txt", &how, sizeof how));
  const char *magic = joined("/proc/self/root", given("X_SECRET"));
  must_fail("openat2 magic link", syscall(SYS_openat2, folder, magic, &how, sizeof how));
  how.resolve = RESOLVE_IN_ROOT;
  must_fail("openat2 in root", syscall(SYS_openat2, folder, "/../outside/secret.txt", &how, sizeof how));
}

static void try_views_of(long pid) {
  static const char *const WAYS[] = {"root", "cwd"};
  char path[512];
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%ld/%s/%s", pid, WAYS[i], given("X_SECRET"));
    try_read(path);
    snprintf(path, sizeof path, "/proc/%ld/%s/../outside/secret.txt", pid, WAYS[i]);
    try_read(path);
  }
}

ATTACK(roots_and_folders_of_processes) { each_pid(try_views_of); }

ATTACK(roots_of_host_processes) {
  char path[512];
  const char *pids[] = {given("X_PID"), given("X_NODE")};
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%s/root%s", pids[i], given("X_SECRET"));
    try_read(path);
    snprintf(path, sizeof path, "/proc/%s/task/%s/root%s", pids[i], pids[i], given("X_SECRET"));
    try_read(path);
  }
}

static void try_files_of(long pid) {
  char folder[64], path[1024];
  snprintf(folder, sizeof folder, "/proc/%ld/fd", pid);
  if (pid == getpid()) return;
  DIR *files = opendir(folder);
  if (files == NULL) {
    refused(folder);
    return;
  }
  for (struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    try_read(path);
    snprintf(path, sizeof path, "%s/%s%s", folder, entry->d_name, given("X_SECRET"));
    try_read(path);
    snprintf(path, sizeof path, "%s/%s/../../../../../..%s", folder, entry->d_name, given("X_SECRET"));
    try_read(path);
  }
  closedir(files);
}

ATTACK(open_files_of_processes) { each_pid(try_files_of); }

/* CVE-2024-21626: a folder of the host left open by the runtime is a way out. */
ATTACK(folders_left_open) {
  char path[256];
  for (int fd = 3; fd < 256; fd++) {
    if (fchdir(fd) == 0) {
      try_read(given("X_SECRET") + 1);
      try_read("../outside/secret.txt");
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d%s", fd, given("X_SECRET"));
    if (access(path, F_OK) == 0) try_read(path);
  }
  errno = EBADF;
  refused("descriptors 3 to 255");
}

ATTACK(reopen_read_only_for_writing) {
  char path[64];
  const char *kept = joined(given("X_RO"), "/kept.txt");
  int flags[] = {O_RDONLY | O_CLOEXEC, O_PATH | O_CLOEXEC};
  for (size_t i = 0; i < 2; i++) {
    int fd = open(kept, flags[i]);
    if (fd < 0) broken("open the read-only file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    try_write(path);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    try_write(path);
  }
}

ATTACK(change_read_only_mount) {
  const char *folder = given("X_RO"), *kept = joined(folder, "/kept.txt");
  struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  must_fail("open", open(kept, O_WRONLY | O_TRUNC));
  must_fail("truncate", truncate(kept, 0));
  must_fail("unlink", unlink(kept));
  must_fail("chmod", chmod(kept, 0777));
  must_fail("chown", chown(kept, getuid(), getgid()));
  must_fail("utimens", utimensat(AT_FDCWD, kept, times, 0));
  must_fail("rename", rename(kept, joined(folder, "/moved.txt")));
  must_fail("mkdir", mkdir(joined(folder, "/new"), 0777));
  must_fail("symlink", symlink("/", joined(folder, "/link")));
  must_fail("setxattr", syscall(SYS_setxattr, kept, "user.mark", "x", 1, 0));
  must_fail("mknod", mknod(joined(folder, "/pipe"), S_IFIFO | 0777, 0));
  must_fail("rmdir", rmdir(folder));
}

ATTACK(map_read_only_for_writing) {
  const char *kept = joined(given("X_RO"), "/kept.txt");
  int fd = open(kept, O_RDONLY | O_CLOEXEC);
  if (fd < 0) broken("open the read-only file");
  void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) escaped("a read-only file was mapped for writing");
  refused("mmap");
  shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) broken("mmap for reading");
  must_fail("mprotect", mprotect(shared, 4096, PROT_READ | PROT_WRITE));
  must_fail("ftruncate", ftruncate(fd, 0));
  must_fail("fallocate", fallocate(fd, 0, 0, 4096));
  must_fail("fchmod", fchmod(fd, 0777));
}

/* A hard link would keep the file's inode within reach of a place that can be written. */
ATTACK(hard_link_to_read_only) {
  char path[64];
  const char *kept = joined(given("X_RO"), "/kept.txt"), *mine = joined(given("X_WS"), "/mine");
  int fd = open(kept, O_RDONLY | O_CLOEXEC);
  if (fd < 0) broken("open the read-only file");
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  must_fail("link", link(kept, mine));
  must_fail("linkat through /proc", linkat(AT_FDCWD, path, AT_FDCWD, mine, AT_SYMLINK_FOLLOW));
  must_fail("linkat of a descriptor", linkat(fd, "", AT_FDCWD, mine, AT_EMPTY_PATH));
  must_fail("rename", rename(kept, mine));
}

ATTACK(rename_over_mount_points) {
  const char *workspace = given("X_WS"), *readOnly = given("X_RO"), *mine = joined(workspace, "/folder");
  if (mkdir(mine, 0755) != 0) broken("mkdir");
  must_fail("rename onto a mount", rename(mine, readOnly));
  must_fail("rename a mount", rename(readOnly, joined(workspace, "/taken")));
  must_fail("exchange", syscall(SYS_renameat2, AT_FDCWD, mine, AT_FDCWD, readOnly, 2));
  must_fail("rename the workspace", rename(workspace, joined(workspace, "-moved")));
  must_fail("rename /tmp", rename("/tmp", "/tmp2"));
}

ATTACK(link_out_of_the_workspace) {
  const char *link = joined(given("X_WS"), "/link");
  if (symlink(given("X_SECRET"), link) != 0) broken("symlink");
  try_read(link);
  try_write(link);
  const char *folder = joined(given("X_WS"), "/folder-link");
  if (symlink(given("X_OUT"), folder) != 0) broken("symlink");
  try_read(joined(folder, "/secret.txt"));
  must_fail("create through a link", open(joined(folder, "/planted"), O_CREAT | O_WRONLY, 0755));
}

ATTACK(link_through_proc) {
  static const char *const TARGETS[] = {"/proc/self/root", "/proc/1/root", "/proc/self/task/1/root", "/proc/1/cwd"};
  for (size_t i = 0; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "/link-%zu", i);
    const char *link = joined(given("X_WS"), name);
    if (symlink(TARGETS[i], link) != 0) broken("symlink");
    try_read(joined(link, given("X_SECRET")));
  }
}

/* ---- races */

struct race {
  const char *first, *second;
  volatile bool over;
};

static void *exchange_for_ever(void *data) {
  struct race *race = data;
  while (!race->over) syscall(SYS_renameat2, AT_FDCWD, race->first, AT_FDCWD, race->second, 2);
  return NULL;
}

static void while_exchanging(const char *first, const char *second, void (*attempt)(void)) {
  struct race race = {.first = first, .second = second};
  pthread_t thread;
  if (pthread_create(&thread, NULL, exchange_for_ever, &race) != 0) broken("thread");
  for (int64_t end = clock_ms() + 400; clock_ms() < end;) attempt();
  race.over = true;
  pthread_join(thread, NULL);
}

static void read_quietly(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  read_for_canary(path, fd);
  close(fd);
}

static void read_raced_secret(void) {
  read_quietly(joined(given("X_WS"), "/swap/secret.txt"));
  read_quietly(joined(given("X_WS"), "/swap/../outside/secret.txt"));
}

ATTACK(race_folder_against_link) {
  const char *folder = joined(given("X_WS"), "/swap"), *link = joined(given("X_WS"), "/swap-link");
  if (mkdir(folder, 0755) != 0 || symlink(given("X_OUT"), link) != 0) broken("set up");
  while_exchanging(folder, link, read_raced_secret);
  refused_by("race", "NOTHING");
}

static void climb_raced(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/deep/a/../../../outside/secret.txt", given("X_WS"));
  read_quietly(path);
  int folder = open(joined(given("X_WS"), "/deep/a"), O_PATH | O_CLOEXEC);
  if (folder < 0) return;
  int fd = openat(folder, "../../../outside/secret.txt", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) read_for_canary("openat while moved", fd);
  if (fd >= 0) close(fd);
  close(folder);
}

/* `..` while the folder is being moved to another depth. */
ATTACK(race_moves_against_dots) {
  const char *workspace = given("X_WS");
  if (mkdir(joined(workspace, "/deep"), 0755) != 0 || mkdir(joined(workspace, "/deep/a"), 0755) != 0 ||
      mkdir(joined(workspace, "/flat"), 0755) != 0) {
    broken("set up");
  }
  while_exchanging(joined(workspace, "/deep/a"), joined(workspace, "/flat"), climb_raced);
  refused_by("race", "NOTHING");
}

static void read_hidden_quietly(void) {
  read_quietly(given("X_HIDDEN_FILE"));
  read_quietly(joined(given("X_WS"), "/decoy/hooks/pre-commit"));
  read_quietly(joined(given("X_WS"), "/.git/hooks/pre-commit"));
}

ATTACK(race_parent_of_hidden) {
  const char *workspace = given("X_WS"), *decoy = joined(workspace, "/decoy");
  if (mkdir(decoy, 0755) != 0) broken("mkdir");
  while_exchanging(joined(workspace, "/.git"), decoy, read_hidden_quietly);
  refused_by("race", "NOTHING");
}

/* ---- the whole tree */

static void walk(const char *folder, int depth) {
  DIR *entries = depth > 6 ? NULL : opendir(folder);
  if (entries == NULL) return;
  for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    char *path = joined(joined(folder, strcmp(folder, "/") == 0 ? "" : "/"), name);
    static const char *const SKIPPED[] = {"/usr", "/proc", "/lib", "/lib64", "/bin", "/sbin"};
    bool skip = false;
    for (size_t i = 0; i < sizeof SKIPPED / sizeof SKIPPED[0]; i++) skip = skip || strcmp(path, SKIPPED[i]) == 0;
    if (!skip && entry->d_type == DT_DIR) walk(path, depth + 1);
    if (!skip && entry->d_type == DT_REG) read_quietly(path);
    free(path);
  }
  closedir(entries);
}

ATTACK(search_everything) {
  walk("/", 0);
  refused_by("search", "NOTHING");
}

/* ---- overlay tricks */

ATTACK(whiteout_device) {
  const char *path = joined(given("X_WS"), "/white");
  must_fail("mknod of a whiteout", mknod(path, S_IFCHR | 0666, makedev(0, 0)));
}

ATTACK(overlay_attributes) {
  static const char *const NAMES[] = {"trusted.overlay.redirect", "trusted.overlay.opaque", "user.overlay.redirect",
                                      "user.overlay.metacopy"};
  const char *folder = joined(given("X_WS"), "/redirected");
  if (mkdir(folder, 0755) != 0) broken("mkdir");
  for (size_t i = 0; i < 4; i++) {
    const char *value = given("X_OUT");
    if (syscall(SYS_setxattr, folder, NAMES[i], value, strlen(value), 0) != 0) refused(NAMES[i]);
  }
  try_read(joined(folder, "/secret.txt"));
}
