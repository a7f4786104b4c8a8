#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * One run:
 *
 *   fork → set up → backend → init says hello → command runs → init says how it ended → backend ends → all gone → report
 *                                       ↓ timeout, kill, limit, violation, the reader is gone
 *                                  kill everything → all gone → report
 *
 * The first cause wins. Whatever comes, the report is written only when no descendant is left.
 */

/* Sent to us when the thread that started us ends; only if its whole process ended we stop. */
enum { SIGNAL_PARENT_DIED = SIGUSR2 };

static const uint64_t MOST_REPORTED_VIOLATIONS = 50;
static const int64_t EXIT_GRACE_MS = 2000;

struct run {
  const struct supervise_options *options;
  struct report *report;
  struct watch *watch;
  int channel, signals, status, listener;
  pid_t parent, backend, init, forwarder;
  int64_t started_at, word_at;
  bool backend_reaped;
  int backend_status;
  bool has_cause;
  enum how cause;
  bool has_word;
  int word_status, exec_errno;
  bool has_failure;
  struct setup_failure failure;
  uint64_t violations;
};

static void set_cause(struct run *run, enum how cause) {
  if (run->has_cause || run->has_word) return;
  run->has_cause = true;
  run->cause = cause;
}

/* ---- start */

static int open_signals(void) {
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

static void tie_to_parent(struct run *run) {
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

static void start_backend(struct run *run) {
  int ends[2], status[2];
  if (!channel_pair(ends) || pipe2(status, O_CLOEXEC) != 0) internal_error("make the channel");
  send_environment(run, ends[0]);
  run->started_at = now_ms();
  run->backend = fork();
  if (run->backend < 0) internal_error("fork");
  if (run->backend == 0) {
    close(ends[0]);
    close(status[0]);
    run_backend(run->options, ends[1], status[1]);
  }
  close(ends[1]);
  close(status[1]);
  run->channel = ends[0];
  run->status = status[0];
}

/* Lets go of the command's streams: its reader and writer must see an end when the command closes them. */
static void drop_streams(void) {
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

/* ---- what happens */

static void on_signals(struct run *run) {
  struct signalfd_siginfo info;
  while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) set_cause(run, HOW_KILLED);
    if (info.ssi_signo == SIGNAL_PARENT_DIED && getppid() != run->parent) set_cause(run, HOW_KILLED);
  }
  reap_ended(run->backend, &run->backend_status, &run->backend_reaped);
}

static void on_setup_failure(struct run *run) {
  ssize_t got = read(run->status, &run->failure, sizeof run->failure);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got == (ssize_t)sizeof run->failure) {
    run->failure.step[sizeof run->failure.step - 1] = '\0';
    run->has_failure = true;
  }
  close(run->status);
  run->status = -1;
}

static void on_word(struct run *run, const struct received *received) {
  int32_t value = received->message.value;
  bool from_init = run->init != 0 && received->sender == run->init;
  switch (received->message.word) {
    case WORD_HELLO:
      if (run->init != 0 || received->sender <= 0) return;
      run->init = received->sender;
      report_started(run->report, run->init);
      return;
    case WORD_FORWARDER:
      run->forwarder = received->sender;
      return;
    case WORD_EXEC_FAILED:
      run->exec_errno = value;
      return;
    case WORD_SETUP_FAILED:
      run->has_failure = true;
      run->failure.error = value;
      snprintf(run->failure.step, sizeof run->failure.step, "set up the command's limits");
      return;
    case WORD_STATUS:
      if (!from_init || run->has_word || run->has_cause) return;
      run->has_word = true;
      run->word_status = value;
      run->word_at = now_ms();
      return;
    default:
      return;
  }
}

static void on_channel(struct run *run) {
  struct received received;
  int got;
  while ((got = channel_receive(run->channel, &received)) > 0) {
    if (received.message.word == WORD_LISTENER && run->listener < 0) {
      run->listener = received.fd;
      continue;
    }
    if (received.fd >= 0) close(received.fd);
    on_word(run, &received);
  }
  if (got == 0) return;
  close(run->channel);
  run->channel = -1;
}

static void on_notification(struct run *run) {
  struct violation violation;
  int got = notify_refuse(run->listener, run->options->fatal, &violation);
  if (got < 0) {
    close(run->listener);
    run->listener = -1;
  }
  if (got <= 0) return;
  if (++run->violations <= MOST_REPORTED_VIOLATIONS) report_violation(run->report, &violation);
  if (violation.fatal || run->violations >= run->options->max_violations) set_cause(run, HOW_VIOLATION);
}

static void on_time(struct run *run) {
  uint64_t value;
  int64_t now = now_ms();
  if (run->options->wall_ms != 0 && now - run->started_at >= (int64_t)run->options->wall_ms) set_cause(run, HOW_TIMEOUT);
  if (run->init == 0 || run->has_word) return;
  enum watch_limit limit = watch_tick(run->watch, run->init, run->forwarder, &value);
  if (limit == LIMIT_NONE || run->has_cause) return;
  set_cause(run, HOW_LIMIT);
  report_limit(run->report, limit, value);
}

/* ---- the loop */

static int wait_ms(const struct run *run) {
  int64_t wait = run->init == 0 || run->has_word ? -1 : watch_wait_ms(run->watch);
  int64_t now = now_ms();
  if (run->has_word) {
    int64_t rest = run->word_at + EXIT_GRACE_MS - now;
    wait = rest < 0 ? 0 : rest;
  } else if (run->options->wall_ms != 0) {
    int64_t rest = run->started_at + (int64_t)run->options->wall_ms - now;
    if (rest < 0) rest = 0;
    if (wait < 0 || rest < wait) wait = rest;
  }
  return wait > 60000 ? 60000 : (int)wait;
}

static bool is_over(const struct run *run) {
  if (run->has_cause || run->backend_reaped) return true;
  /* Its init should be gone at once after its last word. */
  return run->has_word && now_ms() - run->word_at >= EXIT_GRACE_MS;
}

static void step(struct run *run) {
  struct pollfd fds[] = {{.fd = run->signals, .events = POLLIN},
                         {.fd = run->channel, .events = POLLIN},
                         {.fd = run->listener, .events = POLLIN},
                         {.fd = run->status, .events = POLLIN},
                         {.fd = report_fd(run->report), .events = 0}};
  int ready = poll(fds, sizeof fds / sizeof fds[0], wait_ms(run));
  if (ready < 0 && errno != EINTR) set_cause(run, HOW_KILLED);
  if (ready > 0) {
    if (fds[1].revents != 0) on_channel(run);
    if (fds[2].revents & POLLIN) {
      on_notification(run);
    } else if (fds[2].revents != 0) {
      close(run->listener);
      run->listener = -1;
    }
    if (fds[3].revents != 0) on_setup_failure(run);
    if (fds[0].revents != 0) on_signals(run);
    if (fds[4].revents & (POLLHUP | POLLERR | POLLNVAL)) set_cause(run, HOW_KILLED);
  }
  on_time(run);
}

/* ---- end */

static void say_how(const struct run *run, struct ending *ending) {
  if (run->has_cause) {
    ending->how = run->cause;
  } else if (run->exec_errno != 0) {
    ending->how = HOW_EXEC_FAILED;
    ending->error = run->exec_errno;
    ending->code = run->exec_errno == ENOENT ? 127 : 126;
  } else if (run->has_word && !run->has_failure) {
    bool signalled = WIFSIGNALED(run->word_status);
    ending->how = signalled ? HOW_SIGNALLED : HOW_EXITED;
    ending->signal = signalled ? WTERMSIG(run->word_status) : 0;
    ending->code = signalled ? 128 + ending->signal : WEXITSTATUS(run->word_status);
  } else {
    ending->how = HOW_BACKEND_FAILED;
    ending->code = WIFEXITED(run->backend_status) ? WEXITSTATUS(run->backend_status) : 0;
    ending->signal = WIFSIGNALED(run->backend_status) ? WTERMSIG(run->backend_status) : 0;
  }
  if (run->has_failure) {
    ending->error = run->failure.error;
    ending->message = run->failure.step;
  }
}

static uint64_t milliseconds(struct timeval time) { return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000; }

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void add_usage(const struct run *run, struct ending *ending) {
  struct rusage used;
  struct usage seen = watch_usage(run->watch);
  if (getrusage(RUSAGE_CHILDREN, &used) != 0) memset(&used, 0, sizeof used);
  ending->usage.user_ms = larger(milliseconds(used.ru_utime), seen.user_ms);
  ending->usage.system_ms = larger(milliseconds(used.ru_stime), seen.system_ms);
  ending->max_rss_bytes = (uint64_t)used.ru_maxrss * 1024;
}

static void finish(struct run *run) {
  struct ending ending = {0};
  /* Its init ends and counts everything better than we can from outside; what it does not do in time, we do. */
  if (!run->backend_reaped && run->init != 0 && run->channel >= 0 && channel_send(run->channel, WORD_END, 0, -1)) {
    await_backend(run->backend, &run->backend_status, &run->backend_reaped);
  }
  ending.left = kill_everything(run->backend, &run->backend_status, &run->backend_reaped);
  /* Its last words may have come together with its end. */
  if (run->channel >= 0) on_channel(run);
  if (run->status >= 0) on_setup_failure(run);
  say_how(run, &ending);
  add_usage(run, &ending);
  ending.wall_ms = (uint64_t)(now_ms() - run->started_at);
  ending.violations = run->violations;
  report_ended(run->report, &ending);
}

int supervise_main(struct args *args) {
  static struct supervise_options options;
  supervise_options(args, &options);
  struct run run = {.options = &options, .listener = -1};
  run.report = report_open(options.report_fd);
  run.signals = open_signals();
  tie_to_parent(&run);
  if (report_reader_is_gone(run.report)) return EXIT_INTERNAL;
  run.watch = watch_new(&options);
  start_backend(&run);
  drop_streams();
  while (!is_over(&run)) step(&run);
  finish(&run);
  watch_free(run.watch);
  report_close(run.report);
  return 0;
}
