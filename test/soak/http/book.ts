import type { ToolInvokeResponse } from "@sallyport/protocol";
import type { Order } from "./orders.ts";

/** How a call ended, as somebody was told. */
export interface End {
  status: string;
  code?: string;
  result?: unknown;
}

/** What callers were promised of one call. */
export interface Entry {
  order: Order;
  sentAt: number;
  /** Known once the server has answered. */
  callId?: string;
  accepted: boolean;
  /** Somebody was told that it is cancelled, for good. */
  cancelled: boolean;
  end?: End;
  /** What its events said. */
  watchedEnd?: string;
}

/** Everything that callers were told: the truth the server is held to. */
export class Book {
  readonly entries = new Map<string, Entry>();
  /** Contradictions that were seen while it was written. */
  readonly breaches: string[] = [];
  readonly latencies: number[] = [];
  readonly counts: Record<string, number> = {};

  send(order: Order): Entry {
    const entry: Entry = { order, sentAt: Date.now(), accepted: false, cancelled: false };
    this.entries.set(order.key, entry);
    return entry;
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  accept(entry: Entry, callId: string): void {
    this.#name(entry, callId);
    entry.accepted = true;
  }

  /** An end is told once; told again it has to be the same. */
  end(entry: Entry, callId: string, end: End): void {
    this.#name(entry, callId);
    const before = entry.end;
    entry.end ??= end;
    if (before && !sameEnd(before, end)) {
      this.breaches.push(`${entry.order.key} ended as ${inWords(before)} and then as ${inWords(end)}`);
    }
  }

  #name(entry: Entry, callId: string): void {
    if (entry.callId !== undefined && entry.callId !== callId) {
      this.breaches.push(`${entry.order.key} is call ${entry.callId} and call ${callId}`);
    }
    entry.callId = callId;
  }
}

/** A result that was not told of is not another one. */
export function sameEnd(a: End, b: End): boolean {
  const results = a.result === undefined || b.result === undefined || inWords(a.result) === inWords(b.result);
  return a.status === b.status && a.code === b.code && results;
}

export function inWords(value: unknown): string {
  return JSON.stringify(value);
}

/** What a message of the server says of a call's end. */
export function endOf({
  status,
  result,
  error,
}: {
  status: string;
  result?: unknown;
  error?: NonNullable<ToolInvokeResponse["error"]>;
}): End {
  const code = error?.details.code;
  return { status, ...(typeof code === "string" && { code }), ...(result !== undefined && { result }) };
}
