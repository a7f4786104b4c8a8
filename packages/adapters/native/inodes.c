#include "launcher.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(uint64_t device, uint64_t inode, size_t room) {
  uint64_t mixed = (inode ^ device << 32) * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(mixed >> 20) & (room - 1);
}

/* A slot is free while both are 0: no file has inode 0. */
static bool put(struct inodes *inodes, uint64_t device, uint64_t inode) {
  for (size_t i = slot_of(device, inode, inodes->room);; i = (i + 1) & (inodes->room - 1)) {
    if (inodes->slots[i].inode == 0) {
      inodes->slots[i].device = device;
      inodes->slots[i].inode = inode;
      inodes->count++;
      return true;
    }
    if (inodes->slots[i].inode == inode && inodes->slots[i].device == device) return false;
  }
}

static bool grow(struct inodes *inodes) {
  struct inodes larger = {.room = inodes->room == 0 ? 256 : inodes->room * 2};
  larger.slots = calloc(larger.room, sizeof *larger.slots);
  if (larger.slots == NULL) return false;
  for (size_t i = 0; i < inodes->room; i++) {
    if (inodes->slots[i].inode != 0) put(&larger, inodes->slots[i].device, inodes->slots[i].inode);
  }
  free(inodes->slots);
  *inodes = larger;
  return true;
}

bool inodes_add(struct inodes *inodes, uint64_t device, uint64_t inode) {
  if (inode == 0) return true;
  if (inodes->count * 2 >= inodes->room && !grow(inodes)) return true;
  return put(inodes, device, inode);
}

void inodes_free(struct inodes *inodes) {
  free(inodes->slots);
  memset(inodes, 0, sizeof *inodes);
}
