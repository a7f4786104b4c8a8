import { isDeepStrictEqual } from "node:util";
import { createEngine, type Engine, type Implementation, type Store } from "@sallyport/engine";
import { type Failure, isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { type PlannedTool, type ToolPlan, toolNow } from "./plan-tools.ts";

/** What a reload does to the tools, as `id@version`. */
export interface ToolChanges {
  added: string[];
  /** Called with other code from now on. */
  changed: string[];
  /** No module has it any more. */
  gone: string[];
}

/** A plan compared with what is there. */
export interface ComparedTools {
  added: PlannedTool[];
  changed: PlannedTool[];
  /** Ids of tools of which no version is left. */
  goneTools: Set<string>;
  goneVersions: ToolManifest[];
}

type Shelf = Pick<Engine["tools"], "list" | "resolve" | "register">;

/** Finds out what is new, different and gone. */
export function compareTools({ tools }: ToolPlan, shelf: Shelf): ComparedTools {
  const known = new Set(shelf.list().map(({ manifest }) => nameOf(manifest)));
  const planned = new Set(tools.map(({ manifest }) => nameOf(manifest)));
  const ids = new Set(tools.map(({ manifest }) => manifest.id));
  const withCode = shelf
    .list()
    .map(({ manifest }) => manifest)
    .filter((manifest) => toolNow(manifest, shelf)?.implementation);
  const goneVersions = withCode.filter((manifest) => !planned.has(nameOf(manifest)));
  return {
    added: tools.filter(({ manifest }) => !known.has(nameOf(manifest))),
    changed: tools.filter(
      ({ manifest, implementation }) =>
        known.has(nameOf(manifest)) && !isSame(implementation, toolNow(manifest, shelf)?.implementation),
    ),
    goneVersions,
    goneTools: new Set(goneVersions.map(({ id }) => id).filter((id) => !ids.has(id))),
  };
}

function isSame(wanted: Implementation, present: Implementation | undefined): boolean {
  return isDeepStrictEqual(wanted, present);
}

/** What a person is told about it. */
export function changesOf({ added, changed, goneVersions }: ComparedTools): ToolChanges {
  const names = (tools: readonly PlannedTool[]) => tools.map(({ manifest }) => nameOf(manifest));
  return { added: names(added), changed: names(changed), gone: goneVersions.map(nameOf) };
}

/** Registers everything where it counts for nothing; every refusal there is one here. */
export async function tryTools(
  { tools }: ToolPlan,
  { store, maxVersions }: { store: Store; maxVersions: number },
): Promise<Failure[]> {
  const trial = await createEngine({ store, registry: { maxVersions } });
  try {
    const answers = [];
    for (const { manifest } of tools) answers.push(await trial.tools.register(manifest, { keep: false }));
    return answers.filter(isFailure);
  } finally {
    await trial.close();
  }
}

/** New versions go on record first: that can fail, and then nothing else has changed. */
export async function switchTools(
  { added, changed }: ComparedTools,
  shelf: Shelf,
): Promise<Failure | undefined> {
  const steps = [
    ...added.map((tool) => ({ ...tool, keep: true })),
    ...changed.map((tool) => ({ ...tool, keep: false })),
  ];
  try {
    for (const { manifest, implementation, keep } of steps) {
      const shelved = await shelf.register(manifest, { implementation, keep });
      if (isFailure(shelved)) return shelved;
    }
    return undefined;
  } catch (error) {
    if (error instanceof SallyportError) return error.failure;
    throw error;
  }
}

function nameOf({ id, version }: ToolManifest): string {
  return `${id}@${version}`;
}
