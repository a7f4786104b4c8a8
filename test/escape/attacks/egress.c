/* Through the way that is allowed: the egress proxy. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int try_proxy(void) {
  struct sockaddr_in proxy = {.sin_family = AF_INET, .sin_port = htons(3128), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return fd >= 0 && connect(fd, (struct sockaddr *)&proxy, sizeof proxy) == 0 ? fd : -1;
}

static bool wait_for(int fd, short events) {
  struct pollfd one = {.fd = fd, .events = events};
  return poll(&one, 1, 500) > 0;
}

static int connect_proxy(void) {
  int fd = try_proxy();
  if (fd < 0) broken("connect to the proxy");
  return fd;
}

/* Says the first line of the answer, or that there was none; the canary's greeting in it is an escape. */
static void hear_answer(const char *what, int fd) {
  char bytes[8192], word[32] = "CLOSED";
  size_t used = 0;
  while (used < sizeof bytes - 1 && wait_for(fd, POLLIN)) {
    ssize_t got = recv(fd, bytes + used, sizeof bytes - 1 - used, 0);
    if (got <= 0) break;
    used += (size_t)got;
    look_for_canary(what, bytes, used);
  }
  bytes[used] = '\0';
  if (strncmp(bytes, "HTTP/1.", 7) == 0) snprintf(word, sizeof word, "%.3s", bytes + 9);
  if (strcmp(word, "200") == 0) escaped("%s was let through", what);
  refused_by(what, word);
}

static void unescape(char *text) {
  char *to = text;
  for (const char *from = text; *from != '\0'; from++) {
    if (from[0] == '\\' && from[1] == 'r') *to++ = '\r', from++;
    else if (from[0] == '\\' && from[1] == 'n') *to++ = '\n', from++;
    else *to++ = *from;
  }
  *to = '\0';
}

ATTACK(ask_proxy) {
  for (int i = 0; i < arg_count; i++) {
    char *request = joined(args[i], "");
    unescape(request);
    int fd = connect_proxy();
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) refused("send");
    hear_answer("proxy", fd);
    close(fd);
  }
}

/* host port: a name, or an address as its own kind when it is one. */
ATTACK(ask_socks) {
  for (int i = 0; i + 1 < arg_count; i += 2) {
    unsigned char request[300] = {5, 1, 0}, answer[300] = {0};
    int fd = connect_proxy();
    size_t length = strlen(args[i]);
    long port = atol(args[i + 1]);
    if (send(fd, request, 3, MSG_NOSIGNAL) != 3 || !wait_for(fd, POLLIN) || recv(fd, answer, 2, 0) != 2) {
      refused_by("socks", "CLOSED");
      close(fd);
      continue;
    }
    size_t used = 0;
    struct in_addr four;
    memcpy(request, "\x05\x01\x00", 3);
    if (inet_pton(AF_INET, args[i], &four) == 1) {
      request[3] = 1;
      memcpy(request + 4, &four, 4);
      used = 8;
    } else {
      request[3] = 3;
      request[4] = (unsigned char)length;
      memcpy(request + 5, args[i], length);
      used = 5 + length;
    }
    request[used++] = (unsigned char)(port >> 8);
    request[used++] = (unsigned char)port;
    if (send(fd, request, used, MSG_NOSIGNAL) < 0) refused("send");
    ssize_t got = wait_for(fd, POLLIN) ? recv(fd, answer, sizeof answer, 0) : 0;
    if (got > 1 && answer[1] == 0) escaped("socks let %s through", args[i]);
    refused_by("socks", got > 1 ? "REFUSAL" : "CLOSED");
    close(fd);
  }
}

ATTACK(proxy_garbage) {
  static char bytes[1 << 16];
  for (int round = 0; round < 20; round++) {
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(rand() >> 7);
    if (round % 3 == 0) memcpy(bytes, "GET http://", 11);
    if (round % 3 == 1) bytes[0] = 5;
    int fd = connect_proxy();
    send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    hear_answer("garbage", fd);
    close(fd);
  }
}

ATTACK(proxy_connections) {
  int count = 0;
  for (; count < 50; count++) {
    int fd = try_proxy();
    if (fd < 0) break;
    send(fd, "CONNECT ", 8, MSG_NOSIGNAL);
  }
  contained("%d connections were begun", count);
}

/* Hands the proxy open files, and a socket pair, hoping that it takes or keeps them. */
ATTACK(proxy_descriptors) {
  struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/sallyport/egress.sock"};
  int files[64], left = 0;
  for (int i = 0; i < 16; i++) files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  union {
    struct cmsghdr aligned;
    char space[CMSG_SPACE(sizeof(int) * 16)];
  } control;
  for (int round = 0; round < 16; round++) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof name) != 0) {
      refused("connect");
      return;
    }
    struct iovec part = {.iov_base = "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", .iov_len = 34};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int) * 16);
    memcpy(CMSG_DATA(item), files, sizeof(int) * 16);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0) refused("sendmsg");
    else left++;
    hear_answer("descriptors", fd);
    close(fd);
  }
  contained("%d messages with descriptors", left);
}
