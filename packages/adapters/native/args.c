#include "launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void usage_error(const char *what, const char *value) {
  fprintf(stderr, "sallyport-launcher: %s: %s\n", what, value);
  exit(EXIT_USAGE);
}

_Noreturn void internal_error(const char *what) {
  fprintf(stderr, "sallyport-launcher: %s: %s\n", what, strerror(errno));
  exit(EXIT_INTERNAL);
}

bool args_next_is(struct args *args, const char *option) {
  if (args->next >= args->count || strcmp(args->items[args->next], option) != 0) return false;
  args->next++;
  return true;
}

const char *args_take(struct args *args, const char *option) {
  if (args->next >= args->count) usage_error("a value is missing after", option);
  return args->items[args->next++];
}

bool parse_number(const char *text, size_t length, uint64_t max, uint64_t *value) {
  uint64_t number = 0;
  if (length == 0) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    uint64_t digit = (uint64_t)(text[i] - '0');
    if (number > (UINT64_MAX - digit) / 10) return false;
    number = number * 10 + digit;
  }
  if (number > max) return false;
  *value = number;
  return true;
}

uint64_t args_take_number(struct args *args, const char *option, uint64_t max) {
  const char *text = args_take(args, option);
  uint64_t value;
  if (!parse_number(text, strlen(text), max, &value)) usage_error("not a number in range", text);
  return value;
}

char **args_command(struct args *args) {
  if (!args_next_is(args, "--")) {
    usage_error("not understood", args->next < args->count ? args->items[args->next] : "the end; `-- COMMAND` is missing");
  }
  if (args->next >= args->count) usage_error("a command is missing after", "--");
  return args->items + args->next;
}
