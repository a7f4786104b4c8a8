#include "launcher.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

static bool find_resource(const char *name, size_t length, int *resource) {
  static const struct {
    const char *name;
    int resource;
  } known[] = {
      {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},     {"cpu", RLIMIT_CPU},           {"data", RLIMIT_DATA},
      {"fsize", RLIMIT_FSIZE},     {"locks", RLIMIT_LOCKS},   {"memlock", RLIMIT_MEMLOCK},   {"msgqueue", RLIMIT_MSGQUEUE},
      {"nice", RLIMIT_NICE},       {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
      {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME}, {"sigpending", RLIMIT_SIGPENDING},
      {"stack", RLIMIT_STACK},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i].name) != length || strncmp(known[i].name, name, length) != 0) continue;
    *resource = (int)known[i].resource;
    return true;
  }
  return false;
}

static void take_rlimit(struct args *args, struct init_options *options) {
  const char *text = args_take(args, "--rlimit");
  const char *equals = strchr(text, '=');
  if (options->rlimit_count >= MAX_RLIMITS) usage_error("too many", "--rlimit");
  struct rlimit_order *order = &options->rlimits[options->rlimit_count++];
  if (equals == NULL || !find_resource(text, (size_t)(equals - text), &order->resource) ||
      !parse_number(equals + 1, strlen(equals + 1), INT64_MAX, &order->value)) {
    usage_error("not a limit", text);
  }
}

static void take_forward(struct args *args, struct init_options *options) {
  const char *text = args_take(args, "--forward");
  const char *equals = strchr(text, '=');
  uint64_t port = 0;
  if (options->forward_count >= MAX_FORWARDS) usage_error("too many", "--forward");
  if (equals == NULL || !parse_number(text, (size_t)(equals - text), UINT16_MAX, &port) || port == 0) {
    usage_error("not PORT=SOCKETPATH", text);
  }
  if (strlen(equals + 1) == 0 || strlen(equals + 1) >= sizeof ((struct sockaddr_un *)NULL)->sun_path) {
    usage_error("a socket's path has at most 107 bytes", equals + 1);
  }
  struct forward *forward = &options->forwards[options->forward_count++];
  forward->port = (uint16_t)port;
  forward->path = equals + 1;
}

static bool take_option(struct args *args, struct init_options *options) {
  if (args_next_is(args, "--rlimit")) {
    take_rlimit(args, options);
  } else if (args_next_is(args, "--forward")) {
    take_forward(args, options);
  } else if (args_next_is(args, "--filter")) {
    options->filter = args_take(args, "--filter");
  } else if (args_next_is(args, "--notify")) {
    options->notify = true;
  } else if (args_next_is(args, "--env")) {
    options->environment = true;
  } else if (args_next_is(args, "--session")) {
    options->session = true;
  } else if (args_next_is(args, "--nice")) {
    options->nice = (int)args_take_number(args, "--nice", 19);
  } else if (args_next_is(args, "--chdir")) {
    options->chdir = args_take(args, "--chdir");
  } else if (args_next_is(args, "--channel-fd")) {
    options->channel_fd = (int)args_take_number(args, "--channel-fd", 1000);
  } else {
    return false;
  }
  return true;
}

void init_options(struct args *args, struct init_options *options) {
  memset(options, 0, sizeof *options);
  options->channel_fd = CHANNEL_FD;
  options->init = getpid();
  while (take_option(args, options)) continue;
  options->command = args_command(args);
  if (options->channel_fd < 3) usage_error("must be 3 or more", "--channel-fd");
  if (options->notify && options->filter == NULL) usage_error("needs --filter", "--notify");
}
