#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "supervise.h"

int open_supervisor_signals(void) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGNAL_PARENT_DIED);
  if (sigprocmask(SIG_BLOCK, &wanted, NULL) != 0) internal_error("block signals");
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGHUP, SIG_IGN) == SIG_ERR) internal_error("ignore signals");
  /* Ignored by whoever started us, it would make the kernel throw away what our children used. */
  if (signal(SIGCHLD, SIG_DFL) == SIG_ERR) internal_error("take signals");
  int fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) internal_error("take signals");
  return fd;
}

void tie_to_parent(struct run *run) {
  run->parent = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGNAL_PARENT_DIED) != 0) internal_error("tie to the parent");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) internal_error("become the reaper");
  /* Fails only for a group leader, which has what it wants already. */
  if (setsid() < 0 && errno != EPERM) internal_error("start a session");
}

static void send_environment(const struct run *run, int channel) {
  if (run->options->env_fd < 0) return;
  int file = environment_file(run->options->env_fd);
  if (file < 0 || !channel_send(channel, WORD_ENVIRONMENT, 0, file)) internal_error("hand over the environment");
  close(file);
  close(run->options->env_fd);
}

void start_backend(struct run *run) {
  int ends[2], status[2];
  if (!channel_pair(ends) || pipe2(status, O_CLOEXEC) != 0) internal_error("make the channel");
  send_environment(run, ends[0]);
  run->started_at = now_ms();
  run->reaper.main = fork();
  if (run->reaper.main < 0) internal_error("fork");
  if (run->reaper.main == 0) {
    close(ends[0]);
    close(status[0]);
    run_backend(run->options, ends[1], status[1]);
  }
  close(ends[1]);
  close(status[1]);
  run->channel = ends[0];
  run->status = status[0];
}

void drop_streams(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; fd++) {
    if (null >= 0) {
      dup2(null, fd);
    } else {
      close(fd);
    }
  }
  if (null > 2) close(null);
}
