import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, type ToolContext } from "@sallyport/engine/tool";

// Run inline, so that all calls of one server share what is counted here.

const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const common = { version: "1.0.0", description: "For limits.", sideEffects: "none" as const };

/** The most that was under way at once, as the tools themselves saw it. */
export type Peaks = Record<string, number>;

const now = new Map<string, number>();
const peaks = new Map<string, number>();
const order: string[] = [];

function add(name: string, by: 1 | -1): void {
  const count = (now.get(name) ?? 0) + by;
  now.set(name, count);
  peaks.set(name, Math.max(peaks.get(name) ?? 0, count));
}

function busy(tool: string) {
  return async (input: { ms: number; name?: string; until?: string }, { agent, signal }: ToolContext) => {
    const names = ["all", `tool ${tool}`, `agent ${agent}`];
    order.push(input.name ?? "");
    for (const name of names) add(name, 1);
    try {
      await sleep(input.ms, undefined, { signal });
      while (input.until && !existsSync(input.until)) await sleep(20, undefined, { signal });
    } finally {
      for (const name of names) add(name, -1);
    }
    return {};
  };
}

/** Takes a while, as often at once as the server lets it. */
export const wide = defineTool({ ...common, id: "wide", input: ANY, output: ANY, run: busy("wide") });

/** The same, but the configuration allows fewer at once. */
export const narrow = defineTool({ ...common, id: "narrow", input: ANY, output: ANY, run: busy("narrow") });

/** Says how many there were at once, and in which order the named ones began. */
export const gauge = defineTool({
  ...common,
  id: "gauge",
  input: ANY,
  output: ANY,
  run: () => ({ peaks: Object.fromEntries(peaks), order: order.filter((name) => name !== "") }),
});
