#include "launcher.h"

#include <string.h>

int main(int argc, char **argv) {
  struct args args = {.count = argc, .items = argv, .next = 1};
  if (args_next_is(&args, "supervise")) return supervise_main(&args);
  if (args_next_is(&args, "init")) return init_main(&args);
  if (args_next_is(&args, "scan")) return scan_main(&args);
  if (args_next_is(&args, "probe")) return probe_main(&args);
  if (args_next_is(&args, "attributes")) return attributes_main(&args);
  usage_error("not understood", argc > 1 ? argv[1] : "no subcommand; supervise, init, scan, attributes or probe");
}
