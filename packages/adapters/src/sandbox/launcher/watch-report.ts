import type { Readable } from "node:stream";
import {
  type LauncherEnding,
  type LauncherEvent,
  type RefusedSyscall,
  readLauncherLine,
  type WatchedLimit,
} from "./launcher-report.ts";
import { LineSplitter } from "./line-splitter.ts";

/** What the launcher said so far. */
export interface ReportState {
  ending?: LauncherEnding;
  limit?: { limit: WatchedLimit; value: number };
  refused: RefusedSyscall[];
}

export interface WatchedReport {
  state: ReportState;
  /** Resolves with undefined when the report ends without it; never rejects. */
  started: Promise<number | undefined>;
  /** Resolves when nothing more can come; never rejects. */
  closed: Promise<void>;
}

const MOST_LINE_BYTES = 4096;
const MOST_REFUSED = 50;

/** Follows a launcher's report. Lines that make no sense are passed over: only a proper ending counts as one. */
export function watchReport(report: Readable): WatchedReport {
  const state: ReportState = { refused: [] };
  const started = Promise.withResolvers<number | undefined>();
  const closed = Promise.withResolvers<void>();
  const lines = new LineSplitter(MOST_LINE_BYTES);
  report.on("data", (chunk: Buffer) => {
    for (const line of lines.push(chunk)) {
      const event = line && readLauncherLine(line);
      if (event?.event === "started") started.resolve(event.pid);
      if (event) note(state, event);
    }
  });
  // A report that breaks off is one that ends: what is missing is noticed by whoever needs the ending.
  report.once("error", () => report.destroy());
  report.once("close", () => {
    started.resolve(undefined);
    closed.resolve();
  });
  return { state, started: started.promise, closed: closed.promise };
}

function note(state: ReportState, event: LauncherEvent): void {
  if (state.ending) return;
  switch (event.event) {
    case "ended": {
      const { event: _, ...ending } = event;
      state.ending = ending;
      return;
    }
    case "limit":
      state.limit ??= { limit: event.limit, value: event.value };
      return;
    case "violation": {
      const { event: _, ...refused } = event;
      if (state.refused.length < MOST_REFUSED) state.refused.push(refused);
      return;
    }
  }
}
