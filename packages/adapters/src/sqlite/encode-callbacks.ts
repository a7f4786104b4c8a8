import type { CallbackWrite } from "@sallyport/engine";
import type { CallbackRow } from "./messages.ts";

/** Flattens the callbacks of a unit; null when it has none. Throws when one counts backwards: a mistake, never a race. */
export function encodeCallbacks(writes: readonly CallbackWrite[] | undefined): CallbackRow[] | null {
  return writes?.length ? writes.map(callbackRow) : null;
}

/** Roughly how many bytes they take while they wait. */
export function callbackBytes(rows: readonly CallbackRow[]): number {
  let bytes = 0;
  for (const { cells } of rows) {
    for (const cell of cells) bytes += typeof cell === "string" ? cell.length : 8;
  }
  return bytes;
}

function callbackRow({ callback, expect }: CallbackWrite): CallbackRow {
  const { callId, tenant, url, state, attempts, dueAt, problem } = callback;
  if (attempts < (expect ?? 0)) {
    throw new RangeError(`The callback of ${callId} counts ${attempts} attempts after ${expect}.`);
  }
  return { expect: expect ?? null, cells: [callId, tenant, url, state, attempts, dueAt, problem ?? null] };
}
