/* What the host may have left within reach without meaning to. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

ATTACK(own_environment) {
  for (char **variable = environ; *variable != NULL; variable++) look_for_canary("environment", *variable, strlen(*variable));
  try_read("/proc/self/environ");
}

static void try_words_of(long pid) {
  static const char *const FILES[] = {"environ", "cmdline", "comm", "status", "task/../environ"};
  char path[64];
  for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, FILES[i]);
    try_read(path);
  }
}

ATTACK(environments_and_arguments) { each_pid(try_words_of); }

ATTACK(host_environments_and_arguments) {
  try_words_of(given_number("X_PID"));
  try_words_of(given_number("X_NODE"));
  try_words_of(given_number("X_PARENT"));
}

static int seen;
static void count_pid(long pid) {
  (void)pid;
  seen++;
}

ATTACK(processes_of_the_host) {
  each_pid(count_pid);
  /* Ours, init, at most a forwarder. */
  if (seen > 4) escaped("%d processes can be seen", seen);
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/comm", given_number("X_NODE"));
  try_read(path);
}

ATTACK(inherited_descriptors) {
  int found = 0;
  for (int fd = 3; fd < 4096; fd++) {
    struct stat state;
    if (fstat(fd, &state) != 0) continue;
    dprintf(1, "descriptor %d is open, mode %o\n", fd, (unsigned)state.st_mode);
    lseek(fd, 0, SEEK_SET);
    read_for_canary("an inherited descriptor", fd);
    found++;
  }
  if (found > 0) escaped("%d descriptors were inherited", found);
  errno = EBADF;
  refused("descriptors 3 to 4095");
}

/* A standard stream must not be a file or terminal of the host's that could be used otherwise. */
ATTACK(standard_streams) {
  for (int fd = 0; fd < 3; fd++) {
    struct stat state;
    if (fstat(fd, &state) != 0) continue;
    if (S_ISREG(state.st_mode) || S_ISDIR(state.st_mode) || isatty(fd)) escaped("stream %d is a file or terminal", fd);
  }
  char path[64];
  for (int fd = 0; fd < 3; fd++) {
    snprintf(path, sizeof path, "/proc/self/fd/%d/../../../..%s", fd, given("X_SECRET"));
    try_read(path);
  }
}

static void must_not_mention(const char *path, const char *word) {
  static char bytes[1 << 16];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    refused(path);
    return;
  }
  for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0;) {
    if (memmem(bytes, (size_t)got, word, strlen(word)) != NULL) escaped("%s shows %s", path, word);
  }
  close(fd);
  refused_by(path, "NOTHING");
}

ATTACK(sockets_of_the_host) {
  char port[16];
  snprintf(port, sizeof port, ":%04lX ", given_number("X_TCP"));
  must_not_mention("/proc/net/tcp", port);
  must_not_mention("/proc/net/tcp6", port);
  must_not_mention("/proc/net/unix", given("X_ABSTRACT"));
  must_not_mention("/proc/1/net/unix", given("X_ABSTRACT"));
}

ATTACK(name_of_the_host) {
  struct utsname names;
  if (uname(&names) != 0) broken("uname");
  if (strcmp(names.nodename, given("X_HOST_NAME")) == 0) escaped("the host is called %s", names.nodename);
  refused_by("host name", "NOTHING");
}

ATTACK(interfaces_of_the_host) {
  DIR *entries = opendir("/sys/class/net");
  if (entries != NULL) {
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
      if (entry->d_name[0] != '.' && strcmp(entry->d_name, "lo") != 0) escaped("interface %s", entry->d_name);
    }
  }
  must_not_mention("/proc/net/dev", "eth0");
  must_not_mention("/proc/net/route", "eth0");
}

ATTACK(shared_memory_of_the_host) {
  char line[256];
  snprintf(line, sizeof line, " %s ", given("X_SHARED_MEMORY"));
  must_not_mention("/proc/sysvipc/shm", line);
  try_read(given("X_SHARED_FILE"));
}

ATTACK(kernel_addresses) {
  char line[128];
  FILE *symbols = fopen("/proc/kallsyms", "re");
  if (symbols == NULL) {
    refused("/proc/kallsyms");
    return;
  }
  for (int i = 0; i < 1000 && fgets(line, sizeof line, symbols) != NULL; i++) {
    if (strtoull(line, NULL, 16) != 0) escaped("kernel addresses can be read");
  }
  fclose(symbols);
  refused_by("/proc/kallsyms", "NOTHING");
}
