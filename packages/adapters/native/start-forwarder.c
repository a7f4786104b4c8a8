#include "launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int listen_on(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 128) == 0) {
    return fd;
  }
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Two descriptors for each connection; the command's own limits come later and only for the command. */
static void allow_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

pid_t start_forwarder(const struct init_options *options) {
  int listeners[MAX_FORWARDS];
  for (size_t i = 0; i < options->forward_count; i++) {
    listeners[i] = listen_on(options->forwards[i].port);
    if (listeners[i] < 0) return -1;
  }
  pid_t pid = fork();
  if (pid == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != options->init) _exit(EXIT_INTERNAL);
    channel_send(options->channel_fd, WORD_FORWARDER, 0, -1);
    close(options->channel_fd);
    for (int fd = 0; fd < 3; fd++) close(fd);
    allow_descriptors();
    forward_forever(listeners, options->forwards, options->forward_count);
  }
  for (size_t i = 0; i < options->forward_count; i++) close(listeners[i]);
  return pid;
}
