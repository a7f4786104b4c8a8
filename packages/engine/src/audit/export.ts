import { hash } from "node:crypto";
import {
  canonicalJson,
  failure,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  SallyportError,
} from "@sallyport/protocol";
import type { AuditEntry, AuditLink } from "../ports/store.ts";
import { ChainCheck, type ChainReport } from "./verify.ts";

/** An audit event as it is exported: a CloudEvents 1.0 event that carries its link, so it can be checked offline. */
interface ExportedEvent {
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
    subject: String(data.callId ?? data.grantId ?? data.toolId ?? data.jti ?? data.requestId ?? data.eventId),
    time: new Date(Number(data.timestamp)).toISOString(),
    datacontenttype: "application/json",
    partitionkey: String(data.tenant),
    sequence: entry.sequence,
    chainhash: entry.hash,
    data,
  };
}

/** Reads one line of an export back; throws E3804 naming the line when it is not one. */
export function importLine(line: string, lineNumber: number): ImportedLine {
  const read = parseLine(line);
  if (read) return read;
  const message = `Line ${lineNumber} is not an exported audit event.`;
  throw new SallyportError(failure("E3804", { message }));
}

interface ImportedLine {
  tenant: string;
  entry: AuditEntry;
  /** Whether the line is, to the character, what exporting its `data` gives: the chain's hash covers `data` alone. */
  isExact: boolean;
}

function parseLine(line: string): ImportedLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (!isJsonObject(value)) return undefined;
    const { sequence, chainhash, data, partitionkey } = value;
    if (typeof sequence !== "number" || typeof chainhash !== "string") return undefined;
    if (!isJsonObject(data) || typeof partitionkey !== "string") return undefined;
    const entry = { sequence, hash: chainhash, body: canonicalJson(data) };
    return { tenant: partitionkey, entry, isExact: JSON.stringify(exportEntry(entry)) === line };
  } catch {
    // No JSON, no canonical form, or no time: no line of an export has that.
    return undefined;
  }
}

/** What an export says of each chain in it, on its last line. */
export interface ExportedChain extends AuditLink {
  tenant: string;
  events: number;
}

const CLOSING_TYPE = "dev.sallyport.audit.export_closed";

/** The last line of an export. It states what the export holds, so that a file that was cut off does not verify. */
export function closingLine(chains: readonly ExportedChain[]): string {
  const data = {
    chains: chains.map(({ tenant, events, sequence, hash }) => ({ tenant, events, sequence, hash })),
  };
  const id = hash("sha256", canonicalJson(data));
  return JSON.stringify({
    specversion: "1.0",
    id,
    type: CLOSING_TYPE,
    source: "sallyport",
    datacontenttype: "application/json",
    data,
  });
}

export interface ExportReport {
  chains: ChainReport[];
  /** What is wrong with the file as a whole. */
  problems: string[];
}

/** Checks the lines of an export as they are fed to it; what it says holds for whoever trusts the file's last line. */
export class ExportCheck {
  readonly #chains = new Map<string, ChainCheck>();
  readonly #receipt: (AuditLink & { tenant: string }) | undefined;
  readonly #problems: string[] = [];
  #stated: Map<string, ExportedChain> | undefined;
  #lines = 0;

  /** The receipt's event must be in the export. */
  constructor(receipt?: AuditLink & { tenant: string }) {
    this.#receipt = receipt;
    if (receipt) this.#chain(receipt.tenant);
  }

  /** Throws E3804 for a line that no export has. */
  add(line: string): void {
    this.#lines += 1;
    if (line === "") return;
    if (this.#stated) this.#problems.push(`Line ${this.#lines} stands behind the closing line.`);
    const stated = readClosing(line);
    if (stated) {
      this.#stated = stated;
      return;
    }
    const { tenant, entry, isExact } = importLine(line, this.#lines);
    const chain = this.#chain(tenant);
    chain.add(entry);
    if (isExact) return;
    const message = `line ${this.#lines} is not the line that exporting event ${entry.sequence} gives`;
    chain.find(entry.sequence, "changed", message);
  }

  finish(): ExportReport {
    for (const tenant of this.#stated?.keys() ?? []) this.#chain(tenant);
    if (!this.#stated) this.#problems.push(UNCLOSED);
    const chains = [...this.#chains.values()].map((chain) => this.#compared(chain.finish()));
    return { chains, problems: this.#problems };
  }

  #chain(tenant: string): ChainCheck {
    const receipt = this.#receipt?.tenant === tenant ? this.#receipt : undefined;
    const chain = this.#chains.get(tenant) ?? new ChainCheck(tenant, { receipt });
    this.#chains.set(tenant, chain);
    return chain;
  }

  #compared(report: ChainReport): ChainReport {
    if (!this.#stated) return report;
    const { events, head, tenant } = report;
    const stated = this.#stated.get(tenant);
    if (stated?.events === events && stated.sequence === head.sequence && stated.hash === head.hash) {
      return report;
    }
    const said = stated ? `${stated.events} events up to #${stated.sequence}` : "nothing of this chain";
    const message = `the closing line states ${said}, the export holds ${events} up to #${head.sequence}`;
    const finding = { sequence: head.sequence, problem: "truncated" as const, message };
    return { ...report, findings: [...report.findings, finding] };
  }
}

const UNCLOSED =
  "The file has no closing line: it was cut off, emptied, or exported before exports had one. Its events are checked as far as they go; whether more followed cannot be told. A receipt kept elsewhere shows that its event is still there.";

/** The chains a closing line states; undefined when the line is none. */
function readClosing(line: string): Map<string, ExportedChain> | undefined {
  if (!line.includes(CLOSING_TYPE)) return undefined;
  const value = parseJsonObject(line);
  if (value?.type !== CLOSING_TYPE || !isJsonObject(value.data) || !Array.isArray(value.data.chains)) {
    return undefined;
  }
  const chains = value.data.chains.filter(isJsonObject).map(({ tenant, events, sequence, hash: newest }) => ({
    tenant: String(tenant),
    events: Number(events),
    sequence: Number(sequence),
    hash: String(newest),
  }));
  return closingLine(chains) === line ? new Map(chains.map((chain) => [chain.tenant, chain])) : undefined;
}
