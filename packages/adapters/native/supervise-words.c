#include <errno.h>
#include <unistd.h>

#include "supervise.h"

void on_setup_failure(struct run *run) {
  ssize_t got = read(run->status, &run->failure, sizeof run->failure);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got == (ssize_t)sizeof run->failure) {
    run->failure.step[sizeof run->failure.step - 1] = '\0';
    run->has_failure = true;
  }
  close(run->status);
  run->status = -1;
}

static void on_word(struct run *run, const struct received *received) {
  int32_t value = received->message.value;
  bool from_init = run->init != 0 && received->sender == run->init;
  switch (received->message.word) {
    case WORD_HELLO:
      if (run->init != 0 || received->sender <= 0) return;
      run->init = received->sender;
      run->in_namespace = is_namespace_init(run->init);
      report_started(run->report, run->init);
      return;
    case WORD_FORWARDER:
      run->forwarder = received->sender;
      return;
    case WORD_EXEC_FAILED:
      run->exec_errno = value;
      return;
    case WORD_SETUP_FAILED:
      run->has_failure = true;
      run->failure.error = value;
      snprintf(run->failure.step, sizeof run->failure.step, "set up the command's limits");
      return;
    case WORD_STATUS:
      if (!from_init || run->has_word || run->has_cause) return;
      run->has_word = true;
      run->word_status = value;
      run->word_at = now_ms();
      return;
    default:
      return;
  }
}

void on_channel(struct run *run) {
  struct received received;
  int got;
  while ((got = channel_receive(run->channel, &received)) > 0) {
    if (received.message.word == WORD_LISTENER && run->listener < 0) {
      run->listener = received.fd;
      continue;
    }
    if (received.fd >= 0) close(received.fd);
    on_word(run, &received);
  }
  if (got == 0) return;
  close(run->channel);
  run->channel = -1;
}
