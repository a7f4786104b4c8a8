import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Kept } from "./kept-records.ts";
import type { ServerFolder } from "./server-folder.ts";

/** What a kill can have cut off in the middle, or made the next life send again. */
const MOST_PER_BATCH = 1_200;

/** Every end is published at least once; only what a kill explains is there twice or torn. */
export function publishedBreaches(server: ServerFolder, { records }: Kept, kills: number): string[] {
  const lines = readFileSync(join(server.stateFolder, "events.jsonl"), "utf8").split("\n").slice(0, -1);
  const ids = lines.flatMap(idIn);
  const published = new Set(ids);
  const silent = [...records.values()].filter(({ callId, closing }) => {
    const type = closing?.status === "success" ? "tool.succeeded" : "tool.failed";
    return closing && !published.has(`${callId}:${type}`);
  });
  const torn = lines.length - ids.length;
  const again = ids.length - published.size;
  return [
    ...silent.map(({ callId }) => `never published: ${callId}`),
    ...(torn > kills ? [`${torn} torn lines by ${kills} kills`] : []),
    ...(again > kills * MOST_PER_BATCH ? [`${again} events published again by ${kills} kills`] : []),
  ];
}

function idIn(line: string): string[] {
  try {
    return [String(JSON.parse(line).id)];
  } catch {
    return [];
  }
}
