import { setTimeout as sleep } from "node:timers/promises";
import { mapMethods } from "../map-methods.ts";

/**
 * What happens at the chosen point. `reject` and `throw` fail the method, as a promise or at once; `hang` never
 * settles until the plan releases it; `slow` delays it; `crash` kills this process as a power cut would.
 */
export type FaultAction =
  | { kind: "reject"; error: Error }
  | { kind: "throw"; error: Error }
  | { kind: "hang" }
  | { kind: "slow"; ms: number }
  | { kind: "crash" };

export interface FaultRule {
  /** A method by its path in the port, as `commit` or `calls.get`; `*` is any. */
  method: string;
  /** Which call of that method, from 1; for `*` which call of all. Every one when left out. */
  nth?: number;
  /** Before the real method runs (it then does not, unless the fault is only `slow`), or after it has finished. */
  when: "before" | "after";
  action: FaultAction;
}

/** One call of a method, as a point where a rule can be put. */
export interface FaultPoint {
  method: string;
  /** Which call of this method it was, from 1. */
  nth: number;
}

/** Rules as data, and a record of every call made, so that a test can run once and then try each point in turn. */
export class FaultPlan {
  readonly rules: readonly FaultRule[];
  readonly seen: FaultPoint[] = [];
  readonly #counts = new Map<string, number>();
  readonly #hanging = new Set<() => void>();

  constructor(rules: readonly FaultRule[] = []) {
    this.rules = rules;
  }

  /** Lets every method that hangs go on. */
  release(): void {
    for (const letGo of this.#hanging) letGo();
    this.#hanging.clear();
  }

  /** Notes a call and says which rules apply to it. */
  enter(method: string): FaultRule[] {
    const nth = (this.#counts.get(method) ?? 0) + 1;
    this.#counts.set(method, nth);
    this.seen.push({ method, nth });
    return this.rules.filter((rule) => {
      const count = rule.method === "*" ? this.seen.length : nth;
      return (rule.method === "*" || rule.method === method) && (rule.nth ?? count) === count;
    });
  }

  hang(): Promise<void> {
    return new Promise((resolve) => {
      this.#hanging.add(resolve);
    });
  }
}

/**
 * The same port, with every method failing where the plan says so, in nested objects too (`store.calls`). Methods
 * without a rule behave exactly as before; what they return is not wrapped.
 */
export function withFaults<Port extends object>(port: Port, plan: FaultPlan): Port {
  return mapMethods(port, (method, path) => (...args) => {
    const rules = plan.enter(path);
    const run = () => method(...args);
    return rules.length === 0 ? run() : runWithFaults(run, { plan, rules });
  });
}

/** A `throw` before the method leaves it synchronous; every other fault makes its result a promise. */
function runWithFaults(
  run: () => unknown,
  { plan, rules }: { plan: FaultPlan; rules: FaultRule[] },
): unknown {
  const before = rules.filter(({ when }) => when === "before");
  const thrown = before.find(({ action }) => action.kind === "throw")?.action;
  if (thrown?.kind === "throw") throw thrown.error;
  return (async () => {
    for (const { action } of before) await strike(action, plan);
    const result = await run();
    for (const { when, action } of rules) if (when === "after") await strike(action, plan);
    return result;
  })();
}

async function strike(action: FaultAction, plan: FaultPlan): Promise<void> {
  switch (action.kind) {
    case "reject":
    case "throw":
      throw action.error;
    case "hang":
      return plan.hang();
    case "slow":
      await sleep(action.ms);
      return;
    case "crash":
      process.kill(process.pid, "SIGKILL");
      return plan.hang();
  }
}
