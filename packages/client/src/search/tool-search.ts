import { type Domain, failure, type JsonObject } from "@sallyport/protocol";
import type { Client, RequestOptions, RunSuccess } from "../client.ts";
import type { ClientError, Result } from "../client-error.ts";
import {
  type Catalogue,
  type CatalogueCache,
  catalogueFrom,
  isSameEntry,
  readCached,
  type ToolEntry,
} from "./catalogue.ts";
import { type MakeToolIndex, makeMiniSearchIndex, type ToolIndex } from "./tool-index.ts";

export interface ToolSearchOptions {
  client: Client;
  /** Keeps catalogues longer than this search lives; left out: only the newest one, in memory. */
  cache?: CatalogueCache;
  /** MiniSearch when left out. */
  makeIndex?: MakeToolIndex;
  /** Told when the cache fails; the search goes on without it. */
  onCacheError?: (error: unknown) => void;
}

export interface SearchOptions extends RequestOptions {
  /** How many tools at most; 10 when left out. */
  limit?: number;
}

/** A tool that was found, and in which version of its domain. Plain JSON: it can be kept and run later. */
export interface FoundTool extends Domain {
  tool: ToolEntry;
  /** Larger is better; only comparable within one search. */
  score: number;
}

export interface FoundTools extends Domain {
  /** The best first. */
  tools: FoundTool[];
  /** How many tools the domain has. */
  total: number;
}

/** Search at the caller: the gateway only says which domain it has, and runs the tool that was chosen (AX-SRCH-1). */
export interface ToolSearch {
  /** The tools that fit best; the first ones of the catalogue for an empty query. */
  search(query: string, options?: SearchOptions): Promise<Result<FoundTools>>;
  /**
   * Runs a tool that was found. When the domain has changed since, the tool runs if its entry is still the same; otherwise
   * nothing runs (E3001: gone, E3002: changed).
   */
  run(found: FoundTool, input: JsonObject, options?: RequestOptions): Promise<Result<RunSuccess>>;
}

const MAX_QUERY = 512;

export function createToolSearch(options: ToolSearchOptions): ToolSearch {
  return new CatalogueSearch(options);
}

interface Loaded {
  catalogue: Catalogue;
  /** Made with the first search. */
  index?: ToolIndex;
}

class CatalogueSearch implements ToolSearch {
  readonly #options: ToolSearchOptions;
  #current: Loaded | undefined;

  constructor(options: ToolSearchOptions) {
    this.#options = options;
  }

  async search(query: string, options: SearchOptions = {}): Promise<Result<FoundTools>> {
    const domain = await this.#options.client.domain(options);
    if (!domain.ok) return domain;
    const loaded = await this.#load(domain.value, options);
    if (!loaded.ok) return loaded;
    const { domain_id, version, tools } = loaded.value.catalogue;
    try {
      const ranked = await this.#rank(loaded.value, query.slice(0, MAX_QUERY), options.limit ?? 10);
      const found = ranked.map((hit) => ({ ...hit, domain_id, version }));
      return { ok: true, value: { domain_id, version, tools: found, total: tools.length } };
    } catch (error) {
      return { ok: false, error: indexFailed(error) };
    }
  }

  async run(found: FoundTool, input: JsonObject, options: RequestOptions = {}): Promise<Result<RunSuccess>> {
    const { client } = this.#options;
    const domain = await client.domain(options);
    if (!domain.ok) return domain;
    if (!isSameDomain(domain.value, found)) {
      const loaded = await this.#load(domain.value, options);
      if (!loaded.ok) return loaded;
      const refusal = refusalFor(found, loaded.value.catalogue);
      if (refusal) return { ok: false, error: refusal };
    }
    return await client.run(found.tool.tool_id, input, { timeoutMs: timeoutOf(found.tool), ...options });
  }

  /** The catalogue of this domain: the one in use, the one in the cache, else that of the gateway. */
  async #load(domain: Domain, options: RequestOptions): Promise<Result<Loaded>> {
    if (this.#current && isSameDomain(this.#current.catalogue, domain))
      return { ok: true, value: this.#current };
    const cached = await this.#withCache((cache) => cache.get(this.#keyOf(domain)));
    const catalogue = readCached(cached, domain) ?? (await this.#fetch(options));
    if ("ok" in catalogue) return catalogue;
    this.#current = { catalogue };
    return { ok: true, value: this.#current };
  }

  /** Kept under the version that the catalogue itself has: the domain may have changed since it was asked. */
  async #fetch(options: RequestOptions): Promise<Catalogue | { ok: false; error: ClientError }> {
    const answer = await this.#options.client.tools(options);
    if (!answer.ok) return answer;
    const catalogue = catalogueFrom(answer.value);
    if (!catalogue) return { ok: false, error: AMBIGUOUS };
    await this.#withCache((cache) => cache.set(this.#keyOf(catalogue), catalogue));
    return catalogue;
  }

  #keyOf({ domain_id, version }: Domain) {
    return { gateway: this.#options.client.url, domain_id, version };
  }

  async #withCache<T>(use: (cache: CatalogueCache) => Promise<T>): Promise<T | undefined> {
    const { cache, onCacheError } = this.#options;
    try {
      return cache && (await use(cache));
    } catch (error) {
      onCacheError?.(error);
      return undefined;
    }
  }

  async #rank(loaded: Loaded, query: string, limit: number): Promise<Pick<FoundTool, "tool" | "score">[]> {
    const { tools } = loaded.catalogue;
    if (query.trim() === "") return tools.slice(0, limit).map((tool) => ({ tool, score: 0 }));
    loaded.index ??= await (this.#options.makeIndex ?? makeMiniSearchIndex)(tools);
    const ranked = await loaded.index.search(query, limit);
    const byId = new Map(tools.map((tool) => [tool.tool_id, tool]));
    return ranked.slice(0, limit).flatMap(({ tool_id, score }) => {
      const tool = byId.get(tool_id);
      return tool ? [{ tool, score }] : [];
    });
  }
}

const AMBIGUOUS: ClientError = failure("E3308", {
  message: "The gateway's catalogue has two tools with the same id.",
  advice: "Correct the manifest of the gateway's domain.",
});

function isSameDomain(one: Domain, other: Domain): boolean {
  return one.domain_id === other.domain_id && one.version === other.version;
}

function refusalFor({ tool, ...then }: FoundTool, now: Catalogue): ClientError | undefined {
  const current = now.tools.find(({ tool_id }) => tool_id === tool.tool_id);
  if (current && isSameEntry(current, tool)) return undefined;
  const versions = `found in ${then.domain_id} ${then.version}, the gateway has ${now.domain_id} ${now.version}`;
  const message = `The tool ${tool.tool_id} ${current ? "has changed" : "is gone"}: ${versions}. Nothing ran.`;
  return failure(current ? "E3002" : "E3001", { message, advice: "Search again and choose anew." });
}

/** As long as the gateway waits for the tool, and a little for the way. */
function timeoutOf({ timeout_sec }: ToolEntry): number {
  return Math.min((timeout_sec + 15) * 1_000, 2 ** 31 - 1);
}

function indexFailed(error: unknown): ClientError {
  return failure("E3005", {
    message: `The index of tools failed: ${error instanceof Error ? error.message : String(error)}`,
    retryable: false,
    advice: "Install the package minisearch, or give createToolSearch another makeIndex.",
  });
}
