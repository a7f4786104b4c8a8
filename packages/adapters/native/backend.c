#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static _Noreturn void fail(int status_fd, const char *step, int error) {
  struct setup_failure failure = {.error = error};
  snprintf(failure.step, sizeof failure.step, "%s", step);
  /* When even this cannot be said, the exit code below still tells that the backend did not run. */
  if (!write_all(status_fd, &failure, sizeof failure)) _exit(EXIT_INTERNAL);
  _exit(127);
}

/*
 * cgroup v1 moves a single-threaded process a hundred times faster by its task than by its process, which waits for
 * every processor; v2 has only the latter.
 */
static bool join_cgroup(const char *folder) {
  static const char *const files[] = {"tasks", "cgroup.procs"};
  char path[4096];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    int length = snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    if (length < 0 || (size_t)length >= sizeof path) {
      errno = ENAMETOOLONG;
      return false;
    }
    if (write_small_file(path, "0")) return true;
    if (errno != ENOENT) return false;
  }
  return false;
}

static bool join_cgroups(const struct supervise_options *options) {
  for (size_t i = 0; i < options->cgroup_count; i++) {
    if (!join_cgroup(options->cgroups[i])) return false;
  }
  return true;
}

static bool mount_all(const struct supervise_options *options, const char **step) {
  if (options->overlay_count + options->bind_count + options->view_count == 0) return true;
  const struct idmap *idmap = options->has_idmap ? &options->idmap : NULL;
  if (!enter_mount_namespace(step)) return false;
  for (size_t i = 0; i < options->overlay_count; i++) {
    if (!mount_overlay(&options->overlays[i], idmap, step)) return false;
  }
  for (size_t i = 0; i < options->bind_count; i++) {
    if (!mount_bind(&options->binds[i], idmap, step)) return false;
  }
  if (options->view_count > 0 && !mount_empty(options->views[0].empty, step)) return false;
  for (size_t i = 0; i < options->view_count; i++) {
    if (!mount_view(&options->views[i], step)) return false;
  }
  return true;
}

static bool become_user(const struct supervise_options *options) {
  if (!options->has_user) return true;
  return setgroups(0, NULL) == 0 && setresgid(options->gid, options->gid, options->gid) == 0 &&
         setresuid(options->uid, options->uid, options->uid) == 0;
}

/* Leaves 0, 1, 2 and the channel; the status descriptor and the program stay too but close on exec. */
static int keep_descriptors(int channel, int status_fd, int *program, int wanted) {
  enum { STATUS = 1, PROGRAM = 2, FIRST_FREE = 3 };
  int status = fcntl(status_fd, F_DUPFD_CLOEXEC, wanted + FIRST_FREE);
  int kept = fcntl(channel, F_DUPFD_CLOEXEC, wanted + FIRST_FREE);
  if (status < 0 || kept < 0) return -1;
  if (*program >= 0) *program = fcntl(*program, F_DUPFD_CLOEXEC, wanted + FIRST_FREE);
  if (*program >= 0 && (*program = dup3(*program, wanted + PROGRAM, O_CLOEXEC)) < 0) return -1;
  if (dup2(kept, wanted) < 0 || dup3(status, wanted + STATUS, O_CLOEXEC) < 0) return -1;
  for (int fd = 3; fd < wanted; fd++) close(fd);
  if (*program < 0) close(wanted + PROGRAM);
  return close_from((unsigned)(wanted + FIRST_FREE)) ? wanted + STATUS : -1;
}

static void reset_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Opened before the user changes: where the sandbox's user cannot look into the folder that the program is in, it can
 * still be started. -1 for a name to be searched, and for what cannot be opened; then starting it says why.
 */
static int open_program(const char *name) { return strchr(name, '/') == NULL ? -1 : open(name, O_PATH | O_CLOEXEC); }

static void execute(int program, char **command) {
  if (program >= 0) syscall(SYS_execveat, program, "", command, environ, AT_EMPTY_PATH);
  /* Scripts, and kernels that cannot do the above. */
  execvp(command[0], command);
}

_Noreturn void run_backend(const struct supervise_options *options, int channel, int status_fd) {
  const char *step = "join the cgroup";
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(status_fd, "tie it to its supervisor", errno);
  if (!join_cgroups(options)) fail(status_fd, step, errno);
  int program = open_program(options->command[0]);
  if (!mount_all(options, &step)) fail(status_fd, step, errno);
  if (!become_user(options)) fail(status_fd, "become the unprivileged user", errno);
  /* A change of user takes the tie away; the parent may have died while there was none. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(status_fd, "tie it to its supervisor", errno);
  if (getppid() != options->supervisor) _exit(EXIT_INTERNAL);
  int status = keep_descriptors(channel, status_fd, &program, options->channel_fd);
  if (status < 0) fail(status_fd, "set up its descriptors", errno);
  reset_signals();
  execute(program, options->command);
  fail(status, "start the backend", errno);
}
