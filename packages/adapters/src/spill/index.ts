export { type BlobSpillOptions, openBlobSpill, openBlobSpillKeeping } from "./blob-spill.ts";
export { READ_OUTPUT, readOutputTool } from "./read-output.ts";
export { openSpill, type SpillFolder } from "./spill-folder.ts";
export { type OutputSize, openSpillKeeping, type SpillKeeping } from "./spill-keeping.ts";
