import { setTimeout as sleep } from "node:timers/promises";
import type { AuditVerification, InvocationListResponse, ToolInvokeResponse } from "@sallyport/protocol";
import { Client } from "./ask.ts";
import { endOf, inWords, sameEnd } from "./book.ts";
import { type Kept, recordedEnd } from "./kept-records.ts";
import type { ServerFolder } from "./server-folder.ts";

/** Calls that are left then will never end. */
const LONGEST_MS = 240_000;

/** Waits until nothing is accepted and not ended, or until it is no use to wait. */
export async function untilQuiet(server: ServerFolder): Promise<void> {
  using client = new Client(server.port);
  const giveUpAt = Date.now() + LONGEST_MS;
  for (const status of ["pending", "running"]) {
    while (Date.now() < giveUpAt) {
      const path = `/v1/invocations?limit=1&status=${status}`;
      const { body } = await client.ask<InvocationListResponse>({ path });
      if (body.invocations.length === 0) break;
      await sleep(100);
    }
  }
}

/** Everything in the list of calls, by its pages; and whether it and the journal say the same. */
export async function listBreaches(server: ServerFolder, { records }: Kept): Promise<string[]> {
  using client = new Client(server.port);
  const listed = new Map<string, string>();
  for (let cursor = ""; ; ) {
    const path = `/v1/invocations?limit=200${cursor}`;
    const { body } = await client.ask<InvocationListResponse>({ path });
    for (const { invocation_id, status } of body.invocations) listed.set(invocation_id, status);
    if (body.next_cursor === undefined) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  const wrong = [...records.values()].filter(
    (record) => listed.get(record.callId) !== recordedEnd(record).status,
  );
  return [
    ...(listed.size === records.size ? [] : [`${listed.size} calls are listed, ${records.size} are kept`]),
    ...wrong.map(({ callId }) => `${callId} is listed as ${listed.get(callId)}`),
  ];
}

/** Asks for the results of these calls, and compares them with the journal. */
export async function resultBreaches(
  server: ServerFolder,
  { records }: Kept,
  callIds: readonly string[],
): Promise<string[]> {
  using client = new Client(server.port);
  const wrong: string[] = [];
  for (const callId of callIds) {
    const record = records.get(callId);
    const { body } = await client.ask<ToolInvokeResponse>({ path: `/v1/invocations/${callId}/result` });
    const kept = record && recordedEnd(record);
    if (!kept || !sameEnd(kept, endOf(body)))
      wrong.push(`${callId}: ${inWords(endOf(body))}, kept ${inWords(kept)}`);
  }
  return wrong;
}

/** Asks the server to verify its own record. */
export async function verifyAudit(server: ServerFolder): Promise<AuditVerification> {
  using client = new Client(server.port);
  const headers = { authorization: `Bearer ${server.operatorKey}` };
  return (await client.ask<AuditVerification>({ path: "/v1/audit:verify", headers })).body;
}
