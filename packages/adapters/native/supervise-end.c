#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "supervise.h"

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
    ending->code = WIFEXITED(run->reaper.status) ? WEXITSTATUS(run->reaper.status) : 0;
    ending->signal = WIFSIGNALED(run->reaper.status) ? WTERMSIG(run->reaper.status) : 0;
  }
  if (run->has_failure) {
    ending->error = run->failure.error;
    ending->message = run->failure.step;
  }
}

static uint64_t microseconds(struct timeval time) { return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec; }

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t without(uint64_t all, uint64_t part) { return all > part ? all - part : 0; }

static void add_usage(const struct run *run, struct ending *ending) {
  struct rusage used;
  struct usage seen = watch_usage(run->watch);
  const struct usage *helpers = &run->reaper.helper_usage;
  if (getrusage(RUSAGE_CHILDREN, &used) != 0) memset(&used, 0, sizeof used);
  ending->user_ms = larger(without(microseconds(used.ru_utime), helpers->user_us), seen.user_us) / 1000;
  ending->system_ms = larger(without(microseconds(used.ru_stime), helpers->system_us), seen.system_us) / 1000;
  ending->max_rss_bytes = (uint64_t)used.ru_maxrss * 1024;
}

void finish_run(struct run *run) {
  struct ending ending = {0};
  /*
   * In a pid namespace its init ends and counts everything better than we can from outside; what it does not do in time,
   * we do. Without one it has no advantage, and to wait would only give a fork bomb time.
   */
  if (!run->reaper.ended && run->in_namespace && run->channel >= 0 && channel_send(run->channel, WORD_END, 0, -1)) {
    await_main(&run->reaper);
  }
  ending.left = kill_everything(&run->reaper);
  /* Its last words may have come together with its end. */
  if (run->channel >= 0) on_channel(run);
  if (run->status >= 0) on_setup_failure(run);
  say_how(run, &ending);
  add_usage(run, &ending);
  ending.wall_ms = (uint64_t)(now_ms() - run->started_at);
  ending.violations = run->violations;
  report_ended(run->report, &ending);
}
