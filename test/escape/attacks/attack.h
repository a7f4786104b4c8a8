/* What the attack programs share. Each attack says how it went in lines on stdout, which the harness reads. */
#ifndef SALLYPORT_ATTACK_H
#define SALLYPORT_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { EXIT_ESCAPED = 42, EXIT_BROKEN = 99 };

/* Defines an attack that the harness starts by this name. */
#define ATTACK(name)                                                                                  \
  static void name(void);                                                                             \
  __attribute__((constructor)) static void register_##name(void) { register_attack(#name, name); } \
  static void name(void)

void register_attack(const char *name, void (*run)(void));

/* The arguments after the attack's name. */
extern int arg_count;
extern char **args;

/* A variable that the harness has set; the attack is broken without it. */
const char *given(const char *name);
long given_number(const char *name);

/* The attack got what it must not get: says so and ends. */
_Noreturn void escaped(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One way was refused; says by which error number, from errno. */
void refused(const char *what);
/* The same where the answer is not an errno. */
void refused_by(const char *what, const char *code);
/* A limit held without ending the program. */
void contained(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The attack itself could not be carried out: that proves nothing. */
_Noreturn void broken(const char *what);

/* A system call that must not succeed. */
void must_fail(const char *what, long result);

/* Escapes when what is read holds a canary. */
void look_for_canary(const char *what, const char *bytes, size_t length);
void read_for_canary(const char *what, int fd);
/* Tries to read a file for a canary, and says how that went. */
void try_read(const char *path);
/* Tries to write to a file that is there. */
void try_write(const char *path);

/* A page that children share with their parent. */
void *shared_page(void);
/* Sends a descriptor into a socket where nobody takes it, and closes it; false when that is refused. */
bool send_away(int socket, int fd);

char *joined(const char *first, const char *second);
bool starts_with(const char *text, const char *start);
void sleep_ms(long milliseconds);
int64_t clock_ms(void);
/* Calls back with each process that can be seen. */
void each_pid(void (*found)(long pid));

#endif
