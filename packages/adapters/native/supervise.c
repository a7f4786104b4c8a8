#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "supervise.h"

/*
 * One run:
 *
 *   fork → set up → backend → init says hello → command runs → init says how it ended → backend ends → all gone → report
 *                                       ↓ timeout, kill, limit, violation, the reader is gone
 *                                  kill everything → all gone → report
 *
 * The first cause wins. Whatever comes, the report is written only when no descendant is left.
 */

static const uint64_t MOST_REPORTED_VIOLATIONS = 50;
/* Its init should be gone at once after its last word; without a pid namespace something may be in its way. */
static const int64_t EXIT_GRACE_MS = 2000, SHORT_GRACE_MS = 200;

static void set_cause(struct run *run, enum how cause) {
  if (run->has_cause || run->has_word) return;
  run->has_cause = true;
  run->cause = cause;
}

/* ---- what happens */

static void on_signals(struct run *run) {
  struct signalfd_siginfo info;
  while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) set_cause(run, HOW_KILLED);
    if (info.ssi_signo == SIGNAL_PARENT_DIED && getppid() != run->parent) set_cause(run, HOW_KILLED);
  }
  reap_ended(&run->reaper);
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

static int64_t grace_end(const struct run *run) {
  return run->word_at + (run->in_namespace ? EXIT_GRACE_MS : SHORT_GRACE_MS);
}

static int wait_ms(const struct run *run) {
  int64_t wait = run->init == 0 || run->has_word ? -1 : watch_wait_ms(run->watch);
  int64_t now = now_ms();
  if (run->has_word) {
    int64_t rest = grace_end(run) - now;
    wait = rest < 0 ? 0 : rest;
  } else if (run->options->wall_ms != 0) {
    int64_t rest = run->started_at + (int64_t)run->options->wall_ms - now;
    if (rest < 0) rest = 0;
    if (wait < 0 || rest < wait) wait = rest;
  }
  return wait > 60000 ? 60000 : (int)wait;
}

static bool is_over(const struct run *run) {
  if (run->has_cause || run->reaper.ended) return true;
  return run->has_word && now_ms() >= grace_end(run);
}

static void step(struct run *run) {
  bool watching = run->init != 0 && !run->has_word;
  struct pollfd fds[] = {{.fd = run->signals, .events = POLLIN},
                         {.fd = run->channel, .events = POLLIN},
                         {.fd = run->listener, .events = POLLIN},
                         {.fd = run->status, .events = POLLIN},
                         {.fd = report_fd(run->report), .events = 0},
                         /* Whatever it holds is taken when the watch looks. */
                         {.fd = watching ? watch_fd(run->watch) : -1, .events = POLLIN}};
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

int supervise_main(struct args *args) {
  static struct supervise_options options;
  supervise_options(args, &options);
  struct run run = {.options = &options, .listener = -1};
  run.report = report_open(options.report_fd);
  run.signals = open_supervisor_signals();
  tie_to_parent(&run);
  if (report_reader_is_gone(run.report)) return EXIT_INTERNAL;
  run.watch = watch_new(&options, &run.reaper);
  start_backend(&run);
  drop_streams();
  while (!is_over(&run)) step(&run);
  finish_run(&run);
  watch_free(run.watch);
  report_close(run.report);
  return 0;
}
