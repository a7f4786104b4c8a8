import { readlinkSync } from "node:fs";
import type { SandboxOrder, WorkspaceView } from "@sallyport/engine/ports";
import type { IsolationLevel } from "@sallyport/protocol";
import { GUEST } from "../plan/guest-paths.ts";

/** What every call does: work in a view of its workspace. */
const TRY_WORKSPACE = `if ! ( : > probe ) 2>/dev/null; then echo "cannot write in the workspace"; fi
`;

/** Namespaces that must not be the host's. */
const NAMESPACES = ["user", "pid", "mnt", "net", "ipc", "uts"];

/**
 * Tries what must not work and prints one line for each thing that did. The shell's own commands do most of it; last
 * the launcher tries to make namespaces and mounts, which has to end the sandbox.
 */
const FULL_SCRIPT = `
for place in /usr /etc / /run /dev /proc/sys; do
  if ( : > "$place/sallyport-probe" ) 2>/dev/null; then echo "can write in $place"; fi
done
for pair in "$@"; do
  if [ "$(readlink "/proc/self/ns/\${pair%%=*}")" = "\${pair#*=}" ]; then echo "shares the host's \${pair%%=*} namespace"; fi
done
seen=0
for process in /proc/[0-9]*; do seen=$((seen + 1)); done
if [ "$seen" -gt 8 ]; then echo "sees processes of the host"; fi
while read -r name rest; do
  case "$name" in lo:|Inter-*|face) ;; *) echo "has the network interface $name" ;; esac
done < /proc/net/dev
while read -r name value rest; do
  case "$name=$value" in
    Uid:=0) echo "is root" ;;
    CapEff:=0000000000000000|NoNewPrivs:=1|Seccomp:=2) ;;
    CapEff:=*) echo "has capabilities $value" ;;
    NoNewPrivs:=*) echo "can gain privileges" ;;
    Seccomp:=*) echo "has no system call filter" ;;
  esac
done < /proc/self/status
if ! ( : > /tmp/probe ) 2>/dev/null; then echo "cannot write in /tmp"; fi
${TRY_WORKSPACE}echo tried
exec ${GUEST.launcher} probe --dir /tmp
`;

/** What LEVEL_1 promises: not root, a limit on open files, an environment with nothing of the host's in it. */
const PLAIN_SCRIPT = `
while read -r name value rest; do case "$name=$value" in Uid:=0) echo "is root" ;; esac; done < /proc/self/status
if [ "$(ulimit -n)" != 64 ]; then echo "has no limit on open files"; fi
${TRY_WORKSPACE}echo tried
`;

const MIB = 1024 * 1024;

/** The order of a sandbox in which forbidden acts are tried, with a workspace as calls have one. */
export function probeOrder(level: IsolationLevel, workspace: WorkspaceView): SandboxOrder {
  const host = NAMESPACES.map((name) => `${name}=${readlinkSync(`/proc/self/ns/${name}`)}`);
  return {
    id: "probe",
    level,
    argv: ["/bin/sh", "-c", level === "LEVEL_2" ? FULL_SCRIPT : PLAIN_SCRIPT, "sh", ...host],
    env: {},
    cwd: workspace.root,
    workspace,
    mounts: [],
    hidden: [],
    egress: [],
    limits: {
      wallMs: 10_000,
      memoryBytes: 256 * MIB,
      processes: 32,
      openFiles: 64,
      fileBytes: MIB,
      diskBytes: 16 * MIB,
      outputBytes: 64 * 1024,
      connections: 1,
    },
  };
}
