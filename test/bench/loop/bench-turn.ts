import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { turnContender } from "./turn-contender.ts";

const PEERS = join(import.meta.dirname, "../peers");
const TURNS = 200;
const PLANNING = "planning a batch of 8 calls";

export interface TurnRow {
  name: string;
  p50Ms: number;
  /** Of LangGraph with its SQLite checkpointer, in the same run; undefined where it is not installed. */
  ofLangGraph?: number;
}

/** A whole turn of the tool loop against the same with LangGraph, interleaved in rounds; the first warms up. */
export async function benchTurn(rounds: number): Promise<TurnRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-bench-loop-"));
  const ours = {
    "Sallyport, durable: process": await turnContender(join(folder, "a"), "process"),
    "Sallyport, durable: power": await turnContender(join(folder, "b"), "power"),
  };
  const took = new Map<string, number[]>();
  const note = (name: string, round: number, times: number[]) => {
    if (round > 0) took.set(name, [...(took.get(name) ?? []), ...times]);
  };
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const [name, { turn }] of Object.entries(ours)) note(name, round, await timed(turn));
      note(PLANNING, round, await timed(ours["Sallyport, durable: process"].plan));
      if (hasPeers()) note("LangGraph, SQLite checkpointer", round, langGraph());
    }
  } finally {
    for (const { close } of Object.values(ours)) await close();
    rmSync(folder, { recursive: true, force: true });
  }
  const reference = middle(took.get("LangGraph, SQLite checkpointer") ?? []);
  return [...took].map(([name, times]) => {
    const p50Ms = middle(times);
    return { name, p50Ms, ...(reference > 0 && { ofLangGraph: p50Ms / reference }) };
  });
}

export function printTurn(rows: readonly TurnRow[]): void {
  console.log("A whole turn: model → one tool call → model, with journal and history");
  if (!hasPeers()) console.log("LangGraph is not installed; to compare: npm ci --prefix test/bench/peers");
  console.table(
    Object.fromEntries(
      rows.map(({ name, p50Ms, ofLangGraph }) => [
        name,
        { "p50 ms": p50Ms.toFixed(2), "× LangGraph": ofLangGraph?.toFixed(2) ?? "-" },
      ]),
    ),
  );
}

function hasPeers(): boolean {
  return existsSync(join(PEERS, "node_modules", "@langchain", "langgraph"));
}

async function timed(turn: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < TURNS; count += 1) {
    const started = performance.now();
    await turn();
    times.push(performance.now() - started);
  }
  return times;
}

/** In a process of its own: the first turns, which compile it, are left out. */
function langGraph(): number[] {
  const printed = execFileSync(process.execPath, [join(PEERS, "langgraph-turn.mjs"), String(TURNS + 100)], {
    encoding: "utf8",
  });
  const times: number[] = JSON.parse(printed);
  return times.slice(100);
}

function middle(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
