import type { CallAnswer, JsonValue } from "@sallyport/protocol";
import { isFailure, SallyportError } from "@sallyport/protocol";
import type { EngineOptions } from "../admin/compose.ts";
import { createEngine, type Engine } from "../admin/engine.ts";
import { auditEvents } from "../audit/index.ts";
import { grantAuthority } from "../authorise/authority.ts";
import type { CallRequest } from "../context.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { RecentErrors } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { ToolFunction } from "../ports/runner.ts";
import type { Store } from "../ports/store.ts";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** Two numbers in, one out; nothing else. */
export const SUM_INPUT = {
  $schema: DRAFT,
  type: "object",
  properties: { a: { type: "number", description: "left" }, b: { type: "number", description: "right" } },
  required: ["a", "b"],
  additionalProperties: false,
};

export const ANYTHING = { $schema: DRAFT };

export interface FixtureTool {
  id?: string;
  version?: string;
  input?: object;
  output?: object;
  run: ToolFunction;
  conduct?: object;
}

/** A canonical manifest with one operation, and the function behind it. */
export function fixtureTool({ id = "tool", version = "1.0.0", input, output, run, conduct }: FixtureTool) {
  const manifest = {
    id,
    version,
    name: id,
    description: `${id} for tests`,
    sideEffects: "none",
    ...conduct,
    operations: {
      run: { description: "runs", inputSchema: input ?? ANYTHING, outputSchema: output ?? ANYTHING },
    },
  };
  return { manifest, implementation: { kind: "inline" as const, operations: { run } } };
}

export const EVERYTHING_GRANTED = grantAuthority([
  {
    id: "all",
    tenants: ["*"],
    agents: ["*"],
    tools: ["*"],
    operations: ["*"],
    capabilities: ["state.read", "state.write", "state.delete", "network.https"],
  },
]);

export interface Fixture {
  engine: Engine;
  store: Store;
  meter: MemoryMeter;
  errors: RecentErrors;
  /** Calls as agent `agent` of tenant `acme`. */
  call(tool: string, input: unknown, more?: Partial<CallRequest>): Promise<CallAnswer>;
  add(tool: FixtureTool): Promise<void>;
}

/** An engine in memory where everything is granted, unless the options say otherwise. */
export async function fixtureEngine(
  options: Partial<EngineOptions> = {},
  tools: FixtureTool[] = [],
): Promise<Fixture> {
  const store = options.store ?? createMemoryStore(options.clock ? { clock: options.clock } : {});
  const meter = new MemoryMeter();
  const errors = new RecentErrors();
  const engine = await createEngine({ authority: EVERYTHING_GRANTED, meter, errors, ...options, store });
  const fixture: Fixture = {
    engine,
    store,
    meter,
    errors,
    call: (tool, input, more) =>
      engine.call({ tool, input, caller: { tenant: "acme", agent: "agent" }, ...more }),
    async add(tool) {
      const { manifest, implementation } = fixtureTool(tool);
      const registered = await engine.tools.register(manifest, { implementation });
      if (isFailure(registered)) throw new SallyportError(registered);
    },
  };
  for (const tool of tools) await fixture.add(tool);
  return fixture;
}

/** As if every process that uses the store had ended without a word. */
export async function crashed(store: Store): Promise<void> {
  for (const { instance } of await store.instances.list()) await store.instances.leave(instance);
}

/** The states an answer's execution passed through. */
export function statesOf(answer: CallAnswer): string[] {
  return answer.lifecycle.map(({ state }) => state);
}

/** A tenant's audit events. */
export async function auditOf(store: Store, tenant = "acme"): Promise<Record<string, JsonValue>[]> {
  const events: Record<string, JsonValue>[] = [];
  for await (const { event } of auditEvents(store.audit, tenant)) events.push(event);
  return events;
}

/** The error of an answer that must not be a success. */
export function errorOf(answer: CallAnswer) {
  if (answer.status === "success")
    throw new Error(`expected a failure, got ${JSON.stringify(answer.result)}`);
  return answer.error;
}
