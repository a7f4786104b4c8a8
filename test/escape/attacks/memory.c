/* More memory than allowed. The harness allows 128 MiB. */
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

static const size_t MIB = 1 << 20, TOO_MUCH_MIB = 1024;

static void stay_a_moment(void) { sleep_ms(1500); }

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
  int *holding = shared_page();
  int alive = 0;
  pid_t children[20];
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
  if (fd < 0) {
    refused("memfd_create");
    return;
  }
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

/* Sent to nobody and closed: in no process any more. */
ATTACK(memory_files_in_flight) {
  static char bytes[7 << 20];
  size_t mib = 0;
  int ends[2];
  memset(bytes, 1, sizeof bytes);
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) broken("socketpair");
  for (; mib < 350; mib += 7) {
    int fd = memfd_create("bomb", MFD_CLOEXEC);
    if (fd < 0) {
      refused("memfd_create");
      return;
    }
    if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes || !send_away(ends[0], fd)) break;
  }
  if (mib >= 350) {
    stay_a_moment();
    escaped("%zu MiB are held by nobody", mib);
  }
  contained("%zu MiB", mib);
}

/* The pages of shared memory stay when the process lets go of them. */
static void share_and_let_go(int fd, int flags) {
  size_t mib = 0;
  for (; mib < TOO_MUCH_MIB; mib += 16) {
    char *bytes = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    if (bytes == MAP_FAILED) {
      refused("mmap");
      return;
    }
    touch(bytes, 16 * MIB);
    madvise(bytes, 16 * MIB, MADV_DONTNEED);
    munmap(bytes + 4096, 16 * MIB - 4096);
    sleep_ms(5);
  }
  stay_a_moment();
  escaped("%zu MiB are held", mib);
}

ATTACK(memory_shared_let_go) { share_and_let_go(-1, MAP_ANONYMOUS); }

ATTACK(memory_dev_zero_let_go) {
  int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
  if (fd < 0) broken("open /dev/zero");
  share_and_let_go(fd, 0);
}

static void *eat(void *nothing) {
  (void)nothing;
  for (size_t mib = 0; mib < TOO_MUCH_MIB; mib += 4) touch(mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0), 4 * MIB);
  stay_a_moment();
  escaped("%zu MiB are held", TOO_MUCH_MIB);
}

/* A process whose first thread has ended shows no memory of its own. */
ATTACK(memory_without_first_thread) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, eat, NULL) != 0) broken("pthread_create");
  pthread_exit(NULL);
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
  enum { FAR_TOO_MANY_KIB = 512 * 1024 };
  static char bytes[65536];
  _Atomic size_t *kib = shared_page();
  for (int child = 0; child < 24; child++) {
    if (fork() != 0) continue;
    for (int ends[2]; *kib < FAR_TOO_MANY_KIB && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0;) {
      int room = 1 << 24;
      for (int i = 0; i < 2; i++) {
        setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        for (ssize_t sent; (sent = write(ends[i], bytes, sizeof bytes)) > 0;) *kib += (size_t)sent / 1024;
      }
    }
    for (;;) pause();
  }
  for (int64_t until = clock_ms() + 3000; clock_ms() < until && *kib < FAR_TOO_MANY_KIB;) sleep_ms(50);
  if (*kib >= FAR_TOO_MANY_KIB) escaped("%zu KiB are in sockets", (size_t)*kib);
  contained("%zu KiB are in sockets", (size_t)*kib);
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
