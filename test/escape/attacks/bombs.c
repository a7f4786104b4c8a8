/* More processes than allowed. */
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

/* The harness allows 32 processes; where no group of the kernel holds that, 256 more may live until somebody looks. */
enum { TOO_MANY = 400, STOP_AT = 1000 };

static void stay_a_moment(void) { sleep_ms(1500); }

static void count_or_escape(int count) {
  if (count >= TOO_MANY) escaped("%d at once", count);
}

ATTACK(fork_many) {
  int count = 0;
  for (; count < STOP_AT; count++) {
    pid_t child = fork();
    if (child < 0) break;
    while (child == 0) pause();
    count_or_escape(count);
  }
  contained("%d children", count);
  stay_a_moment();
}

/* Each child forks on: nobody counts but the kernel. */
ATTACK(fork_doubling) {
  int64_t end = clock_ms() + 1500;
  int *living = shared_page();
  while (clock_ms() < end) {
    pid_t child = fork();
    if (child == 0) count_or_escape(__atomic_add_fetch(living, 1, __ATOMIC_SEQ_CST));
  }
}

ATTACK(fork_daemons) {
  int count = 0;
  for (; count < STOP_AT; count++) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      setsid();
      pid_t daemon = fork();
      if (daemon != 0) _exit(daemon < 0);
      for (;;) pause();
    }
    int status;
    waitpid(child, &status, 0);
    if (status != 0) break;
    count_or_escape(count);
  }
  contained("%d daemons", count);
  stay_a_moment();
}

static void *wait_for_ever(void *data) {
  for (;;) pause();
  return data;
}

ATTACK(thread_many) {
  int count = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (; count < STOP_AT; count++) {
    pthread_t thread;
    if (pthread_create(&thread, &small, wait_for_ever, NULL) != 0) break;
    count_or_escape(count);
  }
  contained("%d threads", count);
  stay_a_moment();
}

ATTACK(zombies) {
  int count = 0;
  for (; count < STOP_AT; count++) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) _exit(0);
    count_or_escape(count);
  }
  contained("%d zombies", count);
}

/* Siblings of ours, which are init's children. */
ATTACK(fork_siblings) {
  int count = 0;
  for (; count < STOP_AT; count++) {
    long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child < 0) break;
    while (child == 0) pause();
    count_or_escape(count);
  }
  contained("%d siblings", count);
  stay_a_moment();
}

/* Shared with all children, who run on our memory. */
static volatile int vfork_depth;

static void vfork_deeper(void) {
  if (vfork_depth >= TOO_MANY) escaped("%d deep", vfork_depth);
  pid_t child = vfork();
  if (child < 0) return;
  if (child == 0) {
    vfork_depth++;
    vfork_deeper();
    _exit(0);
  }
}

ATTACK(vfork_chain) {
  vfork_deeper();
  contained("%d deep", vfork_depth);
}

ATTACK(fork_storm) {
  /* Many short lives: more than anybody can look at. */
  signal(SIGCHLD, SIG_IGN);
  for (int64_t end = clock_ms() + 5000; clock_ms() < end;) {
    if (fork() == 0) _exit(0);
  }
  escaped("five seconds of storm");
}
