import type { Engine, ResolvedTool } from "@sallyport/engine";
import { completeCall, createSchemaCompiler } from "@sallyport/engine/host";
import type { Authority } from "@sallyport/engine/ports";
import { type Caller, isFailure, isJsonObject, type JsonObject } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { toolFacts } from "../policy/call-facts.ts";
import { sampleInput } from "./sample-input.ts";

/** A call that would be allowed if somebody made it now. */
export interface SampleCall {
  tool: string;
  /** Left out where the tool has only one. */
  operation?: string;
  input: JsonObject;
}

interface SampleOptions {
  engine: Pick<Engine, "tools">;
  authority: Authority;
  config: { http: Pick<LoadedConfig["http"], "callers"> };
  caller: Caller;
  /** Whether the operator lets nobody call a tool for now. */
  isSwitchedOff(tool: string): boolean;
}

/** Finds one: its code is loaded, its input valid, and nobody has to be asked. Harmless tools first; undefined: there is none. */
export async function sampleCall(asked: SampleOptions): Promise<SampleCall | undefined> {
  const { tools } = asked.engine;
  const callable = tools.definitions().filter(({ id }) => !asked.isSwitchedOff(id));
  const candidates = callable.flatMap(({ id, operations }) =>
    Object.keys(operations).flatMap((operation) => {
      const found = tools.resolve({ tool: id, operation });
      return isFailure(found) || !found.implementation ? [] : [found];
    }),
  );
  const harmless = candidates.filter(({ traits }) => traits.sideEffects === "none");
  const others = candidates.filter(({ traits }) => traits.sideEffects !== "none");
  for (const tool of [...harmless, ...others]) {
    const input = validInput(tool);
    if (input && (await isAllowed(tool, input, asked))) return sampleOf(tool, input);
  }
  return undefined;
}

function sampleOf({ manifest, operationName }: ResolvedTool, input: JsonObject): SampleCall {
  const isOnly = Object.keys(manifest.operations).length === 1;
  return { tool: manifest.id, ...(!isOnly && { operation: operationName }), input };
}

function validInput({ operation }: ResolvedTool): JsonObject | undefined {
  const input = sampleInput(operation.inputSchema);
  if (!isJsonObject(input)) return undefined;
  const verdict = createSchemaCompiler().compile(operation.inputSchema).validate(input);
  return verdict.ok ? input : undefined;
}

/** With tokens the answer depends on the token; that one can be had is all that can be told beforehand. */
async function isAllowed(tool: ResolvedTool, input: JsonObject, asked: SampleOptions): Promise<boolean> {
  const { authority, caller, config } = asked;
  if (config.http.callers === "token") return true;
  const request = completeCall({
    ...toolFacts(tool),
    ...caller,
    input,
    at: Date.now(),
    isolation: "LEVEL_0",
  });
  try {
    return (await authority.decide(request)).outcome === "allow";
  } catch {
    return false;
  }
}
