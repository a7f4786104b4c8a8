#include "launcher.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const uint64_t MAX_ID = UINT32_MAX - 1;
static const uint64_t MAX_MS = (uint64_t)1000 * 60 * 60 * 24 * 365;

static void take_overlay(struct args *args, struct supervise_options *options) {
  if (options->overlay_count >= MAX_MOUNTS) usage_error("too many", "--overlay");
  struct overlay *overlay = &options->overlays[options->overlay_count++];
  overlay->lower = args_take(args, "--overlay");
  overlay->upper = args_take(args, "--overlay");
  overlay->work = args_take(args, "--overlay");
  overlay->target = args_take(args, "--overlay");
}

static void take_bind(struct args *args, struct supervise_options *options, bool idmap) {
  if (options->bind_count >= MAX_MOUNTS) usage_error("too many", "--bind");
  struct bind *bind = &options->binds[options->bind_count++];
  bind->source = args_take(args, "--bind");
  bind->target = args_take(args, "--bind");
  bind->idmap = idmap;
}

static void take_view(struct args *args, struct supervise_options *options, bool socket) {
  if (options->view_count >= MAX_MOUNTS) usage_error("too many", "--view");
  struct view *view = &options->views[options->view_count++];
  view->empty = args_take(args, "--view");
  view->source = args_take(args, "--view");
  view->target = args_take(args, "--view");
  view->socket = socket;
}

static const char **next_folder(const char **folders, size_t *count, const char *option) {
  if (*count >= MAX_FOLDERS) usage_error("too many", option);
  return &folders[(*count)++];
}

static void take_fatal(struct args *args, struct supervise_options *options) {
  const char *list = args_take(args, "--fatal");
  for (const char *item = list; *item != '\0';) {
    size_t length = strcspn(item, ",");
    uint64_t number;
    if (!parse_number(item, length, MAX_SYSCALL - 1, &number)) usage_error("not a list of system calls", list);
    options->fatal[number] = true;
    item += length;
    if (*item == ',') item++;
  }
}

static bool take_limit(struct args *args, struct supervise_options *options) {
  const struct {
    const char *name;
    uint64_t *value;
    uint64_t max;
  } limits[] = {
      {"--wall-ms", &options->wall_ms, MAX_MS},
      {"--watch-ms", &options->watch_ms, MAX_MS},
      {"--watch-idle-ms", &options->watch_idle_ms, MAX_MS},
      {"--watch-memory", &options->watch_memory, INT64_MAX},
      {"--watch-cpu-ms", &options->watch_cpu_ms, MAX_MS},
      {"--watch-processes", &options->watch_processes, INT32_MAX},
      {"--watch-disk", &options->watch_disk, INT64_MAX},
      {"--max-violations", &options->max_violations, INT32_MAX},
  };
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    if (!args_next_is(args, limits[i].name)) continue;
    *limits[i].value = args_take_number(args, limits[i].name, limits[i].max);
    if (*limits[i].value == 0) usage_error("must be more than 0", limits[i].name);
    return true;
  }
  return false;
}

static bool take_option(struct args *args, struct supervise_options *options) {
  if (args_next_is(args, "--report-fd")) {
    options->report_fd = (int)args_take_number(args, "--report-fd", 1 << 20);
  } else if (args_next_is(args, "--channel-fd")) {
    options->channel_fd = (int)args_take_number(args, "--channel-fd", 1000);
  } else if (args_next_is(args, "--env-fd")) {
    options->env_fd = (int)args_take_number(args, "--env-fd", 1 << 20);
  } else if (args_next_is(args, "--uid")) {
    options->uid = (uid_t)args_take_number(args, "--uid", MAX_ID);
    options->has_user = true;
  } else if (args_next_is(args, "--gid")) {
    options->gid = (gid_t)args_take_number(args, "--gid", MAX_ID);
    options->has_user = true;
  } else if (args_next_is(args, "--idmap")) {
    options->idmap.from_uid = (uid_t)args_take_number(args, "--idmap", MAX_ID);
    options->idmap.from_gid = (gid_t)args_take_number(args, "--idmap", MAX_ID);
    options->has_idmap = true;
  } else if (args_next_is(args, "--overlay")) {
    take_overlay(args, options);
  } else if (args_next_is(args, "--bind")) {
    take_bind(args, options, false);
  } else if (args_next_is(args, "--bind-idmap")) {
    take_bind(args, options, true);
  } else if (args_next_is(args, "--view")) {
    take_view(args, options, false);
  } else if (args_next_is(args, "--view-socket")) {
    take_view(args, options, true);
  } else if (args_next_is(args, "--cgroup")) {
    *next_folder(options->cgroups, &options->cgroup_count, "--cgroup") = args_take(args, "--cgroup");
  } else if (args_next_is(args, "--disk-path")) {
    *next_folder(options->disk_paths, &options->disk_path_count, "--disk-path") = args_take(args, "--disk-path");
  } else if (args_next_is(args, "--no-shared-memory")) {
    options->no_shared_memory = true;
  } else if (args_next_is(args, "--fatal")) {
    take_fatal(args, options);
  } else {
    return take_limit(args, options);
  }
  return true;
}

static void check(struct supervise_options *options) {
  if (options->channel_fd < 3) usage_error("must be 3 or more", "--channel-fd");
  if (options->report_fd >= 0 && options->report_fd < 3) usage_error("must be 3 or more", "--report-fd");
  if (options->has_user && geteuid() != 0) usage_error("only root can use", "--uid, --gid");
  if (options->has_user && (options->uid == 0 || options->gid == 0)) usage_error("both are needed, and not 0", "--uid, --gid");
  if (options->has_idmap && !options->has_user) usage_error("needs --uid and --gid", "--idmap");
  if (options->watch_disk != 0 && options->disk_path_count == 0) usage_error("needs --disk-path", "--watch-disk");
  for (size_t i = 0; i < options->bind_count; i++) {
    if (options->binds[i].idmap && !options->has_idmap) usage_error("needs --idmap", "--bind-idmap");
  }
  options->idmap.to_uid = options->uid;
  options->idmap.to_gid = options->gid;
}

void supervise_options(struct args *args, struct supervise_options *options) {
  memset(options, 0, sizeof *options);
  options->report_fd = -1;
  options->env_fd = -1;
  options->channel_fd = CHANNEL_FD;
  options->supervisor = getpid();
  options->watch_ms = 50;
  options->max_violations = 20;
  while (take_option(args, options)) continue;
  options->command = args_command(args);
  check(options);
}
