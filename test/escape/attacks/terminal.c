/* Typing into somebody's terminal. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

ATTACK(type_into_streams) {
  for (int fd = 0; fd < 3; fd++) must_fail("TIOCSTI", syscall(SYS_ioctl, fd, TIOCSTI, "x"));
}

ATTACK(type_with_upper_bits) {
  must_fail("TIOCSTI", syscall(SYS_ioctl, 0, 0xdeadbeef00000000UL | TIOCSTI, "x"));
  must_fail("TIOCLINUX", syscall(SYS_ioctl, 0, 0xdeadbeef00000000UL | 0x541c, "\x03"));
}

ATTACK(paste_selection) { must_fail("TIOCLINUX", syscall(SYS_ioctl, 0, 0x541c, "\x03")); }

ATTACK(controlling_terminal) {
  must_fail("/dev/tty", open("/dev/tty", O_RDWR | O_CLOEXEC));
  must_fail("TIOCSCTTY", ioctl(0, TIOCSCTTY, 1));
  must_fail("TIOCNOTTY", ioctl(0, TIOCNOTTY));
}

ATTACK(consoles) {
  static const char *const PATHS[] = {"/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/vcs", "/dev/vcsa1"};
  for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
    must_fail(PATHS[i], open(PATHS[i], O_RDWR | O_NOCTTY | O_CLOEXEC));
  }
}

ATTACK(terminals_of_the_host) {
  char path[64];
  for (int number = 0; number < 64; number++) {
    snprintf(path, sizeof path, "/dev/pts/%d", number);
    int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) escaped("%s was opened", path);
  }
  refused("/dev/pts");
}

/* A terminal of our own is allowed, typing into it is not. */
ATTACK(type_into_own_terminal) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) {
    refused("/dev/ptmx");
    return;
  }
  if (unlockpt(master) != 0) refused("unlockpt");
  must_fail("TIOCSTI", syscall(SYS_ioctl, master, TIOCSTI, "x"));
}
