export type {
  Catalogue,
  CatalogueCache,
  CatalogueKey,
  ToolEntry,
} from "./catalogue.ts";
export { type MakeToolIndex, makeMiniSearchIndex, type RankedTool, type ToolIndex } from "./tool-index.ts";
export {
  createToolSearch,
  type FoundTool,
  type FoundTools,
  type SearchOptions,
  type ToolSearch,
  type ToolSearchOptions,
} from "./tool-search.ts";
