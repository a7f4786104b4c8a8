/* Living on after the end, and lying about it. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void ignore_signals(void) {
  for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, 0);
}

/* Writes into the workspace for as long as it lives; the harness looks whether that ends. */
static _Noreturn void live_on(void) {
  for (;;) {
    int fd = open(joined(given("X_WS"), "/alive"), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (fd >= 0) dprintf(fd, "%lld\n", (long long)clock_ms());
    if (fd >= 0) close(fd);
    sleep_ms(20);
  }
}

static void daemonise(void) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  ignore_signals();
  live_on();
}

ATTACK(leave_daemon) {
  daemonise();
  sleep_ms(100);
  contained("the command ends now");
}

ATTACK(leave_many_daemons) {
  for (int i = 0; i < 10; i++) daemonise();
  sleep_ms(100);
  contained("the command ends now");
}

/* It holds nothing of ours but the streams: whoever reads them must not wait for it. */
ATTACK(leave_daemon_with_streams) {
  if (fork() == 0) {
    setsid();
    ignore_signals();
    for (;;) sleep_ms(1000);
  }
  contained("the command ends now");
}

ATTACK(ignore_all_signals) {
  ignore_signals();
  live_on();
}

ATTACK(ignore_all_signals_in_daemons) {
  for (int i = 0; i < 5; i++) daemonise();
  ignore_signals();
  live_on();
}

ATTACK(stop_ourselves) {
  daemonise();
  kill(0, SIGSTOP);
  sleep_ms(10000);
}

/* Its parent cannot be interrupted before the child goes on. */
ATTACK(hang_in_vfork) {
  pid_t child = vfork();
  if (child == 0) {
    for (;;) pause();
  }
}

ATTACK(adopt_orphans) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  ignore_signals();
  daemonise();
  live_on();
}

ATTACK(close_streams_and_stay) {
  for (int fd = 0; fd < 3; fd++) close(fd);
  ignore_signals();
  live_on();
}

ATTACK(fork_while_dying) {
  /* Always one step ahead of somebody who kills by number. */
  ignore_signals();
  for (;;) {
    pid_t child = fork();
    if (child > 0) _exit(0);
    setsid();
  }
}

/* ---- lies */

/* The launcher's words: HELLO, LISTENER, STATUS … as numbers, whatever they are now. */
ATTACK(speak_for_init) {
  int reached = 0;
  for (int fd = 3; fd < 1024; fd++) {
    for (uint32_t word = 0; word < 10; word++) {
      struct {
        uint32_t word;
        int32_t value;
      } message = {word, 0};
      if (write(fd, &message, sizeof message) > 0) reached++;
    }
  }
  if (reached > 0) escaped("%d words were said", reached);
  refused("write to descriptors 3 to 1023");
  _exit(7);
}

static const char FORGED[] = "\n{\"event\":\"ended\",\"how\":\"exited\",\"code\":0,\"signal\":0,\"errno\":0,\"userMs\":0,"
                             "\"systemMs\":0,\"maxRssBytes\":0,\"wallMs\":0,\"violations\":0}\n";

ATTACK(forge_report) {
  signal(SIGPIPE, SIG_IGN);
  for (int fd = 0; fd < 16; fd++) {
    if (write(fd, FORGED, sizeof FORGED - 1) < 0) continue;
  }
  _exit(7);
}

ATTACK(forge_report_by_name) {
  /* The name of a process gets into the report. */
  prctl(PR_SET_NAME, "\"}\n{\"event\":\"e");
  syscall(SYS_unshare, 0x10000000);
  escaped("the sandbox goes on");
}

ATTACK(exit_like_killed) { _exit(137); }

ATTACK(kill_ourselves) { raise(SIGKILL); }

ATTACK(exit_while_attacking) {
  if (fork() == 0) {
    syscall(SYS_unshare, 0x10000000);
    _exit(0);
  }
  _exit(0);
}

ATTACK(supervise_ourselves) {
  execl("/run/sallyport/launcher", "launcher", "supervise", "--report-fd", "1", "--uid", "0", "--gid", "0", "--bind",
        given("X_SECRET"), "/tmp", "--", "/bin/cat", given("X_SECRET"), (char *)NULL);
  refused("exec");
}

ATTACK(init_without_filter) {
  /* A filter once installed is inherited, whoever starts us again. */
  const char *self = args[0];
  execl("/run/sallyport/launcher", "launcher", "init", "--rlimit", "nofile=100000", "--", self, "switch_filter_off", (char *)NULL);
  refused("exec");
}

static void kill_unless_us(long pid) {
  if (pid == getpid() || pid == 1) return;
  if (kill((pid_t)pid, SIGKILL) != 0) refused("kill");
}

ATTACK(kill_forwarder) {
  each_pid(kill_unless_us);
  sleep_ms(100);
  struct stat state;
  if (stat("/run/sallyport/egress.sock", &state) != 0) refused("the proxy's socket");
  contained("the way out is closed for us alone");
}
