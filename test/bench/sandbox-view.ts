import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FileStaging, Sandbox, Workspaces } from "@sallyport/engine/ports";
import { runInside } from "./sandbox-orders.ts";
import { type Racer, type RaceSize, race } from "./sandbox-race.ts";
import { type RaceReport, report } from "./sandbox-report.ts";

const FOLDERS = 200;
const FILES_EACH = 500;
const BARE = "sandbox, no workspace";
const SMALL = "view of 100 files";
const LARGE = "view of 100,000 files";

/** What it costs that a process sees a workspace it cannot really change, by the workspace's size. */
export async function raceViews(
  { sandbox, workspaces, folder }: { sandbox: Sandbox; workspaces: Workspaces; folder: string },
  size: RaceSize,
): Promise<RaceReport> {
  const small = makeTree(join(folder, "small"), { folders: 1, filesEach: 100 });
  const large = makeTree(join(folder, "large"), { folders: FOLDERS, filesEach: FILES_EACH });
  const kind = await viewKind(workspaces, small);
  const racers: Racer[] = [
    { name: BARE, run: () => runInside(sandbox, ["/bin/true"]) },
    viewRacer(SMALL, small, { sandbox, workspaces }),
    ...(kind === "overlay" ? [viewRacer(LARGE, large, { sandbox, workspaces })] : []),
  ];
  const timings = await race(racers, size);
  return report(`A workspace seen copy-on-write (${kind}), run of /bin/true`, timings, {
    aims: [
      { what: SMALL, of: SMALL, against: BARE, as: "difference in ms" },
      { what: LARGE, of: LARGE, against: BARE, as: "difference in ms", most: 50 },
    ],
    unavailable: kind === "overlay" ? [] : [`${LARGE}: no overlay here, and a copy may not be so large`],
  });
}

function makeTree(root: string, { folders, filesEach }: { folders: number; filesEach: number }): string {
  for (let folder = 0; folder < folders; folder += 1) {
    const path = join(root, `folder-${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < filesEach; file += 1) writeFileSync(join(path, `file-${file}`), "content\n");
  }
  chmodSync(root, 0o755);
  return root;
}

async function viewKind(workspaces: Workspaces, root: string): Promise<"overlay" | "copy"> {
  const staging = begin(workspaces, root);
  const { kind } = await staging.view();
  await staging.rollback();
  return kind;
}

function begin(workspaces: Workspaces, root: string): FileStaging {
  const rules = { root, writable: true, denied: [] };
  return workspaces.begin({ callId: crypto.randomUUID(), rules, maxBytes: 1_000_000 });
}

/** The making of the view counts, the dropping of it does not. */
function viewRacer(
  name: string,
  root: string,
  { sandbox, workspaces }: { sandbox: Sandbox; workspaces: Workspaces },
): Racer {
  let staging: FileStaging | undefined;
  return {
    name,
    run: async () => {
      staging = begin(workspaces, root);
      await runInside(sandbox, ["/bin/true"], { workspace: await staging.view(), cwd: root });
    },
    settle: async () => staging?.rollback(),
  };
}
