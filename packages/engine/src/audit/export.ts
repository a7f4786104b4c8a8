import { hash } from "node:crypto";
import {
  canonicalJson,
  failure,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  SallyportError,
} from "@sallyport/protocol";
import type { ArchivedSpan, AuditEntry, AuditLink } from "../ports/store.ts";
import { eventsIn } from "./chain.ts";
import { ChainCheck, type ChainReport, type StrandReport } from "./verify.ts";

/** The place of an event: absent in a line of the first store format, whose units are single events of strand 0. */
interface UnitPlace {
  strand: number;
  sequence: number;
  /** Counts the events of the unit from 1. */
  index: number;
  /** The names of the members that the unit's events share, which `data` repeats. */
  common: string;
}

/**
 * An audit event as it is exported: a CloudEvents 1.0 event that stands for itself. The lines of a unit carry its link and
 * what it takes to put the unit's body together again, so that the chain can be checked offline.
 */
interface ExportedEvent extends Partial<UnitPlace> {
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

/** The events of a unit, in order. */
export function exportEntry({ strand, sequence, hash: chainhash, body }: AuditEntry): ExportedEvent[] {
  const unit = parseJsonObject(body) ?? {};
  const isUnit = Array.isArray(unit.events);
  const common = isJsonObject(unit.common) ? Object.keys(unit.common).join(" ") : "";
  return eventsIn(body).map((data, at) => ({
    specversion: "1.0",
    id: String(data.eventId),
    type: `dev.sallyport.call.${String(data.state).toLowerCase()}`,
    source: "sallyport",
    subject: String(data.callId ?? data.grantId ?? data.toolId ?? data.jti ?? data.requestId ?? data.eventId),
    time: new Date(Number(data.timestamp)).toISOString(),
    datacontenttype: "application/json",
    partitionkey: String(data.tenant),
    ...(isUnit && { strand }),
    sequence,
    ...(isUnit && { index: at + 1, common }),
    chainhash,
    data,
  }));
}

/** A line of an export. */
interface ImportedLine {
  text: string;
  lineNumber: number;
  tenant: string;
  link: AuditLink;
  /** Undefined in a line of the first store format. */
  common: string | undefined;
  data: JsonObject;
}

/** Reads one line of an export back; throws E3804 naming the line when it is not one. */
export function importLine(text: string, lineNumber: number): ImportedLine {
  const value = parseJsonObject(text) ?? {};
  const { strand = 0, sequence, common, chainhash, data, partitionkey: tenant } = value;
  if (
    typeof strand === "number" &&
    typeof sequence === "number" &&
    typeof chainhash === "string" &&
    typeof tenant === "string" &&
    (common === undefined || typeof common === "string") &&
    isJsonObject(data)
  ) {
    return { text, lineNumber, tenant, link: { strand, sequence, hash: chainhash }, common, data };
  }
  throw notExported(lineNumber);
}

function notExported(lineNumber: number): SallyportError {
  const message = `Line ${lineNumber} is not an exported audit event.`;
  return new SallyportError(failure("E3804", { message }));
}

/** Whether two lines can be of one unit. */
function isSameUnit(one: ImportedLine, other: ImportedLine): boolean {
  return (
    one.common !== undefined &&
    other.common !== undefined &&
    one.tenant === other.tenant &&
    one.link.strand === other.link.strand &&
    one.link.sequence === other.link.sequence
  );
}

type UnitLines = [ImportedLine, ...ImportedLine[]];

/**
 * The unit that the lines were exported from, if nothing was changed, and what exporting it gives. Throws E3804 when there
 * can be no such unit: no line of an export holds what has no canonical form, or no time.
 */
function unitOf(lines: UnitLines): { entry: AuditEntry; exported: ExportedEvent[] } {
  const [{ link, lineNumber }] = lines;
  try {
    const entry = { ...link, body: bodyOf(lines) };
    return { entry, exported: exportEntry(entry) };
  } catch {
    throw notExported(lineNumber);
  }
}

function bodyOf(lines: UnitLines): string {
  const [{ tenant, common, data }] = lines;
  if (common === undefined) return canonicalJson(data);
  const names = common === "" ? [] : common.split(" ");
  const shared = Object.fromEntries(names.map((name) => [name, data[name] ?? null]));
  const events = lines.map((line) => ownMembers(line.data, { ...shared, tenant }));
  return canonicalJson({ ...(names.length > 0 && { common: shared }), events, tenant });
}

/** What an event says besides what it shares. */
function ownMembers(data: JsonObject, shared: JsonObject): JsonObject {
  const own = Object.entries(data).filter(
    ([name, value]) => !Object.hasOwn(shared, name) || JSON.stringify(shared[name]) !== JSON.stringify(value),
  );
  return Object.fromEntries(own);
}

/** What an export says of each strand in it, on its last line. */
export interface ExportedChain extends StrandReport {
  tenant: string;
}

/** What is in the archive of a strand, and whose. */
export type ArchivedLink = ArchivedSpan & { tenant: string };

const OPENING_TYPE = "dev.sallyport.audit.export_opened";

/**
 * The first line of an export that does not hold everything: the last links of what is archived before it, and of each
 * archived part in its midst also the link that it is `after`.
 */
export function openingLine(after: readonly ArchivedLink[]): string {
  return stating(
    OPENING_TYPE,
    after.map(({ tenant, strand, sequence, hash: last, after: before }) => ({
      tenant,
      strand,
      sequence,
      hash: last,
      ...(before && before.sequence > 0 && { after: { sequence: before.sequence, hash: before.hash } }),
    })),
  );
}

const CLOSING_TYPE = "dev.sallyport.audit.export_closed";

/** The last line of an export. It states what the export holds, so that a file that was cut off does not verify. */
export function closingLine(chains: readonly ExportedChain[]): string {
  return stating(
    CLOSING_TYPE,
    chains.map(({ tenant, strand, events, sequence, hash: newest }) => ({
      tenant,
      strand,
      events,
      sequence,
      hash: newest,
    })),
  );
}

function stating(type: string, chains: JsonObject[]): string {
  const data = { chains };
  const id = hash("sha256", canonicalJson(data));
  return JSON.stringify({
    specversion: "1.0",
    id,
    type,
    source: "sallyport",
    datacontenttype: "application/json",
    data,
  });
}

/** What the check of an export found. */
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
  #stated: ExportedChain[] | undefined;
  /** What the opening line states; without one the export claims to hold everything. */
  #archived: readonly ArchivedLink[] | undefined;
  /** The lines of the unit that is being read. */
  #unit: UnitLines | undefined;
  #lines = 0;

  /** The receipt's unit must be in the export. */
  constructor(receipt?: AuditLink & { tenant: string }) {
    this.#receipt = receipt;
  }

  /** Throws E3804 for a line that no export has. */
  add(line: string): void {
    this.#lines += 1;
    if (line === "") return;
    if (this.#stated) this.#problems.push(`Line ${this.#lines} stands behind the closing line.`);
    const archived = this.#lines === 1 ? readStated(line, OPENING_TYPE) : undefined;
    if (archived) {
      this.#archived = archived;
      return;
    }
    const stated = readStated(line, CLOSING_TYPE);
    if (stated) {
      this.#stated = stated;
      return;
    }
    const read = importLine(line, this.#lines);
    if (this.#unit && isSameUnit(this.#unit[0], read)) {
      this.#unit.push(read);
      return;
    }
    this.#endUnit();
    this.#unit = [read];
  }

  finish(): ExportReport {
    this.#endUnit();
    if (this.#receipt) this.#chain(this.#receipt.tenant);
    for (const { tenant, strand } of this.#stated ?? []) this.#chain(tenant).strand(strand);
    if (!this.#stated) this.#problems.push(UNCLOSED);
    const chains = [...this.#chains.values()].map((chain) => this.#compared(chain.finish()));
    return { chains, problems: this.#problems };
  }

  /** Exporting the unit again must give the same lines, to the character: the chain's hash covers the body alone. */
  #endUnit(): void {
    const lines = this.#unit;
    if (!lines) return;
    this.#unit = undefined;
    const [{ tenant, link }] = lines;
    const { entry, exported } = unitOf(lines);
    const chain = this.#chain(tenant);
    chain.add(entry);
    for (const [at, { text, lineNumber }] of lines.entries()) {
      if (JSON.stringify(exported[at]) === text) continue;
      const message = `line ${lineNumber} is not the line that exporting event ${link.sequence}.${at + 1} gives`;
      chain.strand(link.strand).find(link.sequence, ["changed", message], entry);
    }
  }

  #chain(tenant: string): ChainCheck {
    const receipt = this.#receipt?.tenant === tenant ? this.#receipt : undefined;
    const known = this.#chains.get(tenant);
    if (known) return known;
    const archived = this.#archived?.filter((link) => link.tenant === tenant) ?? [];
    const chain = new ChainCheck(tenant, { receipt, archived, isPart: this.#archived !== undefined });
    this.#chains.set(tenant, chain);
    return chain;
  }

  #compared(report: ChainReport): ChainReport {
    const stated = this.#stated?.filter(({ tenant }) => tenant === report.tenant);
    if (!stated) return report;
    const findings = report.strands.flatMap((held) => {
      const said = stated.find(({ strand }) => strand === held.strand);
      if (!said && held.events === 0) return [];
      if (said?.events === held.events && said.sequence === held.sequence && said.hash === held.hash)
        return [];
      const words = said ? `${said.events} events up to #${said.sequence}` : "nothing of this chain";
      const message = `the closing line states ${words}, the export holds ${held.events} up to #${held.sequence}`;
      const { strand, sequence } = held;
      return [{ strand, sequence, problem: "truncated" as const, message, events: [] }];
    });
    return { ...report, findings: [...report.findings, ...findings] };
  }
}

const UNCLOSED =
  "The file has no closing line: it was cut off, emptied, or exported before exports had one. Its events are checked as far as they go; whether more followed cannot be told. A receipt kept elsewhere shows that its event is still there.";

/** The strands that an opening or a closing line states; undefined when the line is none. One of the first store format names no strand. */
function readStated(line: string, type: string): (ExportedChain & ArchivedLink)[] | undefined {
  if (!line.includes(type)) return undefined;
  const value = parseJsonObject(line);
  if (value?.type !== type || !isJsonObject(value.data) || !Array.isArray(value.data.chains)) {
    return undefined;
  }
  const chains = value.data.chains.filter(isJsonObject);
  if (stating(type, chains) !== line) return undefined;
  return chains.map(({ tenant, strand = 0, events = 0, sequence, hash: newest, after }) => ({
    tenant: String(tenant),
    strand: Number(strand),
    events: Number(events),
    sequence: Number(sequence),
    hash: String(newest),
    ...(isJsonObject(after) && { after: { sequence: Number(after.sequence), hash: String(after.hash) } }),
  }));
}
