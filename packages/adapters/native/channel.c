#include "launcher.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

bool channel_pair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  /* The kernel then adds the sender's pid as we see it, which no sender can forge. */
  int on = 1;
  return setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

bool channel_send(int channel, enum word word, int32_t value, int fd) {
  struct message message = {.word = (uint32_t)word, .value = value};
  struct iovec part = {.iov_base = &message, .iov_len = sizeof message};
  union {
    struct cmsghdr aligned;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd >= 0) {
    header.msg_control = control.space;
    header.msg_controllen = sizeof control.space;
    struct cmsghdr *item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(item), &fd, sizeof fd);
  }
  for (;;) {
    ssize_t sent = sendmsg(channel, &header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    return sent == (ssize_t)sizeof message;
  }
}

/* Keeps the first descriptor and closes all others, so that nobody can fill our table. */
static void take_descriptors(struct cmsghdr *item, struct received *received) {
  size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; i++) {
    int fd;
    memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
    if (received->fd < 0) {
      received->fd = fd;
    } else {
      close(fd);
    }
  }
}

static void take_control(struct msghdr *header, struct received *received) {
  for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item != NULL; item = CMSG_NXTHDR(header, item)) {
    if (item->cmsg_level != SOL_SOCKET) continue;
    if (item->cmsg_type == SCM_RIGHTS) take_descriptors(item, received);
    if (item->cmsg_type == SCM_CREDENTIALS && item->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
      struct ucred sender;
      memcpy(&sender, CMSG_DATA(item), sizeof sender);
      received->sender = sender.pid;
    }
  }
}

int channel_receive(int channel, struct received *received) {
  struct iovec part = {.iov_base = &received->message, .iov_len = sizeof received->message};
  union {
    struct cmsghdr aligned;
    char space[CMSG_SPACE(sizeof(int) * 4) + CMSG_SPACE(sizeof(struct ucred))];
  } control;
  for (;;) {
    memset(received, 0, sizeof *received);
    received->fd = -1;
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t got = recvmsg(channel, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    if (got == 0) return -1;
    take_control(&header, received);
    if (got == (ssize_t)sizeof received->message && (header.msg_flags & MSG_TRUNC) == 0) return 1;
    if (received->fd >= 0) close(received->fd);
  }
}
