#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * As the only user of a namespace the helper may look into folders that their owner has closed, as root may anyway.
 * Where there are no such namespaces, a closed folder counts as over the limit.
 */
static void take_rights(void) {
  const char *step;
  if (geteuid() != 0 && !enter_mount_namespace(&step)) return;
}

/* One descriptor is open per level. */
static void allow_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static _Noreturn void measure(const struct supervise_options *options, int result) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(EXIT_INTERNAL);
  take_rights();
  /* New rights take the tie away. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != options->supervisor) _exit(EXIT_INTERNAL);
  allow_descriptors();
  uint64_t bytes = disk_used(options->disk_paths, options->disk_path_count, options->watch_disk);
  _exit(write_all(result, &bytes, sizeof bytes) ? 0 : EXIT_INTERNAL);
}

bool disk_start(struct disk_job *job, const struct supervise_options *options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  job->helper = fork();
  if (job->helper == 0) measure(options, ends[1]);
  close(ends[1]);
  if (job->helper < 0) {
    close(ends[0]);
    return false;
  }
  job->result = ends[0];
  return true;
}

enum disk_answer disk_answer(struct disk_job *job, uint64_t *bytes) {
  ssize_t got = read(job->result, bytes, sizeof *bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return DISK_PENDING;
  close(job->result);
  job->result = -1;
  return got == (ssize_t)sizeof *bytes ? DISK_KNOWN : DISK_FAILED;
}
