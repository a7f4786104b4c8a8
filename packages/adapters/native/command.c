#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static const char DEFAULT_PATH[] = "/usr/local/bin:/usr/bin:/bin";

static _Noreturn void fail(const struct init_options *options, enum word word, const char *what) {
  int error = errno;
  fprintf(stderr, "sallyport: cannot %s: %s\n", what, strerror(error));
  channel_send(options->channel_fd, word, error, -1);
  _exit(error == ENOENT ? 127 : 126);
}

static bool set_rlimits(const struct init_options *options) {
  for (size_t i = 0; i < options->rlimit_count; i++) {
    const struct rlimit_order *order = &options->rlimits[i];
    struct rlimit limit;
    if (getrlimit(order->resource, &limit) != 0) return false;
    rlim_t value = order->value;
    if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max) value = limit.rlim_max;
    limit.rlim_cur = limit.rlim_max = value;
    if (setrlimit(order->resource, &limit) != 0) return false;
  }
  return true;
}

static void reset_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  for (int number = 1; number < NSIG; number++) {
    /* Some cannot be set, which is as good as default. */
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool drop_inheritable_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2];
  /* EINVAL: a kernel before ambient capabilities has none to clear. */
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) return false;
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  sets[0].inheritable = sets[1].inheritable = 0;
  return syscall(SYS_capset, &header, sets) == 0;
}

static bool load_filter(const char *path, struct sock_fprog *program) {
  static char bytes[sizeof(struct sock_filter) * BPF_MAXINSNS + 2];
  ssize_t length = read_small_file(path, bytes, sizeof bytes);
  if (length < 0) return false;
  if (length == 0 || length % (ssize_t)sizeof(struct sock_filter) != 0 || length > (ssize_t)sizeof bytes - 2) {
    errno = EINVAL;
    return false;
  }
  static struct sock_filter instructions[BPF_MAXINSNS];
  memcpy(instructions, bytes, (size_t)length);
  program->filter = instructions;
  program->len = (unsigned short)((size_t)length / sizeof(struct sock_filter));
  return true;
}

/* From here on only what sends the listener and starts the command is called: the filter may refuse all else. */
static void install_filter(const struct init_options *options, struct sock_fprog *program) {
  unsigned long flags = options->notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
  long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
  if (listener < 0) fail(options, WORD_SETUP_FAILED, "install the system call filter");
  if (!options->notify) return;
  /* Nobody would answer: a call the filter hands over would then hang for ever. */
  if (!channel_send(options->channel_fd, WORD_LISTENER, 0, (int)listener)) _exit(126);
  close((int)listener);
}

/* Tries the name in one folder of PATH; returns only when that fails. */
static void try_folder(char **command, const char *folder, size_t length) {
  char path[4096];
  int written = snprintf(path, sizeof path, "%.*s/%s", length == 0 ? 1 : (int)length, length == 0 ? "." : folder, command[0]);
  if (written < 0 || (size_t)written >= sizeof path) {
    errno = ENAMETOOLONG;
    return;
  }
  execve(path, command, environ);
}

static void execute(char **command) {
  if (strchr(command[0], '/') != NULL) {
    execve(command[0], command, environ);
    return;
  }
  const char *folder = getenv("PATH");
  bool refused = false;
  if (folder == NULL) folder = DEFAULT_PATH;
  for (;;) {
    size_t length = strcspn(folder, ":");
    try_folder(command, folder, length);
    if (errno == EACCES) refused = true;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return;
    if (folder[length] == '\0') break;
    folder += length + 1;
  }
  errno = refused ? EACCES : ENOENT;
}

static _Noreturn void exec_failed(const struct init_options *options) {
  char what[512];
  int error = errno;
  snprintf(what, sizeof what, "run %s", options->command[0]);
  errno = error;
  fail(options, WORD_EXEC_FAILED, what);
}

_Noreturn void run_command(const struct init_options *options) {
  struct sock_fprog program;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(options, WORD_SETUP_FAILED, "tie the command to its init");
  if (getppid() != options->init) _exit(EXIT_INTERNAL);
  if (options->session && setsid() < 0) fail(options, WORD_SETUP_FAILED, "start a session");
  umask(022);
  if (options->filter != NULL && !load_filter(options->filter, &program)) {
    fail(options, WORD_SETUP_FAILED, "read the system call filter");
  }
  if (options->chdir != NULL && chdir(options->chdir) != 0) fail(options, WORD_EXEC_FAILED, "enter its folder");
  if (!drop_inheritable_capabilities()) fail(options, WORD_SETUP_FAILED, "drop capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(options, WORD_SETUP_FAILED, "renounce new privileges");
  /* A higher number is a lower priority; what is lower already stays so. */
  if (options->nice > getpriority(PRIO_PROCESS, 0) && setpriority(PRIO_PROCESS, 0, options->nice) != 0) {
    fail(options, WORD_SETUP_FAILED, "lower its priority");
  }
  if (!set_rlimits(options)) fail(options, WORD_SETUP_FAILED, "set its limits");
  reset_signals();
  if (options->filter != NULL) install_filter(options, &program);
  execute(options->command);
  exec_failed(options);
}
