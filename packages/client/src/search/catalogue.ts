import {
  type Domain,
  type DomainTool,
  type DomainTools,
  decode,
  domainToolField,
  domainToolsField,
} from "@sallyport/protocol";

/** Which catalogue: of this gateway, for this domain in this version (AX-SRCH-1). */
export interface CatalogueKey {
  /** The gateway's base URL. */
  gateway: string;
  domain_id: string;
  version: string;
}

/** A tool as the catalogue describes it. The health of its worker is left out: it changes while the catalogue stays. */
export type ToolEntry = Omit<DomainTool, "health">;

export interface Catalogue extends Domain {
  tools: ToolEntry[];
}

/** Where catalogues are kept beyond the life of a search. What comes back is checked like an answer of the gateway. */
export interface CatalogueCache {
  /** Undefined when there is none. When it rejects, the gateway is asked. */
  get(key: CatalogueKey): Promise<unknown>;
  /** When it rejects, the search goes on without. */
  set(key: CatalogueKey, catalogue: Catalogue): Promise<void>;
}

/** What a cache gave back; undefined for everything that is not the catalogue of this domain. */
export function readCached(value: unknown, { domain_id, version }: Domain): Catalogue | undefined {
  const read = decode(value, domainToolsField);
  const catalogue = read.ok ? catalogueFrom(read.request) : undefined;
  return catalogue?.domain_id === domain_id && catalogue.version === version ? catalogue : undefined;
}

/** Only what the protocol says of a tool; undefined when two tools have the same id. */
export function catalogueFrom({ domain_id, version, tools }: DomainTools): Catalogue | undefined {
  const entries = tools.map(entryOf);
  const ids = new Set(entries.map(({ tool_id }) => tool_id));
  return ids.size === entries.length ? { domain_id, version, tools: entries } : undefined;
}

const ENTRY_FIELDS = Object.keys(Object(domainToolField.schema.properties)).filter(
  (name) => name !== "health",
) as (keyof ToolEntry)[];

/** The fields in one order, so that equal entries have equal JSON. */
function entryOf(tool: DomainTool): ToolEntry {
  const present = ENTRY_FIELDS.filter((name) => Object.hasOwn(tool, name));
  return Object.fromEntries(present.map((name) => [name, tool[name]])) as unknown as ToolEntry;
}

/** Whether everything that the catalogue says of the tool is the same. */
export function isSameEntry(one: ToolEntry, other: ToolEntry): boolean {
  return JSON.stringify(entryOf(one)) === JSON.stringify(entryOf(other));
}
