import { type LauncherChoice, refused, runLauncher } from "./run-launcher.ts";
import type { HostUser } from "./supervise-argv.ts";

/** What the kernel allows here, each tried for real. An errno is 0 where it worked. */
export interface HostFacts {
  userns: boolean;
  userNsErrno: number;
  overlay: boolean;
  overlayErrno: number;
  idmap: boolean;
  idmapErrno: number;
  seccompNotify: boolean;
  seccompNotifyErrno: number;
  /** 0 where Landlock is not there. */
  landlockAbi: number;
  kernel: string;
}

export interface ProbeOptions extends LauncherChoice {
  /** For a host process that is root: the user whose sandboxes are asked about. */
  user?: HostUser;
}

/** Asks the kernel, with temporary folders in `folder`. Rejects with SallyportError E3101 when the launcher cannot run. */
export async function probeHost(folder: string, { user, ...choice }: ProbeOptions = {}): Promise<HostFacts> {
  const lines: Buffer[] = [];
  await runLauncher({
    args: ["probe", "--dir", folder, ...(user ? ["--uid", `${user.uid}`, "--gid", `${user.gid}`] : [])],
    onLine: (line) => lines.push(line),
    ...choice,
  });
  const facts = readFacts(lines[0]);
  if (!facts) throw refused("the launcher's probe printed no facts");
  return facts;
}

function readFacts(line: Buffer | undefined): HostFacts | undefined {
  const value: unknown = line && JSON.parse(line.toString("utf8"));
  return isFacts(value) ? value : undefined;
}

function isFacts(value: unknown): value is HostFacts {
  if (typeof value !== "object" || value === null) return false;
  const fields: Record<string, unknown> = { ...value };
  return (
    ["userns", "overlay", "idmap", "seccompNotify"].every((name) => typeof fields[name] === "boolean") &&
    ["userNsErrno", "overlayErrno", "idmapErrno", "seccompNotifyErrno", "landlockAbi"].every(
      (name) => typeof fields[name] === "number",
    ) &&
    typeof fields.kernel === "string"
  );
}
