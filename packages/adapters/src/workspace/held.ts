import { join } from "node:path";
import type { WorkspaceRules } from "@sallyport/engine/ports";
import type { FileEffects } from "@sallyport/protocol";
import { type Anchor, anchored } from "./anchor.ts";
import type { ChangeSet, Content, Wanted } from "./change.ts";
import { copyContent } from "./copy-content.ts";
import { chmod, rename } from "./disk.ts";
import { privateFolder, readJson, syncFolder, writeJson } from "./durable.ts";
import { damaged } from "./failures.ts";
import { openOwn, openToRead, sha256Of, using } from "./file-content.ts";
import { eachOf } from "./in-turn.ts";
import { keyOf } from "./plan.ts";
import { digestOf } from "./proof.ts";
import { openContent } from "./put-content.ts";
import { removeTree } from "./remove-tree.ts";
import { heldFolder, type WorkspaceContext } from "./workspace-context.ts";

/** Changes that wait for a person, complete in a folder of their own. */
export interface HeldChanges {
  version: 1;
  name: string;
  rules: WorkspaceRules;
  maxBytes: number;
  set: ChangeSet;
  /** What was shown. */
  effects: FileEffects;
}

/** Where changes of that name are held. */
export function heldAs(context: WorkspaceContext, name: string): string {
  return join(heldFolder(context), keyOf(name));
}

/** Moves changes to where they survive this process. Once it resolves they are on disk. Replaces others of that name. */
export async function saveHeld(context: WorkspaceContext, held: HeldChanges): Promise<void> {
  const final = heldAs(context, held.name);
  const fresh = `${final}.new`;
  const { step } = context.settings;
  await removeTree(fresh);
  step("hold the content");
  await privateFolder(join(fresh, "content"));
  const files = held.set.changes.flatMap(({ after }, index) => (after?.content ? [{ after, index }] : []));
  await anchored(held.rules.root, (anchor) =>
    eachOf(files, 8, async ({ after, index }) => {
      const name = join("content", `${index}`);
      if (after.linkTo === undefined) await moveContent(anchor, after, join(fresh, name));
      after.content = { kind: "own", path: name };
    }),
  );
  step("hold the list");
  await syncFolder(join(fresh, "content"));
  await writeJson(join(fresh, "held.json"), held, { sync: true });
  step("name what is held");
  await removeTree(final);
  await rename(fresh, final);
  await syncFolder(heldFolder(context));
}

async function moveContent(anchor: Anchor, wanted: Wanted, target: string): Promise<void> {
  const content = wanted.content as Content;
  const { bytes = 0, blocks = Math.ceil(bytes / 512) } = wanted;
  const source = await openContent(content, anchor);
  await using(source, (handle) => copyContent({ handle, bytes, blocks }, target));
  await chmod(target, 0o600);
  await using(await openToRead(target), (handle) => handle.sync());
}

/** Reads held changes back; undefined when there are none. Rejects with E3703 when they are not what was shown. */
export async function readHeld(context: WorkspaceContext, name: string): Promise<HeldChanges | undefined> {
  const folder = heldAs(context, name);
  const held = await readJson<HeldChanges>(join(folder, "held.json"));
  if (!held) return undefined;
  if (digestOf(held.set.changes) !== held.effects.digest) throw damaged(name, "their list was changed");
  for (const { path, after } of held.set.changes) {
    if (after?.content?.kind !== "own") continue;
    after.content = { kind: "own", path: join(folder, after.content.path) };
    if (after.linkTo === undefined) await checkContent(name, path, after);
  }
  return held;
}

async function checkContent(
  name: string,
  path: string,
  { content, sha256, bytes = 0 }: Wanted,
): Promise<void> {
  const handle = await openOwn(content?.path ?? "").catch(() => undefined);
  if (!handle) throw damaged(name, `the content of ${path} is missing`);
  const now = await using(handle, (open) => sha256Of(open, bytes));
  if (sha256 !== undefined && now !== sha256) throw damaged(name, `the content of ${path} was changed`);
}
