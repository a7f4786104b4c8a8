#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The command's environment goes from Node to init without being anybody's argument or environment on the way: arguments
 * can be read by every user of the host, and a backend must not obey variables that are meant for the command.
 */

enum { MOST_ENVIRONMENT_BYTES = 1 << 20 };

extern char **environ;

static ssize_t read_some(int fd, char *buffer, size_t size) {
  for (;;) {
    ssize_t got = read(fd, buffer, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

int environment_file(int from) {
  static char buffer[16384];
  int file = memfd_create("environment", MFD_CLOEXEC);
  if (file < 0) return -1;
  for (size_t total = 0;;) {
    ssize_t got = read_some(from, buffer, sizeof buffer);
    if (got == 0) return file;
    total += got > 0 ? (size_t)got : 0;
    if (total > MOST_ENVIRONMENT_BYTES) errno = E2BIG;
    if (got < 0 || total > MOST_ENVIRONMENT_BYTES || !write_all(file, buffer, (size_t)got)) {
      int error = errno;
      close(file);
      errno = error;
      return -1;
    }
  }
}

static char *read_variables(int file, size_t *length) {
  struct stat state;
  if (fstat(file, &state) != 0) return NULL;
  if (state.st_size < 0 || state.st_size > MOST_ENVIRONMENT_BYTES) {
    errno = E2BIG;
    return NULL;
  }
  *length = (size_t)state.st_size;
  char *text = calloc(*length + 1, 1);
  for (size_t used = 0; text != NULL && used < *length;) {
    ssize_t got = pread(file, text + used, *length - used, (off_t)used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      free(text);
      errno = EIO;
      return NULL;
    }
    used += (size_t)got;
  }
  return text;
}

/* Each variable ends with NUL; the text itself has one more, so the last cannot run over. */
static bool use_variables(char *text, size_t length) {
  size_t count = 0, next = 0;
  for (size_t i = 0; i < length; i++) count += text[i] == '\0';
  char **variables = calloc(count + 2, sizeof *variables);
  if (variables == NULL) return false;
  for (size_t i = 0; i < length && next <= count; i += strlen(text + i) + 1) variables[next++] = text + i;
  environ = variables;
  return true;
}

bool take_environment(int channel) {
  struct received received;
  struct pollfd state = {.fd = channel, .events = POLLIN};
  /* It was sent before the backend was started; waiting is for a supervisor that is not ours. */
  if (poll(&state, 1, 5000) <= 0 || channel_receive(channel, &received) != 1) {
    errno = EPROTO;
    return false;
  }
  if (received.message.word != WORD_ENVIRONMENT || received.fd < 0) {
    if (received.fd >= 0) close(received.fd);
    errno = EPROTO;
    return false;
  }
  size_t length;
  char *text = read_variables(received.fd, &length);
  int error = errno;
  close(received.fd);
  errno = error;
  return text != NULL && use_variables(text, length);
}
