import { canonicalJson, failure, isJsonObject, type JsonObject, SallyportError } from "@sallyport/protocol";
import type { AuditEntry } from "../ports/audit-log.ts";

/** An audit event as it leaves the house: a CloudEvents 1.0 event that carries its link, so it can be checked offline. */
export interface ExportedEvent {
  specversion: "1.0";
  id: string;
  type: string;
  source: "sallyport";
  subject: string;
  time: string;
  datacontenttype: "application/json";
  partitionkey: string;
  sequence: number;
  chainhash: string;
  data: JsonObject;
}

export function exportEntry(entry: AuditEntry): ExportedEvent {
  const data = JSON.parse(entry.body) as JsonObject;
  return {
    specversion: "1.0",
    id: String(data.eventId),
    type: `dev.sallyport.call.${String(data.state).toLowerCase()}`,
    source: "sallyport",
    subject: String(data.callId ?? data.grantId ?? data.toolId ?? data.jti),
    time: new Date(Number(data.timestamp)).toISOString(),
    datacontenttype: "application/json",
    partitionkey: String(data.tenant),
    sequence: entry.sequence,
    chainhash: entry.hash,
    data,
  };
}

/** Reads one line of an export back; throws E3804 naming the line when it is not one. */
export function importLine(line: string, lineNumber: number): { tenant: string; entry: AuditEntry } {
  const event = parseLine(line);
  if (!event) {
    throw new SallyportError(
      failure("E3804", { message: `Line ${lineNumber} is not an exported audit event.` }),
    );
  }
  const { sequence, chainhash, data, partitionkey } = event;
  return { tenant: partitionkey, entry: { sequence, hash: chainhash, body: canonicalJson(data) } };
}

type Linked = Pick<ExportedEvent, "sequence" | "chainhash" | "data" | "partitionkey">;

function parseLine(line: string): Linked | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { sequence, chainhash, data, partitionkey } = value;
  if (typeof sequence !== "number" || typeof chainhash !== "string") return undefined;
  if (!isJsonObject(data) || typeof partitionkey !== "string") return undefined;
  return { sequence, chainhash, data, partitionkey };
}
