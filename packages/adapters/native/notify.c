#include "launcher.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Larger than any kernel's structures so far; a kernel with larger ones is noticed and answered with a failure. */
union request {
  struct seccomp_notif notification;
  char room[1024];
};
union response {
  struct seccomp_notif_resp answer;
  char room[1024];
};

static bool sizes_fit(void) {
  struct seccomp_notif_sizes sizes;
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
  return sizes.seccomp_notif <= sizeof(union request) && sizes.seccomp_notif_resp <= sizeof(union response);
}

static void read_comm(struct violation *violation) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/comm", (int)violation->pid);
  if (violation->pid <= 0 || read_small_file(path, violation->comm, sizeof violation->comm) < 0) violation->comm[0] = '\0';
  violation->comm[strcspn(violation->comm, "\n")] = '\0';
}

int notify_refuse(int listener, const bool *fatal, struct violation *violation) {
  union request request;
  union response response;
  memset(&request, 0, sizeof request);
  memset(&response, 0, sizeof response);
  if (!sizes_fit()) return -1;
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return errno == ENOENT || errno == EINTR ? 0 : -1;
  violation->nr = request.notification.data.nr;
  violation->arch = request.notification.data.arch;
  violation->pid = (pid_t)request.notification.pid;
  read_comm(violation);
  /* Left without an answer it cannot go on before it is killed. */
  violation->fatal = violation->nr >= 0 && violation->nr < MAX_SYSCALL && fatal[violation->nr];
  if (violation->fatal) return 1;
  response.answer.id = request.notification.id;
  response.answer.error = -EPERM;
  /* ENOENT: the caller died meanwhile. The attempt was made all the same. */
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0 && errno != ENOENT) return -1;
  return 1;
}
