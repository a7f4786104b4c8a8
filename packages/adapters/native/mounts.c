#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
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
static bool mount_layers(const int layers[3], const char *target) {
  static const char *const features[] = {",redirect_dir=nofollow,index=off,metacopy=off,xino=off",
                                         ",redirect_dir=off,index=off,metacopy=off,xino=off",
                                         ",redirect_dir=off,index=off", ""};
  char options[256];
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
    snprintf(options, sizeof options, "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d%s%s",
             layers[0], layers[1], layers[2], geteuid() == 0 ? "" : ",userxattr", features[i]);
    if (mount("overlay", target, "overlay", MS_NODEV | MS_NOSUID, options) == 0) return true;
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
  bool mounted = mount_layers(layers, overlay->target);
  int error = errno;
  for (size_t i = 0; i < 3; i++) close(layers[i]);
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
