/* One supervised run, as its parts see it. */
#ifndef SALLYPORT_SUPERVISE_H
#define SALLYPORT_SUPERVISE_H

#include <signal.h>

#include "launcher.h"

/* Sent to us when the thread that started us ends; only if its whole process ended we stop. */
enum { SIGNAL_PARENT_DIED = SIGUSR2 };

struct run {
  const struct supervise_options *options;
  struct report *report;
  struct watch *watch;
  int channel, signals, status, listener;
  pid_t parent, init, forwarder;
  bool in_namespace; /* init is the first process of a pid namespace */
  int64_t started_at, word_at;
  struct reaper reaper; /* its main child is the backend */
  bool has_cause;
  enum how cause;
  bool has_word;
  int word_status, exec_errno;
  bool has_failure;
  struct setup_failure failure;
  uint64_t violations;
};

/* ---- supervise-start.c */

int open_supervisor_signals(void);
void tie_to_parent(struct run *run);
void start_backend(struct run *run);
/* Lets go of the command's streams: its reader and writer must see an end when the command closes them. */
void drop_streams(void);

/* ---- supervise-words.c: what comes from inside */

void on_channel(struct run *run);
void on_setup_failure(struct run *run);

/* ---- supervise-end.c */

/* Ends everything and reports. */
void finish_run(struct run *run);

#endif
