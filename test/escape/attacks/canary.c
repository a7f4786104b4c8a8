/* Not an attack: runs on the host, as the sandbox's user, with everything an attack looks for. Ends with its stdin. */
#include "attack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

ATTACK(stand_as_canary) {
  int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
  char *bytes = segment < 0 ? (char *)-1 : shmat(segment, NULL, 0);
  if (bytes == (char *)-1 || open(given("X_SECRET"), O_RDONLY) < 0) broken("canary");
  snprintf(bytes, 4096, "%s", given("X_TOKEN"));
  dprintf(1, "READY %d\n", segment);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  shmctl(segment, IPC_RMID, NULL);
}
