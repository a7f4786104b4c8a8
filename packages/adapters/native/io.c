#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool write_all(int fd, const void *data, size_t length) {
  const char *rest = data;
  while (length > 0) {
    ssize_t written = write(fd, rest, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest += written;
    length -= (size_t)written;
  }
  return true;
}

static ssize_t read_fully(int fd, char *buffer, size_t size) {
  size_t used = 0;
  while (used < size) {
    ssize_t got = read(fd, buffer + used, size - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    used += (size_t)got;
  }
  return (ssize_t)used;
}

ssize_t read_small_file(const char *path, char *buffer, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = read_fully(fd, buffer, size - 1);
  int error = errno;
  close(fd);
  errno = error;
  buffer[length < 0 ? 0 : length] = '\0';
  return length;
}

bool write_small_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  /* The kernel's control files take a value in one write only. */
  ssize_t written = write(fd, text, strlen(text));
  int error = errno;
  close(fd);
  errno = error;
  return written == (ssize_t)strlen(text);
}

int64_t now_ms(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool close_from(unsigned first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0U) == 0) return true;
#endif
  long most = sysconf(_SC_OPEN_MAX);
  if (most < 0 || most > 1 << 20) most = 1 << 20;
  for (long fd = (long)first; fd < most; fd++) close((int)fd);
  return true;
}
