#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <dirent.h>
#include <unistd.h>

#define NAME(number) {number, #number}
static const struct {
  int number;
  const char *name;
} ERRORS[] = {
    NAME(EPERM),        NAME(ENOENT),        NAME(ESRCH),       NAME(EINTR),      NAME(EIO),        NAME(ENXIO),
    NAME(E2BIG),        NAME(ENOEXEC),       NAME(EBADF),       NAME(ECHILD),     NAME(EAGAIN),     NAME(ENOMEM),
    NAME(EACCES),       NAME(EFAULT),        NAME(EBUSY),       NAME(EEXIST),     NAME(EXDEV),      NAME(ENODEV),
    NAME(ENOTDIR),      NAME(EISDIR),        NAME(EINVAL),      NAME(ENFILE),     NAME(EMFILE),     NAME(ENOTTY),
    NAME(ETXTBSY),      NAME(EFBIG),         NAME(ENOSPC),      NAME(EROFS),      NAME(EMLINK),     NAME(EPIPE),
    NAME(ENAMETOOLONG), NAME(ENOSYS),        NAME(ENOTEMPTY),   NAME(ELOOP),      NAME(ENODATA),    NAME(EOVERFLOW),
    NAME(EOPNOTSUPP),   NAME(EAFNOSUPPORT),  NAME(EADDRINUSE),  NAME(ENETUNREACH), NAME(ENETDOWN),  NAME(ECONNRESET),
    NAME(ETIMEDOUT),    NAME(ECONNREFUSED),  NAME(EHOSTUNREACH), NAME(ETOOMANYREFS), NAME(EPROTONOSUPPORT),
    NAME(ESOCKTNOSUPPORT), NAME(EADDRNOTAVAIL), NAME(EPROTOTYPE), NAME(EDQUOT),   NAME(ENOTSOCK),   NAME(ESTALE),
};

static const char *error_name(int number) {
  for (size_t i = 0; i < sizeof ERRORS / sizeof ERRORS[0]; i++) {
    if (ERRORS[i].number == number) return ERRORS[i].name;
  }
  return "UNKNOWN";
}

/* One write for one line, so that lines of several processes do not mix. */
static void say(const char *word, const char *format, va_list values) {
  char line[1024];
  int used = snprintf(line, sizeof line, "%s ", word);
  int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, values);
  size_t length = (size_t)used + (size_t)(more < 0 ? 0 : more);
  if (length > sizeof line - 2) length = sizeof line - 2;
  line[length] = '\n';
  if (write(1, line, length + 1) < 0) _exit(EXIT_BROKEN);
}

_Noreturn void escaped(const char *format, ...) {
  va_list values;
  va_start(values, format);
  say("ESCAPED", format, values);
  va_end(values);
  _exit(EXIT_ESCAPED);
}

void contained(const char *format, ...) {
  va_list values;
  va_start(values, format);
  say("CONTAINED", format, values);
  va_end(values);
}

void refused_by(const char *what, const char *code) { dprintf(1, "REFUSED %s %s\n", what, code); }

void refused(const char *what) { refused_by(what, error_name(errno)); }

_Noreturn void broken(const char *what) {
  dprintf(1, "BROKEN %s %s\n", what, error_name(errno));
  _exit(EXIT_BROKEN);
}

void must_fail(const char *what, long result) {
  if (result >= 0) escaped("%s gave %ld", what, result);
  refused(what);
}

const char *given(const char *name) {
  const char *value = getenv(name);
  if (value == NULL) broken(name);
  return value;
}

long given_number(const char *name) { return strtol(given(name), NULL, 10); }

void look_for_canary(const char *what, const char *bytes, size_t length) {
  /* Not written in one piece, or this program would find itself. */
  char canary[8];
  snprintf(canary, sizeof canary, "%s%s", "CANARY", "-");
  const char *found = memmem(bytes, length, canary, sizeof canary - 1);
  if (found == NULL) return;
  size_t rest = length - (size_t)(found - bytes);
  escaped("%s shows %.*s", what, (int)(rest > 40 ? 40 : rest), found);
}

void read_for_canary(const char *what, int fd) {
  static char bytes[1 << 16];
  for (int round = 0; round < 64; round++) {
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got <= 0) return;
    look_for_canary(what, bytes, (size_t)got);
  }
}

void try_read(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    refused(path);
    return;
  }
  read_for_canary(path, fd);
  close(fd);
  refused_by(path, "NOTHING");
}

void try_write(const char *path) {
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    refused(path);
    return;
  }
  if (write(fd, "x", 1) == 1) escaped("%s was written", path);
  refused(path);
  close(fd);
}

char *joined(const char *first, const char *second) {
  char *path = NULL;
  if (asprintf(&path, "%s%s", first, second) < 0) broken("memory");
  return path;
}

bool starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

void sleep_ms(long milliseconds) {
  struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

int64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void each_pid(void (*found)(long pid)) {
  DIR *processes = opendir("/proc");
  if (processes == NULL) {
    refused("/proc");
    return;
  }
  for (struct dirent *entry = readdir(processes); entry != NULL; entry = readdir(processes)) {
    long pid = strtol(entry->d_name, NULL, 10);
    if (pid > 0) found(pid);
  }
  closedir(processes);
}

void *shared_page(void) {
  int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) broken("a shared page");
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) broken("a shared page");
  return page;
}

bool send_away(int socket, int fd) {
  union {
    struct cmsghdr aligned;
    char space[CMSG_SPACE(sizeof fd)];
  } control;
  char byte = 0;
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  struct cmsghdr *item = CMSG_FIRSTHDR(&message);
  *item = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
  memcpy(CMSG_DATA(item), &fd, sizeof fd);
  bool sent = sendmsg(socket, &message, MSG_DONTWAIT) >= 0;
  close(fd);
  return sent;
}
