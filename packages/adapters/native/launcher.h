/* What the parts of the launcher share. See README.md for what each part does. */
#ifndef SALLYPORT_LAUNCHER_H
#define SALLYPORT_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { EXIT_USAGE = 64, EXIT_DATA = 65, EXIT_INTERNAL = 70 };

/* The socket between `init` and `supervise`, unless --channel-fd says otherwise. */
enum { CHANNEL_FD = 10 };

/* ---- args.c: strict reading of the command line; anything not understood exits 64 */

struct args {
  int count;
  char **items;
  int next;
};

bool args_next_is(struct args *args, const char *option);
const char *args_take(struct args *args, const char *option);
uint64_t args_take_number(struct args *args, const char *option, uint64_t max);
/* The command after `--`; it is never empty. */
char **args_command(struct args *args);
bool parse_number(const char *text, size_t length, uint64_t max, uint64_t *value);
_Noreturn void usage_error(const char *what, const char *value);
_Noreturn void internal_error(const char *what);

/* ---- io.c */

bool write_all(int fd, const void *data, size_t length);
/* Reads at most size - 1 bytes and ends them with NUL. -1 with errno when it cannot be opened or read. */
ssize_t read_small_file(const char *path, char *buffer, size_t size);
bool write_small_file(const char *path, const char *text);
int64_t now_ms(void);
/* Returns false when a descriptor in the range may still be open. */
bool close_from(unsigned first);

/* ---- json.c */

bool is_utf8(const char *text, size_t length);
void json_string(FILE *out, const char *text, size_t length);
/* Every byte that is not printable ASCII becomes `?`. */
void json_ascii(FILE *out, const char *text);
void base64(FILE *out, const char *text, size_t length);

/* ---- channel.c: what `init` and `supervise` tell each other */

enum word { WORD_HELLO = 1, WORD_FORWARDER, WORD_LISTENER, WORD_STATUS, WORD_EXEC_FAILED, WORD_SETUP_FAILED, WORD_ENVIRONMENT, WORD_END };

struct message {
  uint32_t word;
  int32_t value;
};

struct received {
  struct message message;
  pid_t sender;
  int fd; /* -1 when none came along */
};

bool channel_pair(int ends[2]);
bool channel_send(int channel, enum word word, int32_t value, int fd);
/* 1: one message; 0: nothing there now; -1: the other side is gone. */
int channel_receive(int channel, struct received *received);

/* ---- environment.c */

/* Copies all that comes from the descriptor into a file without a name; -1 with errno. */
int environment_file(int from);
/* Makes what the supervisor sent the whole environment of this process; false with errno. */
bool take_environment(int channel);

/* ---- mounts.c, idmap.c */

struct idmap {
  uid_t from_uid, to_uid;
  gid_t from_gid, to_gid;
};

struct overlay {
  const char *lower, *upper, *work, *target;
};

struct bind {
  const char *source, *target;
  bool idmap;
};

/* A file or folder that is only read, or a socket or fifo that was given by name; `empty` is a folder with nothing in it. */
struct view {
  const char *empty, *source, *target;
  bool socket;
};

/* The steps below return false with errno set and *step naming what failed. */
bool enter_mount_namespace(const char **step);
bool mount_overlay(const struct overlay *overlay, const struct idmap *idmap, const char **step);
/* On a file system of its own: layers of an overlay must not contain each other, and a view may be of all the host. */
bool mount_empty(const char *folder, const char **step);
bool mount_view(const struct view *view, const char **step);
bool mount_bind(const struct bind *bind, const struct idmap *idmap, const char **step);
/* A detached clone of the folder with owners mapped, or -1. */
int open_idmapped(const char *source, const struct idmap *idmap, const char **step);
bool attach_tree(int tree, const char *target);

/* ---- supervise-options.c */

enum { MAX_MOUNTS = 512, MAX_FOLDERS = 8, MAX_SYSCALL = 1024 };

struct supervise_options {
  int report_fd; /* -1: nobody wants to know */
  int env_fd; /* -1: the command gets no environment from us */
  int channel_fd;
  bool has_user, has_idmap;
  uid_t uid;
  gid_t gid;
  struct idmap idmap;
  struct overlay overlays[MAX_MOUNTS];
  size_t overlay_count;
  struct bind binds[MAX_MOUNTS];
  size_t bind_count;
  struct view views[MAX_MOUNTS];
  size_t view_count;
  const char *cgroups[MAX_FOLDERS];
  size_t cgroup_count;
  uint64_t wall_ms, watch_ms, watch_idle_ms, watch_memory, watch_cpu_ms, watch_processes, watch_disk; /* 0: not limited */
  bool no_shared_memory; /* the command cannot have any, but for a map of /dev/zero, which is over the memory limit */
  const char *disk_paths[MAX_FOLDERS];
  size_t disk_path_count;
  bool fatal[MAX_SYSCALL];
  uint64_t max_violations;
  char **command;
  pid_t supervisor;
};

void supervise_options(struct args *args, struct supervise_options *options);

/* ---- backend.c: the forked child that becomes the backend */

struct setup_failure {
  int32_t error;
  char step[256];
};

/* Tells what went wrong on status_fd, which closes by itself when the backend has been started. */
_Noreturn void run_backend(const struct supervise_options *options, int channel, int status_fd);

/* ---- tree.c: all that descends from this process */

struct process {
  pid_t pid, parent;
  uint64_t start; /* with the pid this names a process for good */
  uint64_t user_ticks, system_ticks, waited_user_ticks, waited_system_ticks;
  uint64_t threads;
  bool zombie;
};

struct tree {
  struct process *items;
  size_t count, room;
  size_t most; /* collect no more than this; 0: as many as we are willing to hold */
  bool cut; /* there were more */
  int signal; /* sent to each as it is found and before its children are looked for; 0: none */
};

bool tree_collect(struct tree *tree);
/*
 * Signals exactly the process that was seen: the descriptor pins whoever has the number now, and the start time tells
 * whether that is still the same one. A number used again by a stranger is left alone.
 */
void signal_seen(const struct process *seen, int number);
void tree_free(struct tree *tree);
bool read_process(pid_t pid, struct process *process);
/* The folder in /proc of a task that has memory: the first one may have ended before the others. */
bool task_with_memory(const struct process *process, char *path, size_t size);
/* True for the first process of a pid namespace below ours: when it dies, the kernel ends all others in it. */
bool is_namespace_init(pid_t pid);

/* ---- kill.c */

struct usage {
  uint64_t user_us, system_us;
};

/* What became of our children. */
struct reaper {
  pid_t main; /* the one whose ending matters */
  int status;
  bool ended;
  pid_t helper; /* ours, not the sandbox's; 0 when there is none */
  struct usage helper_usage; /* of all helpers so far: to be taken off what our children used */
};

/* Collects whatever ended. Returns false once there is no child left. */
bool reap_ended(struct reaper *reaper);
/* Reaps for a while, until the main child has ended or the time is over. */
void await_main(struct reaper *reaper);
/* Ends every descendant and reaps it; returns how many resisted until the time was over. */
size_t kill_everything(struct reaper *reaper);

/* ---- watch.c, disk.c, open-files.c */

struct watch;
enum watch_limit { LIMIT_NONE = 0, LIMIT_MEMORY, LIMIT_CPU, LIMIT_PROCESSES, LIMIT_DISK };

/* Its helpers are made known to the reaper. */
struct watch *watch_new(const struct supervise_options *options, struct reaper *reaper);
/* Called often; measures when it is time. Says which limit was passed and the value seen. */
enum watch_limit watch_tick(struct watch *watch, pid_t init, pid_t forwarder, uint64_t *value);
/* A descriptor to wait for besides, or -1. */
int watch_fd(const struct watch *watch);
/* When it wants to be called again, in ms from now; -1 for never. */
int64_t watch_wait_ms(const struct watch *watch);
/* What was seen of the tree's processor time, lost children included. */
struct usage watch_usage(const struct watch *watch);
void watch_free(struct watch *watch);

/* Room taken below the folders. Stops when it is past the limit, and says so too when it cannot look everywhere. */
uint64_t disk_used(const char *const *paths, size_t count, uint64_t limit);

/* A measurement by a helper process: the walk may take long, and needs rights that we must not have ourselves. */
struct disk_job {
  int result; /* -1 when none is under way */
  pid_t helper;
};
bool disk_start(struct disk_job *job, const struct supervise_options *options);
enum disk_answer { DISK_PENDING, DISK_KNOWN, DISK_FAILED };
enum disk_answer disk_answer(struct disk_job *job, uint64_t *bytes);

struct unlinked {
  uint64_t disk_bytes, memory_bytes;
  uint64_t unseen; /* descriptors under way in sockets, and files on disk that are mapped: how large they are nobody says */
  uint64_t shared_maps; /* of the command: anonymous shared memory, which stays when a process lets go of its pages */
};
/* Files without a name that the tree still holds: they take room that no folder shows. */
struct unlinked unlinked_files(const struct tree *tree, pid_t init);
/* True for what the command started; the tree is sorted by pid. */
bool is_below(const struct tree *tree, const struct process *process, pid_t init);

/* A set of (device, inode), or of any two numbers of which the second is never 0. */
struct inodes {
  struct {
    uint64_t device, inode;
  } *slots;
  size_t count, room;
};
/* False when it was already there. When memory is short it says true. */
bool inodes_add(struct inodes *inodes, uint64_t device, uint64_t inode);
void inodes_free(struct inodes *inodes);

/* ---- notify.c: system calls that the filter hands to us */

struct violation {
  int32_t nr;
  uint32_t arch;
  pid_t pid;
  char comm[32];
  bool fatal;
};

/* 1: one attempt was refused (a fatal one stays blocked); 0: it vanished meanwhile; -1: there will be no more. */
int notify_refuse(int listener, const bool *fatal, struct violation *violation);

/* ---- supervise-report.c */

enum how { HOW_EXITED, HOW_SIGNALLED, HOW_TIMEOUT, HOW_KILLED, HOW_LIMIT, HOW_VIOLATION, HOW_BACKEND_FAILED, HOW_EXEC_FAILED };

struct ending {
  enum how how;
  int code, signal, error;
  const char *message; /* NULL or what could not be done */
  uint64_t user_ms, system_ms, max_rss_bytes, wall_ms, violations;
  size_t left;
};

struct report;
struct report *report_open(int fd);
bool report_reader_is_gone(const struct report *report);
int report_fd(const struct report *report);
void report_started(struct report *report, pid_t pid);
void report_violation(struct report *report, const struct violation *violation);
void report_limit(struct report *report, enum watch_limit limit, uint64_t value);
void report_ended(struct report *report, const struct ending *ending);
void report_close(struct report *report);

/* ---- init-options.c, command.c, forward.c */

enum { MAX_RLIMITS = 16, MAX_FORWARDS = 8 };

struct rlimit_order {
  int resource;
  uint64_t value;
};

struct forward {
  uint16_t port;
  const char *path;
};

struct init_options {
  int channel_fd;
  struct rlimit_order rlimits[MAX_RLIMITS];
  size_t rlimit_count;
  const char *filter;
  bool notify, session, environment;
  int nice;
  const char *chdir;
  struct forward forwards[MAX_FORWARDS];
  size_t forward_count;
  char **command;
  pid_t init;
};

void init_options(struct args *args, struct init_options *options);
/* The forked child: takes on all limits and becomes the command. */
_Noreturn void run_command(const struct init_options *options);
/* Starts the forwarder and returns once it listens; -1 with errno when it cannot. */
pid_t start_forwarder(const struct init_options *options);
_Noreturn void forward_forever(const int *listeners, const struct forward *forwards, size_t count);

/* ---- the subcommands */

int supervise_main(struct args *args);
int init_main(struct args *args);
int scan_main(struct args *args);
int attributes_main(struct args *args);
int probe_main(struct args *args);

#endif
