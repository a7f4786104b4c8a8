import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createSandbox } from "@sallyport/adapters/sandbox";
import { nodeRuntime } from "@sallyport/adapters/sandbox-runners";
import { openWorkspaces } from "@sallyport/adapters/workspace";
import { createScriptRunner } from "@sallyport/engine";
import type { Sandbox, Workspaces } from "@sallyport/engine/ports";

/** Everything that runs are made with, below one folder. */
export interface Ground {
  /** LEVEL_2 by bubblewrap. */
  sandbox: Sandbox;
  /** LEVEL_2 by an OCI runtime; undefined where there is none. */
  oci: Sandbox | undefined;
  /** LEVEL_1. */
  process: Sandbox;
  workspaces: Workspaces;
  /** A small workspace. */
  root: string;
  cold: ReturnType<typeof createScriptRunner>;
  warm: ReturnType<typeof createScriptRunner>;
  /** Of a server on this machine that answers everything. */
  port: number;
  close(): Promise<void>;
}

/** Opens it all. `folder` is ours alone. */
export async function openGround(folder: string): Promise<Ground> {
  const make = (name: "bubblewrap" | "oci" | "process") =>
    createSandbox({ runtimeFolder: join(folder, "run"), backends: [name] });
  const [sandbox, oci, process] = [make("bubblewrap"), make("oci"), make("process")];
  const ociOffer = (await oci.offers()).find(({ available }) => available);
  const workspaces = await openWorkspaces({ folder: join(folder, "state"), keepBytes: 0 });
  await workspaces.recover(async () => false);
  const runtime = nodeRuntime();
  const cold = createScriptRunner({ sandbox, ...runtime });
  const warm = createScriptRunner({ sandbox, ...runtime, pool: { perKey: 2, total: 2 } });
  const server = createServer((_, response) => response.end("answered\n"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ sandbox, process, workspaces, cold, warm },
    oci: ociOffer ? oci : undefined,
    root: makeWorkspace(join(folder, "workspace")),
    port: (server.address() as AddressInfo).port,
    close: async () => {
      await Promise.all([cold.close(), warm.close()]);
      await Promise.all([sandbox.close(), oci.close(), process.close()]);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function makeWorkspace(root: string): string {
  mkdirSync(root, { recursive: true });
  for (const name of ["one", "two", "three"]) writeFileSync(join(root, name), `${name}\n`);
  return root;
}
