import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type House, heldFolder, recordsFolder } from "./house.ts";
import { dropContent, type RecordStatus, readStatus, writeStatus } from "./records.ts";
import { removeTree } from "./remove-tree.ts";
import { NOTHING_THERE, unless } from "./system-error.ts";

/** How many records may be remembered of which nothing is left. */
const MOST_REMAINS = 10_000;

interface Kept {
  record: string;
  status: RecordStatus;
}

/** Forgets pre-images that are too old or, oldest first, too many. */
export async function expire(house: House): Promise<void> {
  const { keepMs, keepBytes, clock } = house.settings;
  const records = await readRecords(house);
  const isFull = ({ status }: Kept) => status.state === "kept" || status.state === "left";
  const full = records.filter(isFull);
  let bytes = full.reduce((sum, { status }) => sum + status.bytes, 0);
  for (const { record, status } of full) {
    if (status.at + keepMs > clock.now() && bytes <= keepBytes) continue;
    bytes -= status.bytes;
    await writeStatus(record, { state: "expired", at: clock.now(), bytes: 0 }, { sync: false });
    await dropContent(record);
  }
  const remains = records.filter((kept) => !isFull(kept));
  for (const { record } of remains.slice(0, Math.max(0, remains.length - MOST_REMAINS)))
    await removeTree(record);
  await expireHeld(house);
}

/** No question is open that long: whoever held these changes is gone. */
async function expireHeld(house: House): Promise<void> {
  const folder = heldFolder(house);
  const { keepMs, clock } = house.settings;
  for (const name of (await unless(NOTHING_THERE, readdir(folder))) ?? []) {
    const held = join(folder, name);
    const found = await unless(NOTHING_THERE, stat(held));
    if (found && found.mtimeMs + keepMs < clock.now()) await removeTree(held);
  }
}

/** Oldest first. */
async function readRecords(house: House): Promise<Kept[]> {
  const folder = recordsFolder(house);
  const records: Kept[] = [];
  for (const name of (await unless(NOTHING_THERE, readdir(folder))) ?? []) {
    const record = join(folder, name);
    const status = await readStatus(record);
    if (status) records.push({ record, status });
  }
  return records.sort((left, right) => left.status.at - right.status.at);
}
