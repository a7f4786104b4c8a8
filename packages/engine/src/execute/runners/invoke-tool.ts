import type { ToolContext, ToolFunction } from "../../ports/runner.ts";
import { describeThrown } from "./describe-thrown.ts";
import { type Encoded, encodeResult } from "./json-text.ts";

export interface Invocation {
  input: unknown;
  context: ToolContext;
  maxOutputBytes: number;
}

/**
 * Calls a tool's function and encodes what it gives. Answers at once when the function does, so that a plain
 * function costs no promise. Never throws and never rejects; a promise that never settles is the caller's
 * business (its deadline).
 */
export function invokeTool(operation: ToolFunction, invocation: Invocation): Encoded | Promise<Encoded> {
  try {
    const returned: unknown = operation(invocation.input, invocation.context);
    if (!isThenable(returned)) return encodeResult(returned, invocation.maxOutputBytes);
    // Not `Promise.resolve`: that one reads `constructor`, which may throw; here it becomes a rejection.
    const settled = new Promise<unknown>((resolve) => resolve(returned));
    return settled.then((value) => encodeResult(value, invocation.maxOutputBytes), threw);
  } catch (error) {
    return threw(error);
  }
}

/** A tool's operation by name; inherited names such as `constructor` are none. */
export function findOperation(operations: object, name: string): ToolFunction | undefined {
  const operation: unknown = Object.hasOwn(operations, name) ? Reflect.get(operations, name) : undefined;
  return isToolFunction(operation) ? operation : undefined;
}

function isToolFunction(value: unknown): value is ToolFunction {
  return typeof value === "function";
}

function threw(error: unknown): Encoded {
  return { ok: false, fault: describeThrown(error) };
}

function isThenable(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "then" in value && typeof value.then === "function";
}
