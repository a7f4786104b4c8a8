import { existsSync, readFileSync } from "node:fs";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import type { CallRecord, ListPlace } from "@sallyport/engine/ports";
import { type End, endOf } from "./book.ts";
import { TENANT } from "./load-config.ts";
import type { ServerFolder } from "./server-folder.ts";

/** What is left of a run: the journal, the counters, and the traces outside. */
export interface Kept {
  records: Map<string, CallRecord>;
  counters: Map<string, number>;
  witness: { key: string; callId: string }[];
}

const PAGE = 1_000;

/** Reads it all; the server may be open or not. */
export async function readKept(server: ServerFolder, agents: readonly string[]): Promise<Kept> {
  const store = await openSqliteStore({ folder: server.stateFolder, readOnly: true });
  try {
    const records = new Map<string, CallRecord>();
    for (let before: ListPlace | undefined; ; ) {
      const page = await store.calls.list({ limit: PAGE, ...(before && { before }) });
      for (const record of page) records.set(record.callId, record);
      const last = page.at(-1);
      if (!last || page.length < PAGE) break;
      before = { at: last.startedAt, id: last.callId };
    }
    const counters = new Map<string, number>();
    const snapshot = await store.state.open({ tenant: TENANT, tool: "count" });
    for (const agent of agents) {
      counters.set(agent, Number((await store.state.get(snapshot, agent))?.value ?? 0));
    }
    return { records, counters, witness: readWitness(server.path("witness")) };
  } finally {
    await store.close();
  }
}

function readWitness(path: string): Kept["witness"] {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  return lines.map((line) => {
    const [key = "", callId = ""] = line.split(" ");
    return { key, callId };
  });
}

/** How a call stands in the journal, in the words callers were told. */
export function recordedEnd({ phase, closing }: CallRecord): End {
  if (!closing)
    return { status: phase === "unknown" ? "error" : phase, code: phase === "unknown" ? "E3909" : phase };
  const { answer } = closing;
  if (answer.status === "success") return endOf({ status: "success", result: answer.result });
  return { status: answer.status, code: answer.error.code };
}
