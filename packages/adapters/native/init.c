#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The first process inside: starts the command, passes signals on, reaps orphans, and says how the command ended.
 * When the command ends, or the supervisor says so or is gone, it ends everything else and reaps it: processes that the
 * kernel clears away with a namespace are not counted in anybody's usage.
 */

/* Nothing but the standard streams and the channel may come in; the channel must not reach the command. */
static void clean_descriptors(int channel) {
  for (int fd = 3; fd < channel; fd++) close(fd);
  close_from((unsigned)channel + 1);
  /* Without a supervisor (by hand, or a test) there is no channel; sending then fails quietly. */
  fcntl(channel, F_SETFD, FD_CLOEXEC);
}

static int open_signals(void) {
  static const int wanted[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) sigaddset(&set, wanted[i]);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) internal_error("block signals");
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGCHLD, SIG_DFL) == SIG_ERR) internal_error("take signals");
  int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) internal_error("take signals");
  return fd;
}

static void protect(void) {
  /* The command runs as the same user: it must be able neither to trace us nor to reach into our memory. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) internal_error("protect init");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) internal_error("become the reaper");
}

static void pass_signals(int signals, pid_t command) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo != SIGCHLD) kill(command, (int)info.ssi_signo);
  }
}

/* True when the supervisor wants an end, or is gone. */
static bool is_told_to_end(int channel) {
  struct received received;
  int got = channel_receive(channel, &received);
  if (got > 0 && received.fd >= 0) close(received.fd);
  return got < 0 || (got > 0 && received.message.word == WORD_END);
}

/* Returns when the command has ended, or at once when told to end. */
static void wait_for_command(struct reaper *reaper, int signals, const struct init_options *options) {
  struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = options->channel_fd, .events = POLLIN}};
  if (fcntl(options->channel_fd, F_GETFD) < 0) fds[1].fd = -1;
  for (;;) {
    reap_ended(reaper);
    if (reaper->ended) return;
    if (poll(fds, 2, -1) < 0 && errno != EINTR) internal_error("wait");
    if (fds[1].revents != 0 && is_told_to_end(options->channel_fd)) return;
    pass_signals(signals, reaper->main);
  }
}

/* As the first process of a pid namespace one call reaches all others at once, whatever they fork meanwhile. */
static void end_all(struct reaper *reaper) {
  if (!reap_ended(reaper)) return;
  if (getpid() != 1) {
    kill_everything(reaper);
    return;
  }
  kill(-1, SIGKILL);
  /* The supervisor loses patience when this takes too long, and takes the namespace away. */
  while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR) continue;
}

static int finish(const struct init_options *options, struct reaper *reaper) {
  bool ended = reaper->ended;
  int status = reaper->status;
  if (ended) channel_send(options->channel_fd, WORD_STATUS, status, -1);
  end_all(reaper);
  if (!ended) return 128 + SIGKILL;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * A backend may hand over capabilities of a namespace it made (runc's root does); nothing in here needs any. Root keeps
 * its own: then nothing isolates, and that was asked for.
 */
static void shed_capabilities(void) {
  if (geteuid() == 0) return;
  /* Fails without CAP_SETPCAP, where there is nothing to shed, and past the kernel's last capability. */
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++) continue;
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  syscall(SYS_capset, &header, none);
}

int init_main(struct args *args) {
  static struct init_options options;
  struct reaper reaper = {0};
  init_options(args, &options);
  shed_capabilities();
  clean_descriptors(options.channel_fd);
  int signals = open_signals();
  protect();
  channel_send(options.channel_fd, WORD_HELLO, 0, -1);
  if (options.environment && !take_environment(options.channel_fd)) internal_error("take the environment");
  if (options.forward_count != 0 && start_forwarder(&options) < 0) internal_error("start the forwarder");
  reaper.main = fork();
  if (reaper.main < 0) internal_error("fork");
  if (reaper.main == 0) run_command(&options);
  for (int fd = 0; fd < 3; fd++) close(fd);
  /* A supervisor that is gone is noticed by the closed channel: only alive can we end what it left. */
  if (prctl(PR_SET_PDEATHSIG, getpid() == 1 ? SIGKILL : 0) != 0) return EXIT_INTERNAL;
  wait_for_command(&reaper, signals, &options);
  return finish(&options, &reaper);
}
