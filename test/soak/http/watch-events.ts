import { type ClientRequest, request } from "node:http";
import type { Client } from "./ask.ts";
import type { Book, Entry } from "./book.ts";

/** One event of a stream. */
export interface SeenEvent {
  event: string;
  data: Record<string, unknown>;
}

/** What came over a stream until it ended. */
export interface Seen {
  events: SeenEvent[];
  /** The server ended it; it did not break off. */
  isWhole: boolean;
}

export interface Watch {
  /** Resolves with the first byte, or when there will be none. */
  opened: Promise<void>;
  ended: Promise<Seen>;
  /** Resolves once that has come over it, or the stream has ended. */
  said(what: RegExp): Promise<void>;
  hangUp(): void;
}

/** Reads a call's events until the stream ends in any way. */
export function watch({ port, agent }: Client, callId: string): Watch {
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Seen>();
  const path = `/v1/invocations/${callId}/events`;
  const sent: ClientRequest = request({ host: "127.0.0.1", port, agent, path });
  let text = "";
  const listeners = new Set<() => void>();
  const end = (isWhole: boolean) => {
    opened.resolve();
    ended.resolve({ events: eventsIn(text), isWhole });
  };
  sent.on("error", () => end(false));
  sent.once("response", (response) => {
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
      opened.resolve();
      for (const listener of listeners) listener();
    });
    response.on("error", () => end(false));
    response.once("close", () => end(response.complete));
  });
  sent.end();
  const said = (what: RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => what.test(text) && resolve();
      listeners.add(look);
      ended.promise.then(() => resolve());
      look();
    });
  return { opened: opened.promise, ended: ended.promise, said, hangUp: () => sent.destroy() };
}

function eventsIn(text: string): SeenEvent[] {
  const frames = text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm);
  return [...frames].map(([, event = "", data = ""]) => ({ event, data: JSON.parse(data) }));
}

/** Reads a call's events and hangs up after a while, wherever the stream is. What it was told of the end counts. */
export async function watchAWhile(
  entry: Entry,
  { client, book, hangUpMs }: { client: Client; book: Book; hangUpMs: number },
): Promise<void> {
  const watching = watch(client, entry.callId ?? "");
  const timer = setTimeout(() => watching.hangUp(), hangUpMs);
  const { events } = await watching.ended;
  clearTimeout(timer);
  book.count("watched");
  const end = events.find(({ event }) => event === "ended");
  if (!end) return;
  book.count("watched to the end");
  entry.watchedEnd = String(end.data.status);
}
