import { posix } from "node:path";

export const CONTROLLERS = ["memory", "pids", "cpu", "cpuacct"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Where this process's own groups are. Only below them: whoever limits us limits what we start. */
export interface CgroupLayout {
  /** One folder per controller; two may share one. */
  v1: Partial<Record<Controller, string>>;
  /** The group of the unified hierarchy, when there is one. */
  v2?: string;
}

/** Reads the layout from `/proc/self/mountinfo` and `/proc/self/cgroup`. */
export function cgroupLayout(mountinfo: string, cgroup: string): CgroupLayout {
  const own = parseCgroup(cgroup);
  const layout: CgroupLayout = { v1: {} };
  for (const mount of parseMounts(mountinfo)) {
    if (mount.type === "cgroup2") {
      const folder = below(mount, own.get(""));
      if (folder !== undefined) layout.v2 = folder;
      continue;
    }
    for (const controller of CONTROLLERS.filter((one) => mount.options.includes(one))) {
      const folder = below(mount, own.get(controller));
      if (folder !== undefined) layout.v1[controller] = folder;
    }
  }
  return layout;
}

interface CgroupMount {
  type: string;
  root: string;
  point: string;
  options: string[];
}

/** The group's folder; undefined where the mount shows another part of the hierarchy. */
function below(mount: CgroupMount, group: string | undefined): string | undefined {
  if (group === undefined) return undefined;
  if (mount.root === "/") return posix.join(mount.point, group);
  if (group !== mount.root && !group.startsWith(`${mount.root}/`)) return undefined;
  return posix.join(mount.point, group.slice(mount.root.length));
}

/** Group by controller; the unified hierarchy's has the empty name. */
function parseCgroup(text: string): Map<string, string> {
  const lines = text.split("\n").map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  return new Map(
    lines.flatMap((line) =>
      (line?.[1] ?? "!").split(",").map((name): [string, string] => [name, line?.[2] ?? ""]),
    ),
  );
}

function parseMounts(text: string): CgroupMount[] {
  return text.split("\n").flatMap((line) => {
    const [before, after] = line.split(" - ");
    const [, , , root, point] = before?.split(" ") ?? [];
    const [type, , options] = after?.split(" ") ?? [];
    if (root === undefined || point === undefined || (type !== "cgroup" && type !== "cgroup2")) return [];
    return [{ type, root: unescaped(root), point: unescaped(point), options: options?.split(",") ?? [] }];
  });
}

/** Blanks and the like are written as octal numbers there. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
