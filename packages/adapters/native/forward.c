#include "launcher.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 256, BUFFER_BYTES = 32768 };
static const int64_t RETRY_MS = 5, CONNECT_MS = 10000, PAUSE_MS = 20;

/* Bytes on their way from one side to the other. It is filled only when empty, so a slow reader slows its writer. */
struct flow {
  char data[BUFFER_BYTES];
  size_t start, end;
  bool read_end, told_end;
};

struct connection {
  int sides[2]; /* 0: the client, 1: the unix socket */
  struct flow flows[2]; /* flow i reads from side i */
  const char *path;
  bool connected;
  int64_t give_up_at;
};

/* 0: connected; EAGAIN: try again, the other side is busy; else why not. */
static int connect_unix(int fd, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  for (;;) {
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

static void close_connection(struct connection **slot) {
  close((*slot)->sides[0]);
  close((*slot)->sides[1]);
  free(*slot);
  *slot = NULL;
}

static bool try_connect(struct connection *connection) {
  int error = connect_unix(connection->sides[1], connection->path);
  connection->connected = error == 0 || error == EISCONN;
  return connection->connected || (error == EAGAIN && now_ms() < connection->give_up_at);
}

/* False when no more can be taken for now. */
static bool accept_one(int listener, const char *path, struct connection **slot) {
  int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct connection *connection = server < 0 ? NULL : calloc(1, sizeof *connection);
  if (connection == NULL) {
    close(client);
    if (server >= 0) close(server);
    return false;
  }
  connection->sides[0] = client;
  connection->sides[1] = server;
  connection->path = path;
  connection->give_up_at = now_ms() + CONNECT_MS;
  *slot = connection;
  if (!try_connect(connection)) close_connection(slot);
  return true;
}

static bool would_block(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EINTR); }

static bool fill(struct flow *flow, int from) {
  ssize_t got = recv(from, flow->data, sizeof flow->data, 0);
  if (would_block(got)) return true;
  if (got < 0) return false;
  flow->start = 0;
  flow->end = (size_t)got;
  flow->read_end = got == 0;
  return true;
}

static bool drain(struct flow *flow, int to) {
  while (flow->start < flow->end) {
    ssize_t sent = send(to, flow->data + flow->start, flow->end - flow->start, MSG_NOSIGNAL);
    if (would_block(sent)) return true;
    if (sent < 0) return false;
    flow->start += (size_t)sent;
  }
  if (flow->read_end && !flow->told_end) {
    /* It may have closed already; then there is nobody to tell. */
    shutdown(to, SHUT_WR);
    flow->told_end = true;
  }
  return true;
}

/* False when the connection is over. */
static bool serve(struct connection *connection, const struct pollfd fds[2]) {
  for (int side = 0; side < 2; side++) {
    struct flow *flow = &connection->flows[side];
    bool wants = !flow->read_end && flow->start == flow->end;
    if (wants && fds[side].revents != 0 && !fill(flow, connection->sides[side])) return false;
    if (!drain(flow, connection->sides[1 - side])) return false;
  }
  return !(connection->flows[0].told_end && connection->flows[1].told_end);
}

static void ask(const struct connection *connection, struct pollfd fds[2]) {
  for (int side = 0; side < 2; side++) {
    const struct flow *in = &connection->flows[side], *out = &connection->flows[1 - side];
    short events = 0;
    if (connection->connected && !in->read_end && in->start == in->end) events |= POLLIN;
    if (out->start < out->end) events |= POLLOUT;
    /* Asked for nothing, poll would still wake us for a hang-up, again and again. */
    fds[side] = (struct pollfd){.fd = events == 0 ? -1 : connection->sides[side], .events = events};
  }
}

struct forwarder {
  struct connection *connections[MOST_CONNECTIONS];
  struct pollfd fds[MAX_FORWARDS + 2 * MOST_CONNECTIONS];
  int64_t paused_until;
};

static struct connection **free_slot(struct forwarder *forwarder) {
  for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
    if (forwarder->connections[i] == NULL) return &forwarder->connections[i];
  }
  return NULL;
}

static int prepare(struct forwarder *forwarder, const int *listeners, size_t count) {
  bool accepting = free_slot(forwarder) != NULL && now_ms() >= forwarder->paused_until;
  bool waiting = now_ms() < forwarder->paused_until;
  for (size_t i = 0; i < MAX_FORWARDS; i++) {
    forwarder->fds[i] = (struct pollfd){.fd = accepting && i < count ? listeners[i] : -1, .events = POLLIN};
  }
  for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
    struct pollfd *fds = &forwarder->fds[MAX_FORWARDS + 2 * i];
    fds[0].fd = fds[1].fd = -1;
    if (forwarder->connections[i] == NULL) continue;
    ask(forwarder->connections[i], fds);
    if (!forwarder->connections[i]->connected) waiting = true;
  }
  return waiting ? (int)RETRY_MS : -1;
}

static void serve_all(struct forwarder *forwarder) {
  for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
    struct connection **slot = &forwarder->connections[i];
    if (*slot == NULL) continue;
    bool alive = (*slot)->connected ? serve(*slot, &forwarder->fds[MAX_FORWARDS + 2 * i]) : try_connect(*slot);
    if (!alive) close_connection(slot);
  }
}

static void accept_all(struct forwarder *forwarder, const struct forward *forwards, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct connection **slot = free_slot(forwarder);
    if (slot == NULL || forwarder->fds[i].fd < 0 || forwarder->fds[i].revents == 0) continue;
    if (!accept_one(forwarder->fds[i].fd, forwards[i].path, slot)) forwarder->paused_until = now_ms() + PAUSE_MS;
  }
}

_Noreturn void forward_forever(const int *listeners, const struct forward *forwards, size_t count) {
  static struct forwarder forwarder;
  for (;;) {
    int wait = prepare(&forwarder, listeners, count);
    int ready = poll(forwarder.fds, sizeof forwarder.fds / sizeof forwarder.fds[0], wait);
    if (ready < 0 && errno != EINTR) _exit(EXIT_INTERNAL);
    if (ready < 0) continue;
    serve_all(&forwarder);
    accept_all(&forwarder, forwards, count);
  }
}
