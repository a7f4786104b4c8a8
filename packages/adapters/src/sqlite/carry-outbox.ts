import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { CallIntent } from "@sallyport/engine/ports";
import { callEvents } from "@sallyport/engine/publish";
import { decodeAnswer } from "../store-rows/answer-text.ts";
import { encodeBatch, joinBatches } from "./outbox-text.ts";

/** The one sink there was before sinks had names: the server's file. */
const FORMER_SINK = "file";

/**
 * Fills the outbox of the fifth version from that of the fourth, whose rows named calls and types of events: the events
 * are built here, from the journal as it then was, so that none is lost.
 */
export function carryOutbox(database: DatabaseSync): void {
  const find = database.prepare("SELECT * FROM tool_invocations WHERE invocation_id = ?");
  const insert = database.prepare("INSERT INTO outbox (position, sinks, batches) VALUES (?, ?, ?)");
  const insertDue = database.prepare(
    "INSERT INTO outbox_due (sink, position, written_at, batches) VALUES (?, ?, ?, ?)",
  );
  for (const { last_position, lines } of database.prepare("SELECT * FROM outbox_messages").all()) {
    const batches = String(lines)
      .split("\n")
      .flatMap((line) => {
        const space = line.indexOf(" ");
        const row = find.get(line.slice(space + 1));
        return row ? [batchOf(row, line.slice(0, space))] : [];
      });
    if (batches.length === 0) continue;
    insert.run(Number(last_position), FORMER_SINK, joinBatches(batches));
    insertDue.run(FORMER_SINK, Number(last_position), Date.now(), batches.length);
  }
  database.exec("DROP TABLE outbox_messages");
}

function batchOf(row: Record<string, SQLOutputValue>, type: string): string {
  const facts: Pick<CallIntent, "operation" | "inputHash" | "asyncMode" | "priority"> = JSON.parse(
    String(row.facts),
  );
  const call = {
    ...facts,
    callId: String(row.invocation_id),
    tenant: String(row.tenant_id),
    agent: String(row.agent_did),
    tool: String(row.tool_id),
    version: String(row.tool_version),
    input: String(row.parameters),
    startedAt: Number(row.started_at),
  };
  const { callId, tool, version, operation, startedAt } = call;
  const known = { callId, tool, version, operation, startedAt, completedAt: Number(row.completed_at) };
  const told =
    type === "tool.invoked" ? { began: call } : { answer: decodeAnswer(String(row.answer), known) };
  const events = callEvents({ call, ...told });
  return encodeBatch(
    call.tenant,
    events.filter((event) => event.includes(`"type":"ai.agent.${type}"`)),
  );
}
