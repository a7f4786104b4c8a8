/* Becoming somebody else, or getting capabilities. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

ATTACK(become_root) {
  must_fail("setuid", setuid(0));
  must_fail("setreuid", setreuid(0, 0));
  must_fail("setresuid", setresuid(0, 0, 0));
  must_fail("seteuid", seteuid(0));
}

ATTACK(become_group_root) {
  gid_t root = 0;
  must_fail("setgid", setgid(0));
  must_fail("setresgid", setresgid(0, 0, 0));
  must_fail("setgroups", setgroups(1, &root));
}

ATTACK(become_others) {
  static const uid_t USERS[] = {1, 33, 999, 1001, 65534, 100000};
  for (size_t i = 0; i < sizeof USERS / sizeof USERS[0]; i++) {
    if (USERS[i] != getuid()) must_fail("setuid", setuid(USERS[i]));
  }
}

ATTACK(file_system_user) {
  setfsuid(0);
  if (setfsuid((uid_t)-1) == 0) escaped("the file system user is root");
  setfsgid(0);
  if (setfsgid((gid_t)-1) == 0) escaped("the file system group is root");
  errno = EPERM;
  refused("setfsuid");
}

ATTACK(raise_capabilities) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2];
  memset(sets, 0xff, sizeof sets);
  must_fail("capset", syscall(SYS_capset, &header, sets));
  if (syscall(SYS_capget, &header, sets) != 0) broken("capget");
  if (sets[0].effective | sets[0].permitted | sets[0].inheritable) escaped("capabilities are held");
}

ATTACK(raise_ambient) {
  for (int capability = 0; capability < 41; capability++) {
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0) escaped("ambient %d", capability);
  }
  refused("PR_CAP_AMBIENT_RAISE");
  must_fail("PR_SET_SECUREBITS", prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS, 0, 0, 0));
}

ATTACK(bounding_set) {
  for (int capability = 0; capability < 41; capability++) {
    if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1) escaped("capability %d is within bounds", capability);
  }
  errno = EPERM;
  refused("bounding set");
}

ATTACK(take_back_no_new_privileges) {
  must_fail("PR_SET_NO_NEW_PRIVS", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) escaped("new privileges can be had");
}

ATTACK(file_capabilities) {
  struct vfs_cap_data data = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE};
  data.data[0].permitted = data.data[1].permitted = 0xffffffff;
  const char *path = joined(given("X_WS"), "/capable");
  int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
  if (fd < 0) broken("create");
  must_fail("setxattr", syscall(SYS_setxattr, path, "security.capability", &data, sizeof data, 0));
}

ATTACK(give_files_to_root) {
  const char *path = joined(given("X_WS"), "/given");
  int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
  if (fd < 0) broken("create");
  must_fail("chown", chown(path, 0, 0));
  must_fail("chown group", chown(path, (uid_t)-1, 0));
  must_fail("chown nobody", chown(path, 65533, (gid_t)-1));
}

/* Run again from a setuid file: says who we are. */
ATTACK(who_am_i) {
  uid_t real, effective, saved;
  gid_t groups[3];
  if (getresuid(&real, &effective, &saved) != 0 || getresgid(&groups[0], &groups[1], &groups[2]) != 0) broken("ids");
  if (real == 0 || effective == 0 || saved == 0) escaped("user %d/%d/%d", (int)real, (int)effective, (int)saved);
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) escaped("group root");
  if (real != effective || groups[0] != groups[1]) escaped("effective user %d", (int)effective);
  refused_by("root", "EPERM");
}

static void copy_file(const char *from, const char *to) {
  static char bytes[1 << 16];
  int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
  if (in < 0 || out < 0) broken("copy");
  for (ssize_t got; (got = read(in, bytes, sizeof bytes)) > 0;) {
    if (write(out, bytes, (size_t)got) != got) broken("copy");
  }
  close(in);
  close(out);
}

ATTACK(setuid_copy_of_ourselves) {
  const char *copy = joined(given("X_WS"), "/setuid-copy");
  copy_file("/proc/self/exe", copy);
  if (chmod(copy, 06755) != 0) refused("chmod");
  execl(copy, copy, "who_am_i", (char *)NULL);
  refused("exec");
}

/* A setuid root program that the host itself has put within reach. */
ATTACK(setuid_of_the_host) {
  execl(args[0], args[0], "who_am_i", (char *)NULL);
  refused("exec");
}

/* CVE-2019-5736: the program that started us is the host's. */
ATTACK(overwrite_launcher) {
  static const char *const PATHS[] = {"/proc/1/exe", "/proc/self/../1/exe", "/run/sallyport/launcher",
                                      "/run/sallyport/filter.bpf"};
  for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
    must_fail(PATHS[i], open(PATHS[i], O_WRONLY | O_CLOEXEC));
    must_fail(PATHS[i], open(PATHS[i], O_RDWR | O_TRUNC | O_CLOEXEC));
  }
  must_fail("unlink", unlink("/run/sallyport/launcher"));
  must_fail("rename", rename("/run/sallyport", "/run/other"));
  must_fail("create", open("/run/sallyport/new", O_CREAT | O_WRONLY, 0755));
}
