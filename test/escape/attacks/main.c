#include "attack.h"

#include <stdlib.h>
#include <string.h>

static struct {
  const char *name;
  void (*run)(void);
} attacks[512];
static size_t attack_count;

int arg_count;
char **args;

void register_attack(const char *name, void (*run)(void)) {
  if (attack_count == sizeof attacks / sizeof attacks[0]) abort();
  attacks[attack_count].name = name;
  attacks[attack_count++].run = run;
}

int main(int argc, char **argv) {
  if (argc < 2) broken("no attack named");
  arg_count = argc - 2;
  args = argv + 2;
  for (size_t i = 0; i < attack_count; i++) {
    if (strcmp(attacks[i].name, argv[1]) != 0) continue;
    dprintf(1, "TRYING %s\n", argv[1]);
    attacks[i].run();
    return 0;
  }
  broken(argv[1]);
}
