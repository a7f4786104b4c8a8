/* Using more than allowed: processes, memory, processor time, descriptors, output. */
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
static const size_t MIB = 1 << 20, TOO_MUCH_MIB = 1024;

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
  int *living = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (living == MAP_FAILED) broken("mmap");
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

/* ---- memory */

static void touch(char *bytes, size_t length) {
  for (size_t at = 0; at < length; at += 4096) bytes[at] = 1;
}

static void too_much(size_t mib) {
  if (mib >= TOO_MUCH_MIB) escaped("%zu MiB are held", mib);
}

ATTACK(memory_heap) {
  for (size_t mib = 0; mib < 2048; mib++) {
    char *bytes = malloc(MIB);
    if (bytes == NULL) {
      contained("%zu MiB", mib);
      break;
    }
    touch(bytes, MIB);
    too_much(mib);
  }
  stay_a_moment();
}

static void map_until_refused(int flags) {
  size_t mib = 0;
  for (; mib < 2048; mib += 4) {
    char *bytes = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    if (bytes == MAP_FAILED) break;
    touch(bytes, 4 * MIB);
    too_much(mib);
  }
  contained("%zu MiB", mib);
  stay_a_moment();
}

ATTACK(memory_map_private) { map_until_refused(MAP_PRIVATE); }

ATTACK(memory_map_shared) { map_until_refused(MAP_SHARED); }

ATTACK(memory_huge_pages) {
  void *bytes = mmap(NULL, 512 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (bytes == MAP_FAILED) {
    refused("huge pages");
    return;
  }
  touch(bytes, 512 * MIB);
  escaped("512 MiB of huge pages");
}

ATTACK(memory_locked) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  must_fail("RLIMIT_MEMLOCK", setrlimit(RLIMIT_MEMLOCK, &all));
  void *bytes = mmap(NULL, 512 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) {
    refused("mmap");
    return;
  }
  must_fail("mlock", mlock(bytes, 512 * MIB));
}

ATTACK(memory_children) {
  /* Each stays below the limit; together they do not. Each says when it holds what it wanted. */
  int *holding = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int alive = 0;
  pid_t children[20];
  if (holding == MAP_FAILED) broken("mmap");
  for (int i = 0; i < 20; i++) {
    children[i] = fork();
    if (children[i] != 0) continue;
    char *bytes = malloc(60 * MIB);
    if (bytes == NULL) _exit(0);
    touch(bytes, 60 * MIB);
    holding[i] = 1;
    for (;;) pause();
  }
  sleep_ms(1500);
  for (int i = 0; i < 20; i++) alive += holding[i] != 0 && waitpid(children[i], NULL, WNOHANG) == 0;
  if (alive > 4) escaped("%d children hold 60 MiB each", alive);
  contained("%d children are left", alive);
}

ATTACK(memory_file) {
  static char bytes[1 << 20];
  int fd = memfd_create("bomb", MFD_CLOEXEC);
  size_t mib = 0;
  memset(bytes, 1, sizeof bytes);
  if (fd < 0) broken("memfd_create");
  signal(SIGXFSZ, SIG_IGN);
  /* One file may be limited in size; so several. */
  for (; mib < 2048; mib++) {
    if (write(fd, bytes, sizeof bytes) < 0) {
      if (errno != EFBIG) break;
      fd = memfd_create("bomb", MFD_CLOEXEC);
      if (fd < 0) break;
    }
    too_much(mib);
  }
  contained("%zu MiB", mib);
  stay_a_moment();
}

enum { DEEPEST = 16384 };

static int recurse(int depth) {
  volatile char frame[65536];
  for (size_t at = 0; at < sizeof frame; at += 4096) frame[at] = (char)depth;
  return depth < DEEPEST ? recurse(depth + 1) + frame[0] : 0;
}

ATTACK(memory_stack) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_STACK, &all) != 0) refused("RLIMIT_STACK");
  recurse(0);
  escaped("%d frames of 64 KiB", DEEPEST);
}

ATTACK(memory_system_v) {
  size_t mib = 0;
  for (; mib < 2048; mib += 16) {
    int id = shmget(IPC_PRIVATE, 16 * MIB, IPC_CREAT | 0600);
    char *bytes = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
    if (bytes == (char *)-1) break;
    touch(bytes, 16 * MIB);
    /* Held by nobody, but not removed: only the namespace's end frees it. */
    shmdt(bytes);
    too_much(mib);
  }
  contained("%zu MiB", mib);
  stay_a_moment();
}

/* Messages that nobody takes are the kernel's memory, not ours. */
ATTACK(memory_messages) {
  static struct {
    long kind;
    char bytes[8192];
  } message = {.kind = 1};
  size_t kib = 0;
  for (int queues = 0; queues < 32000; queues++) {
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (queue < 0) break;
    while (msgsnd(queue, &message, sizeof message.bytes, IPC_NOWAIT) == 0) kib += 8;
    if (kib > 384 * 1024) escaped("%zu MiB of messages", kib / 1024);
  }
  contained("%zu MiB of messages", kib / 1024);
}

/* Reading where nothing was ever written costs no page, but the way to it: 4 KiB for each 2 MiB. */
ATTACK(memory_page_tables) {
  const size_t step = 2 * MIB, length = (size_t)1 << 39;
  char *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  volatile char sum = 0;
  if (bytes == MAP_FAILED) {
    refused("mmap");
    return;
  }
  madvise(bytes, length, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < length; at += step) sum += bytes[at];
  escaped("%zu MiB of page tables", length / step * 4 / 1024);
}

/* What is sent and not read stays with the kernel. */
ATTACK(memory_sockets) {
  static char bytes[65536];
  size_t kib = 0;
  for (int child = 0; child < 24; child++) {
    if (fork() != 0) continue;
    for (int ends[2]; socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0;) {
      int room = 1 << 24;
      for (int i = 0; i < 2; i++) {
        setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        for (ssize_t sent; (sent = write(ends[i], bytes, sizeof bytes)) > 0;) kib += (size_t)sent / 1024;
      }
    }
    dprintf(1, "%zu KiB in sockets\n", kib);
    for (;;) pause();
  }
  sleep_ms(1000);
  contained("sockets are full");
}

ATTACK(memory_pipes) {
  static char page[65536];
  int count = 0;
  for (; count < 4096; count++) {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0) break;
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    while (write(ends[1], page, sizeof page) > 0) continue;
  }
  if (count >= 512) escaped("%d pipes are full", count);
  contained("%d pipes", count);
}

ATTACK(memory_out_of_reach_of_the_killer) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) broken("open");
  must_fail("oom_score_adj", write(fd, "-1000", 5));
  must_fail("oom_score_adj", write(fd, "-1", 2));
}

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
  int *living = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (living == MAP_FAILED) broken("mmap");
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
