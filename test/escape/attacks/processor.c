/* More processor time, descriptors and output than allowed. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- processor time */

static void burn(int64_t milliseconds) {
  volatile uint64_t work = 0;
  for (int64_t end = clock_ms() + milliseconds; clock_ms() < end;) work++;
}

static void burn_processor(int64_t milliseconds) {
  struct timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while ((int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000 < milliseconds);
}

ATTACK(burn_alone) {
  signal(SIGXCPU, SIG_IGN);
  burn(10000);
  escaped("ten seconds of processor time");
}

static void *burn_in_thread(void *data) {
  burn(10000);
  return data;
}

ATTACK(burn_threads) {
  for (int i = 0; i < 8; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, burn_in_thread, NULL) != 0) broken("thread");
  }
  burn(10000);
  escaped("ten seconds");
}

ATTACK(burn_children) {
  for (int i = 0; i < 8; i++) {
    if (fork() == 0) burn(10000);
  }
  sleep_ms(10000);
  escaped("ten seconds");
}

ATTACK(burn_daemons) {
  for (int i = 0; i < 4; i++) {
    if (fork() != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    burn(10000);
    _exit(0);
  }
  sleep_ms(10000);
  escaped("ten seconds");
}

/* Each burns less than one look's time, and nobody waits for it. */
ATTACK(burn_in_short_lives) {
  int *living = shared_page();
  signal(SIGCHLD, SIG_IGN);
  for (int64_t end = clock_ms() + 10000; clock_ms() < end;) {
    while (__atomic_load_n(living, __ATOMIC_SEQ_CST) >= 8) sleep_ms(1);
    __atomic_add_fetch(living, 1, __ATOMIC_SEQ_CST);
    if (fork() != 0) continue;
    burn_processor(20);
    __atomic_sub_fetch(living, 1, __ATOMIC_SEQ_CST);
    _exit(0);
  }
  escaped("ten seconds of short lives");
}

ATTACK(raise_own_limits) {
  static const int RESOURCES[] = {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_NPROC};
  for (size_t i = 0; i < sizeof RESOURCES / sizeof RESOURCES[0]; i++) {
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    must_fail("setrlimit", setrlimit(RESOURCES[i], &all));
    must_fail("prlimit", syscall(SYS_prlimit64, 0, RESOURCES[i], &all, NULL));
  }
}

/* ---- descriptors */

ATTACK(open_many_files) {
  int count = 0;
  while (count < 4096 && open("/dev/null", O_RDONLY) >= 0) count++;
  if (count > 64) escaped("%d files are open", count);
  refused("open");
}

/* Descriptors under way in a socket belong to nobody's table. */
ATTACK(descriptors_under_way) {
  int sent = 0, ends[2];
  union {
    struct cmsghdr aligned;
    char space[CMSG_SPACE(sizeof(int) * 16)];
  } control;
  char byte = 0;
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) != 0) broken("socketpair");
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  for (; sent < 65536; sent += 16) {
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int) * 16);
    int files[16];
    for (int i = 0; i < 16; i++) files[i] = 0;
    memcpy(CMSG_DATA(item), files, sizeof files);
    if (sendmsg(ends[0], &message, 0) < 0) break;
  }
  if (sent > 4096) escaped("%d descriptors are under way", sent);
  refused("sendmsg");
}

/* ---- output */

static void flood(int fd) {
  static char bytes[65536];
  memset(bytes, 'x', sizeof bytes);
  for (int64_t end = clock_ms() + 10000; clock_ms() < end;) {
    if (write(fd, bytes, sizeof bytes) < 0 && errno != EAGAIN) _exit(0);
  }
  _exit(EXIT_ESCAPED);
}

ATTACK(flood_output) { flood(1); }

ATTACK(flood_errors) { flood(2); }

ATTACK(flood_both_ignoring_signals) {
  for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
  if (fork() == 0) flood(2);
  flood(1);
}
