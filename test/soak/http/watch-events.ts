import { request } from "node:http";
import type { Client } from "./ask.ts";
import type { Book, Entry } from "./book.ts";

interface Watching {
  client: Client;
  book: Book;
  /** It hangs up after so long, wherever the stream is. */
  hangUpMs: number;
}

/** Reads a call's events and hangs up at any moment. What it was told about the end counts. */
export function watchAWhile(entry: Entry, { client, book, hangUpMs }: Watching): Promise<void> {
  return new Promise((resolve) => {
    const path = `/v1/invocations/${entry.callId}/events`;
    const sent = request({ host: "127.0.0.1", port: client.port, agent: client.agent, path });
    const timer = setTimeout(() => sent.destroy(), hangUpMs);
    const done = () => {
      clearTimeout(timer);
      sent.destroy();
      resolve();
    };
    book.count("watched");
    sent.on("error", done);
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("error", done);
      response.once("close", done);
      response.on("data", (chunk: string) => {
        text += chunk;
        const ended = /^event: ended\ndata: (.*)\n\n/m.exec(text)?.[1];
        if (ended !== undefined) noteEnd(entry, JSON.parse(ended), book);
      });
    });
    sent.end();
  });
}

/** The stream tells the status only. */
function noteEnd(entry: Entry, { status }: { status: string }, book: Book): void {
  const { end, order } = entry;
  book.count("watched to the end");
  if (end && end.status !== status)
    book.breaches.push(`${order.key} ended as ${end.status}, and its events say ${status}`);
  entry.watchedEnd = status;
}
