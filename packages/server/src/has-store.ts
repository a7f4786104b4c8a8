import { statSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "@sallyport/adapters/sqlite";

/** Whether anything was ever kept in the folder; a first start that was cut off leaves an empty file. */
export function hasStore(folder: string): boolean {
  return (statSync(join(folder, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}
