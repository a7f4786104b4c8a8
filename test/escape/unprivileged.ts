import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const REPOSITORY = join(import.meta.dirname, "../..");

/** A program of this repository that is run as somebody else. */
export interface Program {
  argv: string[];
  /** Who it is started as; absent when it has to start as root and becomes somebody else by itself. */
  user?: { uid: number; gid: number };
}

/**
 * How to run a script of this repository as an unprivileged user. A checkout below a closed folder, such as root's home,
 * cannot be entered by anybody else: then the script is run from a view of it that only its own process has.
 */
export function unprivilegedArgv(
  script: string,
  user: { uid: number; gid: number },
  folder: string,
): Program {
  if (canRun(script, user)) return { argv: [process.execPath, script], user };
  const [view, node] = [join(folder, "repository"), join(folder, "node")];
  mkdirSync(view, { recursive: true });
  writeFileSync(node, "", { mode: 0o755 });
  const become = ["setpriv", "--reuid", String(user.uid), "--regid", String(user.gid), "--clear-groups"];
  const steps = 'mount --bind "$1" "$2" && mount --bind "$3" "$4" && shift 4 && exec "$@"';
  return {
    argv: [
      ...["unshare", "--mount", "--propagation", "private", "sh", "-c", steps, "sh"],
      ...[
        REPOSITORY,
        view,
        process.execPath,
        node,
        ...become,
        node,
        join(view, relative(REPOSITORY, script)),
      ],
    ],
  };
}

function canRun(script: string, user: { uid: number; gid: number }): boolean {
  const look = ["--eval", "require('node:fs').accessSync(process.argv[1])", script];
  return spawnSync(process.execPath, look, { ...user, cwd: "/", stdio: "ignore" }).status === 0;
}
