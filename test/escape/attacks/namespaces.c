/* Getting capabilities in a namespace of one's own, or into somebody else's. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
  const char *name;
  unsigned long flag;
} KINDS[] = {{"user", 0x10000000}, {"mnt", 0x00020000}, {"pid", 0x20000000},    {"net", 0x40000000},
             {"ipc", 0x08000000},  {"uts", 0x04000000}, {"cgroup", 0x02000000}, {"time", 0x00000080}};

static unsigned long flag_of(const char *name) {
  for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
    if (strcmp(KINDS[i].name, name) == 0) return KINDS[i].flag;
  }
  broken(name);
}

static unsigned long flags_given(void) {
  unsigned long flags = 0;
  for (int i = 0; i < arg_count; i++) flags |= flag_of(args[i]);
  return flags;
}

ATTACK(unshare_namespaces) { must_fail("unshare", syscall(SYS_unshare, flags_given())); }

static void clone_with(unsigned long flags) {
  long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  must_fail("clone", child);
}

ATTACK(clone_namespaces) { clone_with(flags_given()); }

/* The kernel looks at 32 bits only; a filter that compares 64 is passed by. */
ATTACK(clone_with_upper_bits) { clone_with(flags_given() | 0xdeadbeef00000000UL); }

ATTACK(clone3_namespaces) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
  } order = {.flags = flags_given(), .exit_signal = SIGCHLD};
  long child = syscall(SYS_clone3, &order, sizeof order);
  if (child == 0) _exit(0);
  must_fail("clone3", child);
}

ATTACK(enter_namespaces_of_init) {
  for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/1/ns/%s", KINDS[i].name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      refused(path);
      continue;
    }
    must_fail("setns", syscall(SYS_setns, fd, 0));
  }
}

ATTACK(enter_own_namespace) {
  int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  must_fail("setns", syscall(SYS_setns, fd, 0));
}

ATTACK(enter_by_handle) {
  int handle = (int)syscall(SYS_pidfd_open, 1, 0);
  must_fail("setns", syscall(SYS_setns, handle, 0x10020000UL));
}

ATTACK(parent_of_user_namespace) {
  int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  if (fd < 0) broken("open");
  /* NS_GET_PARENT, NS_GET_USERNS: only within what one may see. */
  must_fail("NS_GET_PARENT", syscall(SYS_ioctl, fd, 0xb702UL, 0));
  int network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  int owner = (int)syscall(SYS_ioctl, network, 0xb701UL, 0);
  if (owner >= 0) must_fail("NS_GET_PARENT of the owner", syscall(SYS_ioctl, owner, 0xb702UL, 0));
}

static void write_map(const char *name, const char *text) {
  int fd = open(joined("/proc/self/", name), O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    refused(name);
    return;
  }
  must_fail(name, write(fd, text, strlen(text)));
  close(fd);
}

ATTACK(write_user_maps) {
  write_map("setgroups", "allow");
  write_map("uid_map", "0 0 4294967295");
  write_map("gid_map", "0 0 4294967295");
}

/* Anybody may map projects, which are for quotas; but no file may then be given to another one. */
ATTACK(take_project) {
  struct {
    uint32_t flags, extent, extents, project, copy_extent;
    unsigned char padding[8];
  } attributes = {0};
  const char *path = joined(given("X_WS"), "/project");
  int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644), map = open("/proc/self/projid_map", O_WRONLY | O_CLOEXEC);
  if (fd < 0) broken("create");
  if (map < 0 || write(map, "0 0 4294967295", 14) < 0) refused("projid_map");
  if (syscall(SYS_ioctl, fd, 0x801c581fUL /* FS_IOC_FSGETXATTR */, &attributes) != 0) {
    refused("FS_IOC_FSGETXATTR");
    return;
  }
  attributes.project = 42;
  must_fail("FS_IOC_FSSETXATTR", syscall(SYS_ioctl, fd, 0x401c5820UL, &attributes));
}
