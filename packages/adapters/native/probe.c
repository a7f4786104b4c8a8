#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

struct folders {
  char base[4096], lower[4200], upper[4200], work[4200], target[4200];
};

struct probe {
  struct folders folders;
  bool has_user;
  uid_t uid;
  gid_t gid;
};

static int become_user(const struct probe *probe) {
  if (!probe->has_user) return 0;
  if (setgroups(0, NULL) != 0 || setresgid(probe->gid, probe->gid, probe->gid) != 0 ||
      setresuid(probe->uid, probe->uid, probe->uid) != 0) {
    return errno;
  }
  /* A change of user makes /proc/self root's, which would forbid writing our own map. */
  return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 ? 0 : errno;
}

static int try_userns(const struct probe *probe) {
  const char *step;
  int error = become_user(probe);
  if (error != 0) return error;
  if (geteuid() == 0) return unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
  return enter_mount_namespace(&step) ? 0 : errno;
}

static struct overlay overlay_of(const struct folders *folders) {
  return (struct overlay){
      .lower = folders->lower, .upper = folders->upper, .work = folders->work, .target = folders->target};
}

/* Deletes a file of the lower layer and looks for the whiteout: a mount alone proves little. */
static int try_overlay(const struct probe *probe) {
  const char *step;
  char path[8400];
  struct stat state;
  struct overlay overlay = overlay_of(&probe->folders);
  if (!enter_mount_namespace(&step) || !mount_overlay(&overlay, NULL, &step)) return errno;
  snprintf(path, sizeof path, "%s/file", probe->folders.target);
  if (unlink(path) != 0) return errno;
  snprintf(path, sizeof path, "%s/file", probe->folders.upper);
  if (lstat(path, &state) != 0) return errno;
  return S_ISCHR(state.st_mode) && state.st_rdev == makedev(0, 0) ? 0 : EINVAL;
}

static int try_idmap(const struct probe *probe) {
  const char *step;
  char path[8400];
  struct stat state;
  struct overlay overlay = overlay_of(&probe->folders);
  struct idmap idmap = {.from_uid = geteuid(), .to_uid = 65534, .from_gid = getegid(), .to_gid = 65534};
  if (geteuid() != 0) return EPERM;
  if (!enter_mount_namespace(&step) || !mount_overlay(&overlay, &idmap, &step)) return errno;
  snprintf(path, sizeof path, "%s/file", probe->folders.target);
  if (lstat(path, &state) != 0) return errno;
  return state.st_uid == 65534 ? 0 : EINVAL;
}

static int try_notify(const struct probe *probe) {
  struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
  struct sock_fprog program = {.len = 1, .filter = &allow};
  int error = become_user(probe);
  if (error != 0) return error;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  return listener >= 0 ? 0 : errno;
}

static long landlock_abi(void) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  return abi < 0 ? 0 : abi;
}

/* In a child, because what is tried cannot be taken back. */
static int in_child(int (*attempt)(const struct probe *), const struct probe *probe) {
  int status;
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(attempt(probe) & 255);
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

static bool make_folder(char *path, size_t room, const char *base, const char *name) {
  int length = snprintf(path, room, "%s/%s", base, name);
  return length > 0 && (size_t)length < room && mkdir(path, 0700) == 0;
}

static bool make_folders(struct folders *folders, const char *base) {
  int length = snprintf(folders->base, sizeof folders->base, "%s/probe-XXXXXX", base);
  if (length < 0 || (size_t)length >= sizeof folders->base || mkdtemp(folders->base) == NULL) return false;
  if (!make_folder(folders->lower, sizeof folders->lower, folders->base, "lower") ||
      !make_folder(folders->upper, sizeof folders->upper, folders->base, "upper") ||
      !make_folder(folders->work, sizeof folders->work, folders->base, "work") ||
      !make_folder(folders->target, sizeof folders->target, folders->base, "target")) {
    return false;
  }
  char file[8400];
  snprintf(file, sizeof file, "%s/file", folders->lower);
  int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return fd >= 0 && close(fd) == 0;
}

static int remove_one(const char *path, const struct stat *state, int type, struct FTW *where) {
  (void)state;
  (void)type;
  (void)where;
  return remove(path) == 0 ? 0 : errno;
}

/* A fresh set for each attempt: an upper layer must not be used twice. */
static int with_folders(int (*attempt)(const struct probe *), struct probe *probe, const char *base) {
  int result = make_folders(&probe->folders, base) ? in_child(attempt, probe) : errno;
  char kept[4300];
  snprintf(kept, sizeof kept, "%s/work", probe->folders.work);
  /* The kernel leaves it closed to its owner; without an overlay it is not there. */
  if (chmod(kept, 0700) != 0 && errno != ENOENT) result = result != 0 ? result : errno;
  int removed = nftw(probe->folders.base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  return result != 0 ? result : removed;
}

static void print_fact(const char *name, const char *error_name, int error) {
  printf("\"%s\":%s,\"%s\":%d,", name, error == 0 ? "true" : "false", error_name, error);
}

int probe_main(struct args *args) {
  static struct probe probe;
  const char *base = NULL;
  for (;;) {
    if (args_next_is(args, "--dir")) {
      base = args_take(args, "--dir");
    } else if (args_next_is(args, "--uid")) {
      probe.uid = (uid_t)args_take_number(args, "--uid", UINT32_MAX - 1);
      probe.has_user = true;
    } else if (args_next_is(args, "--gid")) {
      probe.gid = (gid_t)args_take_number(args, "--gid", UINT32_MAX - 1);
    } else {
      break;
    }
  }
  if (args->next != args->count) usage_error("not understood", args->items[args->next]);
  if (base == NULL) usage_error("missing", "--dir");
  struct utsname system;
  if (uname(&system) != 0) internal_error("uname");
  putchar('{');
  print_fact("userns", "userNsErrno", in_child(try_userns, &probe));
  print_fact("overlay", "overlayErrno", with_folders(try_overlay, &probe, base));
  print_fact("idmap", "idmapErrno", with_folders(try_idmap, &probe, base));
  print_fact("seccompNotify", "seccompNotifyErrno", in_child(try_notify, &probe));
  printf("\"landlockAbi\":%ld,\"kernel\":", landlock_abi());
  json_ascii(stdout, system.release);
  puts("}");
  return fflush(stdout) == 0 ? 0 : EXIT_INTERNAL;
}
