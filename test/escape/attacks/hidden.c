/* Hidden paths within the workspace. */
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

ATTACK(rename_hidden) {
  const char *workspace = given("X_WS"), *decoy = joined(workspace, "/decoy");
  if (mkdir(decoy, 0755) != 0) broken("mkdir");
  /* The pin may be absent where it is not needed; what counts is that nothing hidden comes into view. */
  if (rename(joined(workspace, "/.git"), joined(workspace, "/moved")) != 0) refused("rename the parent");
  try_read(joined(workspace, "/moved/hooks/pre-commit"));
  if (syscall(SYS_renameat2, AT_FDCWD, joined(workspace, "/.git"), AT_FDCWD, decoy, 2) != 0) refused("exchange");
  try_read(joined(workspace, "/decoy/hooks/pre-commit"));
  if (rename(given("X_HIDDEN_FILE"), joined(workspace, "/shown")) != 0) refused("rename the file");
  try_read(joined(workspace, "/shown"));
  if (rename(joined(workspace, "/.sallyport"), joined(workspace, "/state")) != 0) refused("rename the state");
  try_read(joined(workspace, "/state/key.txt"));
}

ATTACK(link_hidden) {
  const char *shown = joined(given("X_WS"), "/shown");
  if (link(given("X_HIDDEN_FILE"), shown) != 0) refused("link");
  try_read(shown);
  unlink(shown);
  if (link(joined(given("X_WS"), "/.git/hooks/pre-commit"), shown) != 0) refused("link into a hidden folder");
  try_read(shown);
}

ATTACK(remove_masks) {
  if (unlink(given("X_HIDDEN_FILE")) != 0) refused("unlink");
  try_read(given("X_HIDDEN_FILE"));
  if (rmdir(joined(given("X_WS"), "/.git/hooks")) != 0) refused("rmdir");
  try_read(joined(given("X_WS"), "/.git/hooks/pre-commit"));
}

/* A file that a person's next `git commit` would run. The harness looks whether it came through to the host. */
ATTACK(plant_hook) {
  const char *workspace = given("X_WS"), *hook = joined(workspace, "/.git/hooks/post-commit");
  must_fail("create a hook", open(hook, O_CREAT | O_WRONLY, 0755));
  try_write(joined(workspace, "/.git/hooks/pre-commit"));
  must_fail("replace the folder by a link", symlink("/tmp", joined(workspace, "/.git/hooks")));
  if (rename(joined(workspace, "/.git"), joined(workspace, "/old")) != 0) {
    refused("rename the parent");
    return;
  }
  if (mkdir(joined(workspace, "/.git"), 0755) != 0 || mkdir(joined(workspace, "/.git/hooks"), 0755) != 0) broken("mkdir");
  if (open(hook, O_CREAT | O_WRONLY, 0755) >= 0) escaped("a hook was planted under the hidden name");
}

ATTACK(odd_names_of_hidden) {
  const char *workspace = given("X_WS");
  if (chdir(workspace) != 0) broken("chdir");
  try_read(".env");
  try_read("./.env");
  try_read(".git/../.env");
  try_read("/proc/self/cwd/.env");
  try_read(joined(workspace, "//.env"));
  try_read(joined("/proc/self/root", given("X_HIDDEN_FILE")));
  try_read(joined("/proc/thread-self/cwd", "/.sallyport/key.txt"));
  int folder = open(".", O_PATH | O_CLOEXEC);
  int fd = openat(folder, ".env", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) read_for_canary("openat", fd);
  refused_by("openat", fd < 0 ? "EACCES" : "NOTHING");
}
