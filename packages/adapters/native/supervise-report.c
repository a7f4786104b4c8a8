#include "launcher.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

struct report {
  int fd;
  FILE *out;
};

struct report *report_open(int fd) {
  struct report *report = calloc(1, sizeof *report);
  if (report == NULL) internal_error("no memory");
  report->fd = fd;
  if (fd < 0) return report;
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) internal_error("--report-fd");
  report->out = fdopen(fd, "w");
  if (report->out == NULL) internal_error("--report-fd");
  return report;
}

int report_fd(const struct report *report) { return report->fd; }

bool report_reader_is_gone(const struct report *report) {
  struct pollfd state = {.fd = report->fd};
  return report->fd >= 0 && poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* A reader that does not read must not stop us from killing: what it will not take is dropped. */
static bool can_write(const struct report *report, int wait_ms) {
  struct pollfd state = {.fd = report->fd, .events = POLLOUT};
  return report->out != NULL && poll(&state, 1, wait_ms) > 0 && (state.revents & POLLOUT) != 0;
}

void report_started(struct report *report, pid_t pid) {
  if (!can_write(report, 0)) return;
  fprintf(report->out, "{\"event\":\"started\",\"pid\":%d}\n", (int)pid);
  fflush(report->out);
}

void report_violation(struct report *report, const struct violation *violation) {
  if (!can_write(report, 0)) return;
  fprintf(report->out, "{\"event\":\"violation\",\"nr\":%" PRId32 ",\"arch\":%" PRIu32 ",\"pid\":%d,\"comm\":",
          violation->nr, violation->arch, (int)violation->pid);
  json_ascii(report->out, violation->comm);
  fputs("}\n", report->out);
  fflush(report->out);
}

void report_limit(struct report *report, enum watch_limit limit, uint64_t value) {
  static const char *const names[] = {"none", "memory", "cpu", "processes", "disk"};
  if (!can_write(report, 0)) return;
  fprintf(report->out, "{\"event\":\"limit\",\"limit\":\"%s\",\"value\":%" PRIu64 "}\n", names[limit], value);
  fflush(report->out);
}

void report_ended(struct report *report, const struct ending *ending) {
  static const char *const names[] = {"exited", "signalled", "timeout",        "killed",
                                      "limit",  "violation", "backend-failed", "exec-failed"};
  if (!can_write(report, 5000)) return;
  fprintf(report->out,
          "{\"event\":\"ended\",\"how\":\"%s\",\"code\":%d,\"signal\":%d,\"errno\":%d,\"userMs\":%" PRIu64
          ",\"systemMs\":%" PRIu64 ",\"maxRssBytes\":%" PRIu64 ",\"wallMs\":%" PRIu64 ",\"violations\":%" PRIu64
          ",\"left\":%zu",
          names[ending->how], ending->code, ending->signal, ending->error, ending->user_ms,
          ending->system_ms, ending->max_rss_bytes, ending->wall_ms, ending->violations, ending->left);
  if (ending->message != NULL) {
    fputs(",\"message\":", report->out);
    json_ascii(report->out, ending->message);
  }
  fputs("}\n", report->out);
  fflush(report->out);
}

void report_close(struct report *report) {
  if (report->out != NULL) fclose(report->out);
  free(report);
}
