import type { ToolEntry } from "./catalogue.ts";

export interface RankedTool {
  tool_id: string;
  /** Larger is better; only comparable within one search. */
  score: number;
}

/** Finds tools in one catalogue. */
export interface ToolIndex {
  /** The best first, at most `limit`. */
  search(query: string, limit: number): RankedTool[] | Promise<RankedTool[]>;
}

/** Makes the index of a catalogue. A better search, such as one by embeddings, takes this place. */
export type MakeToolIndex = (tools: readonly ToolEntry[]) => ToolIndex | Promise<ToolIndex>;

/** Indexing blocks its thread, and random text costs most: 2 MB take about three seconds. */
const MAX_CHARS = 2_000_000;
const MAX_FIELD = 2_000;
const MIN_FIELD = 100;

/**
 * Full-text search with MiniSearch: words of id, name, description and capabilities, beginnings of words, small typing
 * errors. Long texts of a large catalogue are cut. Rejects when the package `minisearch` is not installed.
 */
export const makeMiniSearchIndex: MakeToolIndex = async (tools) => {
  const { default: MiniSearch } = await import("minisearch");
  const fieldChars = Math.min(MAX_FIELD, Math.max(MIN_FIELD, MAX_CHARS / tools.length));
  const index = new MiniSearch({
    fields: ["tool_id", "display_name", "description", "capabilities"],
    searchOptions: {
      boost: { tool_id: 3, display_name: 3, capabilities: 2 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 3 ? 0.2 : false),
    },
  });
  index.addAll(tools.map((tool, id) => ({ id, ...searchedTexts(tool, fieldChars) })));
  return {
    search: (query, limit) => {
      const best = index.search(query).slice(0, limit);
      return best.map(({ id, score }) => ({ tool_id: tools[id]?.tool_id ?? "", score }));
    },
  };
};

function searchedTexts(tool: ToolEntry, maxChars: number) {
  const { tool_id, display_name, description, capabilities } = tool;
  const texts = { tool_id, display_name, description, capabilities: capabilities.join(" ") };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.slice(0, maxChars)]));
}
