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

/**
 * Full-text search with MiniSearch: words of id, name, description and capabilities, beginnings of words, small typing
 * errors. Rejects when the package `minisearch` is not installed.
 */
export const makeMiniSearchIndex: MakeToolIndex = async (tools) => {
  const { default: MiniSearch } = await import("minisearch");
  const index = new MiniSearch<ToolEntry>({
    idField: "tool_id",
    fields: ["tool_id", "display_name", "description", "capabilities"],
    extractField: (tool, field) => String(tool[field as keyof ToolEntry] ?? ""),
    searchOptions: {
      boost: { tool_id: 3, display_name: 3, capabilities: 2 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 3 ? 0.2 : false),
    },
  });
  index.addAll(tools);
  return {
    search: (query, limit) =>
      index
        .search(query)
        .slice(0, limit)
        .map(({ id, score }) => ({ tool_id: String(id), score })),
  };
};
