#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "mount-calls.h"

/* Maps the user to itself: inside it has the right to mount, outside it stays who it was. */
static bool map_self(uid_t uid, gid_t gid, const char **step) {
  char map[64];
  *step = "map the user in its new namespace";
  if (!write_small_file("/proc/self/setgroups", "deny") && errno != ENOENT) return false;
  snprintf(map, sizeof map, "%u %u 1", uid, uid);
  if (!write_small_file("/proc/self/uid_map", map)) return false;
  snprintf(map, sizeof map, "%u %u 1", gid, gid);
  return write_small_file("/proc/self/gid_map", map);
}

bool enter_mount_namespace(const char **step) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  int flags = CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER);
  *step = uid == 0 ? "make a mount namespace" : "make a user and mount namespace";
  if (unshare(flags) != 0) return false;
  if (uid != 0 && !map_self(uid, gid, step)) return false;
  *step = "make the mounts private";
  /* Slave: what the host unmounts goes here too, what we mount stays here. */
  return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

static int open_folder(const char *path) { return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }

/*
 * Layers are named by descriptor: the option string then needs no escaping of `,` `:` and `\`, has no length problem,
 * and nobody can swap a path between our look and the mount.
 */
static bool mount_layers(const char *layers, const char *target, unsigned long flags) {
  static const char *const features[] = {",redirect_dir=nofollow,index=off,metacopy=off,xino=off",
                                         ",redirect_dir=off,index=off,metacopy=off,xino=off",
                                         ",redirect_dir=off,index=off", ""};
  char options[256];
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
    snprintf(options, sizeof options, "%s%s%s", layers, geteuid() == 0 ? "" : ",userxattr", features[i]);
    if (mount("overlay", target, "overlay", MS_NODEV | MS_NOSUID | flags, options) == 0) return true;
    if (errno != EINVAL) return false;
  }
  return false;
}

bool mount_overlay(const struct overlay *overlay, const struct idmap *idmap, const char **step) {
  const char *lower = overlay->lower;
  if (idmap != NULL) {
    int tree = open_idmapped(overlay->lower, idmap, step);
    if (tree < 0) return false;
    *step = "attach the mapped folder";
    if (!attach_tree(tree, overlay->target)) return false;
    /* A lower layer has to be somewhere in the namespace; the overlay then covers it. */
    lower = overlay->target;
  }
  *step = "open the layers of the overlay";
  int layers[3] = {open_folder(lower), open_folder(overlay->upper), open_folder(overlay->work)};
  if (layers[0] < 0 || layers[1] < 0 || layers[2] < 0) return false;
  *step = "mount the overlay";
  char names[128];
  snprintf(names, sizeof names, "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d", layers[0],
           layers[1], layers[2]);
  bool mounted = mount_layers(names, overlay->target, 0);
  int error = errno;
  for (size_t i = 0; i < 3; i++) close(layers[i]);
  errno = error;
  return mounted;
}

/* Read-only by itself: a backend that shows the folder around it may not do that for what is mounted in there. */
static bool mount_file(const char *source, const char *target) {
  struct statvfs system;
  if (mount(source, target, NULL, MS_BIND, NULL) != 0 || statvfs(target, &system) != 0) return false;
  unsigned long kept = system.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC);
  return mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, NULL) == 0;
}

/* Names the path, of which it shows as much as a failure holds. */
static const char *view_step(const char *words, const struct view *view) {
  static char text[sizeof ((struct setup_failure *)0)->step];
  snprintf(text, sizeof text, words, view->source);
  return text;
}

static bool mount_opened(int source, int empty, const struct view *view, const char **step) {
  struct stat state;
  char names[128];
  if (source < 0 || empty < 0 || fstat(source, &state) != 0) return false;
  snprintf(names, sizeof names, "/proc/self/fd/%d", source);
  *step = view_step("give the socket %s", view);
  errno = ENOTSOCK;
  if (view->socket && !S_ISSOCK(state.st_mode) && !S_ISFIFO(state.st_mode)) return false;
  if (view->socket) return mount(names, view->target, NULL, MS_BIND, NULL) == 0;
  *step = view_step("show the file %s", view);
  if (S_ISREG(state.st_mode)) return mount_file(names, view->target);
  *step = view_step("show %.200s through an overlay", view);
  errno = ENOTDIR;
  if (!S_ISDIR(state.st_mode)) return false;
  /* The kernel wants a second layer where none can be written. */
  snprintf(names, sizeof names, "lowerdir=/proc/self/fd/%d:/proc/self/fd/%d", source, empty);
  return mount_layers(names, view->target, MS_RDONLY);
}

bool mount_empty(const char *folder, const char **step) {
  *step = "make the empty folder";
  return mount("tmpfs", folder, "tmpfs", MS_RDONLY | MS_NODEV | MS_NOSUID | MS_NOEXEC, "mode=0555,size=4k") == 0;
}

/*
 * An overlay has inodes of its own: a socket or fifo seen in it leads to nobody on the host, whenever it was made, and
 * a device to nothing. A bind would have the host's inodes, whatever it is mounted with.
 */
bool mount_view(const struct view *view, const char **step) {
  *step = view_step("open %s", view);
  /* Links were resolved when the path was checked: one that is there now was put there since. */
  struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
  int source = (int)syscall(SYS_openat2, AT_FDCWD, view->source, &how, sizeof how);
  /* A mount that is gone, or covered by another, leaves no place to show it either. */
  if (source < 0 && errno == ENOENT && access(view->target, F_OK) != 0 && errno == ENOENT) return true;
  int empty = open_folder(view->empty);
  bool mounted = mount_opened(source, empty, view, step);
  int error = errno;
  close(source);
  close(empty);
  errno = error;
  return mounted;
}

bool attach_tree(int tree, const char *target) {
  long moved = syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_FROM_EMPTY_PATH);
  int error = errno;
  close(tree);
  errno = error;
  return moved == 0;
}

bool mount_bind(const struct bind *bind, const struct idmap *idmap, const char **step) {
  if (bind->idmap && idmap != NULL) {
    int tree = open_idmapped(bind->source, idmap, step);
    if (tree < 0) return false;
    *step = "attach the mapped folder";
    return attach_tree(tree, bind->target);
  }
  *step = "bind the folder";
  return mount(bind->source, bind->target, NULL, MS_BIND | MS_REC, NULL) == 0;
}
