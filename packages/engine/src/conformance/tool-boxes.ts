import { isFailure } from "@sallyport/protocol";
import { createEngine } from "../call/engine.ts";
import type { ToolShelf } from "../call/tool-shelf.ts";
import type { ToolRecord } from "../ports/tool-records.ts";
import { lifecycleAt } from "../registry/index.ts";
import { createSchemaCompiler, type SchemaCompiler } from "../validate/index.ts";
import { type Box, fillBox, type Seen } from "./box.ts";
import type { EngineFactory, RunnerKind } from "./probe-house.ts";
import { type Containment, proveContainment } from "./tool/containment.ts";
import { capabilities, inputSchemas, limits, metadata, outputSchemas, property } from "./tool/declaration.ts";

/** What the boxes of one tool are checked with. */
export interface ToolCheckContext {
  schemas: SchemaCompiler;
  /** What runs the tool's code; undefined when it is not loaded: then every runner must keep the guarantees. */
  runner: RunnerKind | undefined;
  /** The proofs for one runner, made once and shared by all tools it runs. */
  containment(runner: RunnerKind): Promise<Containment>;
}

type Check = (record: ToolRecord, context: ToolCheckContext) => Seen | Promise<Seen>;

const CHECKS: readonly (readonly [id: string, title: string, check: Check])[] = [
  [
    "9.1.1",
    "says everything about itself that a manifest must",
    (record, { schemas }) => metadata(record, schemas),
  ],
  [
    "9.1.2",
    "has a sound input schema for each operation",
    (record, { schemas }) => inputSchemas(record, schemas),
  ],
  [
    "9.1.3",
    "has a sound output schema for each operation",
    (record, { schemas }) => outputSchemas(record, schemas),
  ],
  ["9.1.4", "declares the capabilities it needs", capabilities],
  ["9.1.5", "declares its resource limits", limits],
  ["9.1.6", "says whether it is deterministic", (record) => property(record, "deterministic")],
  ["9.1.7", "says whether it is idempotent", (record) => property(record, "idempotent")],
  ["9.1.8", "changes state only inside the transaction", transaction],
  ["9.1.9", "has every error reported to the error handler", (_, context) => contained("reporting", context)],
  ["9.1.10", "cannot let an exception escape", (_, context) => contained("answering", context)],
];

/** The ten boxes of one version of a tool. Never rejects. */
export async function checkTool(record: ToolRecord, context: ToolCheckContext): Promise<Box[]> {
  const subject = `${record.manifest.id}@${record.manifest.version}`;
  const boxes: Box[] = [];
  for (const [id, title, check] of CHECKS) {
    boxes.push(await fillBox({ id, section: "tool", title, subject }, () => check(record, context)));
  }
  return boxes;
}

/** The boxes of every version on the shelf that has not been removed. */
export async function toolBoxes(
  shelf: Pick<ToolShelf, "list" | "resolve">,
  make: EngineFactory = createEngine,
): Promise<Box[]> {
  const schemas = createSchemaCompiler();
  const containment = provenOnce(make);
  const boxes: Box[] = [];
  for (const record of shelf.list()) {
    if (lifecycleAt(record.retirement, Date.now()) === "removed") continue;
    boxes.push(...(await checkTool(record, { schemas, containment, runner: runnerOf(record, shelf) })));
  }
  return boxes;
}

function provenOnce(make: EngineFactory): ToolCheckContext["containment"] {
  const proofs = new Map<RunnerKind, Promise<Containment>>();
  return (runner) => {
    const proof = proofs.get(runner) ?? proveContainment(runner, make);
    proofs.set(runner, proof);
    return proof;
  };
}

function runnerOf({ manifest }: ToolRecord, shelf: Pick<ToolShelf, "resolve">): RunnerKind | undefined {
  const operation = Object.keys(manifest.operations)[0] ?? "";
  const tool = shelf.resolve({ tool: manifest.id, version: manifest.version, operation });
  const kind = isFailure(tool) ? undefined : tool.implementation?.kind;
  // A command is contained by the sandbox a script runs in.
  return kind === "process" ? "script" : kind;
}

async function transaction({ manifest }: ToolRecord, context: ToolCheckContext): Promise<Seen> {
  const seen = await contained("transaction", context);
  const effects = [
    manifest.sideEffects,
    ...Object.values(manifest.operations).map((each) => each.sideEffects),
  ];
  if (!seen.passed || !effects.includes("external")) return seen;
  return { ...seen, evidence: `${seen.evidence}; effects outside are journaled, not undone` };
}

async function contained(part: keyof Containment, { runner, containment }: ToolCheckContext): Promise<Seen> {
  const runners: RunnerKind[] = runner ? [runner] : ["inline", "thread"];
  const seen: Seen[] = [];
  for (const each of runners) seen.push((await containment(each))[part]);
  return {
    passed: seen.every(({ passed }) => passed),
    evidence: seen.map(({ evidence }) => evidence).join("; "),
  };
}
