import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Engine, lintSchema } from "@sallyport/engine";
import { createSchemaCompiler, lifecycleAt } from "@sallyport/engine/host";
import type { ErrorReport, Implementation, ToolRecord } from "@sallyport/engine/ports";
import {
  type CallAnswer,
  canonicalJson,
  isFailure,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  MANIFEST_SCHEMA,
  type OperationManifest,
  type ToolManifest,
} from "@sallyport/protocol";
import { type Check, type Checklist, type Expect, type Procedure, runChecks } from "./check.ts";
import { codeOf, type EngineFactory, hasStack, openProbeEngine } from "./probe-engine.ts";
import { probe, type RunnerKind } from "./probe-tool.ts";

/** An input that a schema may accept; undefined when none can be made up. */
export type SampleMaker = (schema: JsonSchema) => JsonValue | undefined;

/** One version of a tool, and what its checks are made with. */
export interface ToolContext extends Pick<ToolRecord, "manifest" | "manifestHash"> {
  make: EngineFactory;
  sample: SampleMaker;
  schemas: ReturnType<typeof createSchemaCompiler>;
  /** Undefined when the tool's code is not loaded: then every runner must keep the guarantees. */
  implementation: Implementation | undefined;
  /** What came of a probe that misbehaved in a runner; it does so once for all tools of the runner. */
  misbehave(runner: RunnerKind): Promise<Misbehaviour>;
}

/** The ten checks of one version of a tool. */
export const TOOL_CHECKS: Checklist<ToolContext> = {
  section: "tool",
  checks: [
    ["9.1.1", "says everything about itself that a manifest must", describesItself],
    ["9.1.2", "has a sound input schema for each operation", hasSchemas("inputSchema")],
    ["9.1.3", "has a sound output schema for each operation", hasSchemas("outputSchema")],
    ["9.1.4", "declares the capabilities it needs", declaresCapabilities],
    ["9.1.5", "declares its resource limits", declaresLimits],
    ["9.1.6", "says whether it is deterministic", keepsPromise("deterministic")],
    ["9.1.7", "says whether it is idempotent", keepsPromise("idempotent")],
    ["9.1.8", "changes state only inside the transaction", keepsTransaction],
    ["9.1.9", "has every error reported to the error handler", inItsRunner(reportsErrors)],
    ["9.1.10", "cannot let an exception escape", inItsRunner(answersErrors)],
  ],
};

/** The checks of every version in the catalogue that has not been removed. */
export async function checkTools(
  tools: Pick<Engine["tools"], "list" | "resolve">,
  make: EngineFactory,
  sample: SampleMaker,
): Promise<Check[]> {
  const schemas = createSchemaCompiler();
  const trials = new Map<RunnerKind, Promise<Misbehaviour>>();
  const misbehave = (runner: RunnerKind) => {
    const trial = trials.get(runner) ?? misbehaveIn(runner, make);
    trials.set(runner, trial);
    return trial;
  };
  const checks: Check[] = [];
  for (const { manifest, manifestHash, retirement } of tools.list()) {
    if (lifecycleAt(retirement, Date.now()) === "removed") continue;
    const { id, version, operations } = manifest;
    const tool = tools.resolve({ tool: id, version, operation: Object.keys(operations)[0] ?? "" });
    const implementation = isFailure(tool) ? undefined : tool.implementation;
    const context = { manifest, manifestHash, make, sample, schemas, implementation, misbehave };
    checks.push(...(await runChecks(TOOL_CHECKS, context, `${id}@${version}`)));
  }
  return checks;
}

/** The manifest as kept fits its schema, says what it is for, and is the one that was registered. */
function describesItself({ manifest, manifestHash, schemas }: ToolContext, expect: Expect): string {
  const json: JsonValue = JSON.parse(JSON.stringify(manifest));
  const result = schemas.compile(MANIFEST_SCHEMA).validate(json);
  if (!result.ok) {
    const issues = result.kind === "invalid" ? result.issues : [{ path: "", reason: result.failure.message }];
    for (const { path, reason } of issues) expect(false, `${path || "/"} ${reason}`);
    return "";
  }
  const described = [manifest, ...Object.values(manifest.operations)];
  const isSaid =
    described.every(({ description }) => description.trim() !== "") && manifest.name.trim() !== "";
  expect(isSaid, "a name or description is empty");
  const hash = createHash("sha256").update(canonicalJson(json)).digest("hex");
  expect(hash === manifestHash, "the manifest is not the one that was registered");
  return `${Object.keys(manifest.operations).length} operation(s), manifest ${manifestHash.slice(0, 12)}`;
}

/** Every operation has a schema of this side that compiles and keeps the quality rules. */
function hasSchemas(side: "inputSchema" | "outputSchema"): ToolCheck {
  return ({ manifest, schemas }, expect) => {
    for (const [name, { [side]: schema }] of Object.entries(manifest.operations)) {
      expect(schema !== undefined, `${name} declares none`);
      const found = schema ? lintSchema(schema, (given) => schemas.check(given)) : [];
      for (const { path, message, severity } of found) {
        expect(severity !== "error", `${name}: ${path || "/"} ${message}`);
      }
    }
    return `${Object.keys(manifest.operations).join(", ")}: JSON Schema 2020-12, compiles`;
  };
}

/** The capabilities are a list of distinct names; a tool that needs none says so with an empty one. */
function declaresCapabilities({ manifest }: ToolContext, expect: Expect): string {
  const lists = stated(manifest, "requiredCapabilities");
  for (const list of lists) {
    const isList = Array.isArray(list) && list.every((name) => typeof name === "string" && name !== "");
    expect(isList, "requiredCapabilities is not a list of names");
    expect(!isList || new Set(list).size === list.length, "a capability is named twice");
  }
  return `needs ${[...new Set(lists.flat())].join(", ") || "none"}`;
}

/** Time and memory are bounded, by positive whole numbers. */
function declaresLimits({ manifest }: ToolContext, expect: Expect): string {
  const isBound = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;
  const { timeoutMs, memoryBytes } = manifest.limits;
  expect(isBound(timeoutMs), "no limit of time");
  expect(isBound(memoryBytes), "no limit of memory");
  for (const { timeoutMs: own } of Object.values(manifest.operations)) {
    expect(own === undefined || isBound(own), "an operation has no limit of time");
  }
  return `${timeoutMs} ms, ${memoryBytes} bytes`;
}

type ToolCheck = Procedure<ToolContext>;
type Trait = "deterministic" | "idempotent";

/** What the tool says, then what each operation says that speaks for itself. */
function stated<Key extends Trait | "requiredCapabilities">(manifest: ToolManifest, key: Key) {
  const own = Object.values(manifest.operations).flatMap(({ [key]: value }) =>
    value === undefined ? [] : [value],
  );
  return [manifest[key], ...own];
}

/** A yes or a no is on record, for the tool and for each operation; where it is a yes, two runs agree with it. */
function keepsPromise(name: Trait): ToolCheck {
  return async (tool, expect) => {
    const { manifest } = tool;
    const isDeclared = (value: unknown) => typeof value === "boolean";
    const values = stated(manifest, name);
    for (const value of values) {
      expect(isDeclared(value), `${name} is ${JSON.stringify(value)}, neither yes nor no`);
    }
    const evidence = [`${name}: ${manifest[name]}`];
    if (!values.every(isDeclared)) return "";
    for (const [operation, declared] of Object.entries(manifest.operations)) {
      if (!(declared[name] ?? manifest[name])) continue;
      const seen = `${operation} ${await runTwice({ tool, operation, declared }, name)}`;
      expect(!seen.includes(" differs: "), seen);
      evidence.push(seen);
    }
    return evidence.join("; ");
  };
}

interface Trial {
  tool: ToolContext;
  operation: string;
  declared: OperationManifest;
}

const MAX_TRIAL_MS = 5_000;

/**
 * Runs an operation twice on private engines in memory. Deterministic: the same input and state give equal results.
 * Idempotent: the second run leaves the state as the first did. What may have effects outside, or needs more than
 * state, is not run.
 */
async function runTwice(trial: Trial, name: Trait): Promise<string> {
  const { tool, operation, declared } = trial;
  const why = reasonNotToRun(trial);
  if (why) return `was not run: ${why}`;
  const probed = { manifest: tool.manifest, operations: {} };
  const input = tool.sample(declared.inputSchema);
  const timeoutMs = Math.min(MAX_TRIAL_MS, declared.timeoutMs ?? tool.manifest.limits.timeoutMs);
  await using first = await openProbeEngine(tool.make);
  await using second = await openProbeEngine(tool.make);
  for (const engine of [first, second]) await engine.register(probed, tool.implementation);
  const seen: string[] = [];
  for (const engine of name === "deterministic" ? [first, second] : [first, first]) {
    const answer = await engine.call(probed, operation, { input, limits: { timeoutMs } });
    if (answer.status !== "success") return `was not run: ${answer.error.code}`;
    seen.push(canonicalJson(name === "deterministic" ? answer.result : await engine.stateOf(probed)));
  }
  const { same, other } = OUTCOMES[name];
  return seen[0] === seen[1] ? same : `differs: ${other}`;
}

const OUTCOMES = {
  deterministic: { same: "gave equal results twice", other: "two runs gave different results" },
  idempotent: { same: "left equal state twice", other: "the second run changed the state again" },
};

function reasonNotToRun({ tool, declared }: Trial): string | undefined {
  const { manifest, implementation, schemas, sample } = tool;
  const { filesystem, network } = manifest.permissions;
  if (!implementation) return "its code is not loaded";
  if (implementation.kind !== "inline" && implementation.kind !== "thread") return "it needs a sandbox";
  if ((declared.sideEffects ?? manifest.sideEffects) === "external") return "it may have effects outside";
  if (filesystem.length + network.length > 0) return "it needs files or the network";
  const input = sample(declared.inputSchema);
  const isValid = input !== undefined && schemas.compile(declared.inputSchema).validate(input).ok;
  return isValid ? undefined : "no input could be made up";
}

/** Makes a check in the runner of the tool. A command is contained by the sandbox that a script runs in. */
function inItsRunner(check: (trial: Misbehaviour, expect: Expect) => string): ToolCheck {
  return async ({ implementation, misbehave }, expect) => {
    const kind = implementation?.kind === "process" ? "script" : implementation?.kind;
    const seen: string[] = [];
    for (const runner of kind ? [kind] : (["inline", "thread"] as const)) {
      const named: Expect = (holds, otherwise) => expect(holds, `${runner}: ${otherwise}`);
      seen.push(`${runner}: ${check(await misbehave(runner), named)}`);
    }
    return seen.join("; ");
  };
}

/** What came of a probe that misbehaved. */
interface Misbehaviour {
  kept: CallAnswer;
  before: JsonObject;
  misdeeds: readonly (readonly [operation: string, answer: CallAnswer])[];
  after: JsonObject;
  next: CallAnswer;
  reports: readonly ErrorReport[];
}

/** Lets a probe misbehave in the given runner. Rejects when the probe cannot be run. */
export async function misbehaveIn(runner: RunnerKind, make: EngineFactory): Promise<Misbehaviour> {
  await using engine = await openProbeEngine(make, { runner });
  const kept = await engine.probe("keep");
  const before = await engine.stateOf();
  const misdeeds: [string, CallAnswer][] = [];
  for (const operation of ["changeThenThrow", "throwText", "rejectNothing"]) {
    misdeeds.push([operation, await engine.probe(operation)]);
  }
  const after = await engine.stateOf();
  const next = await engine.probe("answer");
  return { kept, before, misdeeds, after, next, reports: engine.reports };
}

async function keepsTransaction(tool: ToolContext, expect: Expect): Promise<string> {
  const seen = await inItsRunner(({ kept, before, misdeeds, after }, expectHere) => {
    const rollback = misdeeds[0]?.[1].rollback;
    expectHere(kept.status === "success" && before.kept === 1, "a change that succeeded was not kept");
    expectHere(rollback?.verified === true, "no verified rollback after a change and a throw");
    expectHere(rollback?.discardedMutations === 3, "not every change went through the transaction");
    expectHere(isDeepStrictEqual(after, before), "the changes of a failed call were left behind");
    return "3 changes before a throw were dropped, state as before";
  })(tool, expect);
  const { manifest } = tool;
  const effects = [manifest, ...Object.values(manifest.operations)].map(({ sideEffects }) => sideEffects);
  return effects.includes("external") ? `${seen}; effects outside are journaled, not undone` : seen;
}

function reportsErrors({ misdeeds, reports }: Misbehaviour, expect: Expect): string {
  for (const [operation, { callId }] of misdeeds) {
    const report = reports.find((each) => each.callId === callId);
    expect(report !== undefined, `${operation} was not reported`);
    const isWhole = report?.tool === probe.manifest.id && report.stage !== undefined && report.code !== "";
    expect(isWhole, `the report of ${operation} lacks code, tool or stage`);
    const hasTrace = operation !== "changeThenThrow" || hasStack(report);
    expect(hasTrace, `the report of ${operation} has no stack`);
  }
  return "3 of 3 errors reported with code, call, tool and stage";
}

function answersErrors({ misdeeds, next }: Misbehaviour, expect: Expect): string {
  for (const [operation, answer] of misdeeds) {
    const isStructured = codeOf(answer) === "E3907" && "error" in answer && answer.error.message !== "";
    expect(isStructured, `${operation} did not become a structured error`);
  }
  expect(next.status === "success", "the call after the misbehaviour did not succeed");
  return "an error, a string and nothing at all, once thrown, came back as E3907";
}
