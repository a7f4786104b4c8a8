import { setTimeout as sleep } from "node:timers/promises";
import type { ToolCancelResponse, ToolInvokeResponse, ToolStatusResponse } from "@sallyport/protocol";
import type { Answer, Client, Question } from "./ask.ts";
import { type Book, type Entry, endOf } from "./book.ts";
import { nextOrder, requestOf } from "./orders.ts";
import { watchAWhile } from "./watch-events.ts";

export interface CallerOptions {
  name: string;
  agent: string;
  client: Client;
  book: Book;
  witness: string;
  random: () => number;
  /** True once it is time to bring things to an end. */
  isOver: () => boolean;
  /** True once nobody can be waited for any longer. */
  isTooLate: () => boolean;
}

const OPEN = new Set(["pending", "running", "pending_approval"]);
/** Refused before anything was begun: worth asking again, where that is the same call. */
const BUSY = new Set(["E3910", "E3106", "E3942"]);

/** A good client: asks again with the same key or id when a connection breaks, and follows what was accepted. */
export class Caller {
  readonly #options: CallerOptions;
  #orders = 0;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  async work(): Promise<void> {
    const { isOver, name, agent, random, book } = this.#options;
    while (!isOver()) {
      this.#orders += 1;
      const entry = book.send(nextOrder(`${name}.${this.#orders}`, agent, random));
      await this.#make(entry);
      if (entry.accepted && entry.end === undefined) await this.#follow(entry);
    }
  }

  async #make(entry: Entry): Promise<void> {
    const { book, witness, isTooLate } = this.#options;
    const { order } = entry;
    const { body, headers } = requestOf(order, witness);
    while (!isTooLate()) {
      const sentAt = performance.now();
      const answer = await this.#try<ToolInvokeResponse>({ path: "/v1/tools/invoke", body, headers });
      if (!answer) {
        book.count("broken");
        if (order.named === "not") return;
        continue;
      }
      if (!order.isAsync && answer.status === 200) book.latencies.push(performance.now() - sentAt);
      if (await this.#settled(entry, answer)) return;
    }
  }

  /** Whether the answer is one; what is refused for now is asked for again. */
  async #settled(entry: Entry, { status, body }: Answer<ToolInvokeResponse>): Promise<boolean> {
    const { book } = this.#options;
    const { order } = entry;
    const code = codeOf(body);
    book.count(code ?? String(status));
    if (status === 202) {
      book.accept(entry, body.invocation_id);
      return true;
    }
    if (code === "E3905" && order.named === "id") return await this.#fetched(entry);
    // The refusal is not the call, which is on record under an id of its own.
    if (code === "E3909") return this.#unknown(entry, body);
    const isSettled = !BUSY.has(code ?? "") || (order.named === "id" && body.invocation_id !== undefined);
    if (isSettled) book.end(entry, body.invocation_id, endOf(body));
    else await sleep(100 + 200 * this.#options.random());
    return isSettled;
  }

  #unknown(entry: Entry, { error }: ToolInvokeResponse): boolean {
    const callId = error?.details.callId;
    this.#options.book.end(entry, String(callId), { status: "error", code: "E3909" });
    return true;
  }

  /** The id is taken, by this very call: an earlier try has come through after all. */
  async #fetched(entry: Entry): Promise<boolean> {
    const { book } = this.#options;
    book.accept(entry, entry.order.id);
    return true;
  }

  async #follow(entry: Entry): Promise<void> {
    const { random, book, client } = this.#options;
    const chance = random();
    if (chance < 0.2) return book.count("left");
    if (chance < 0.35) await this.#cancel(entry);
    else if (chance < 0.45) await watchAWhile(entry, { client, book, hangUpMs: random() * 400 });
    await this.#poll(entry);
  }

  async #cancel(entry: Entry): Promise<void> {
    const path = `/v1/invocations/${entry.callId}:cancel`;
    await sleep(this.#options.random() * 50);
    const answer = await this.#try<ToolCancelResponse>({ method: "POST", path });
    if (answer?.status !== 200) return;
    this.#options.book.count(answer.body.cancelled ? "cancelled" : "not cancelled");
    entry.cancelled ||= answer.body.status === "cancelled";
  }

  async #poll(entry: Entry): Promise<void> {
    const { book, isTooLate, random } = this.#options;
    while (!isTooLate()) {
      const answer = await this.#try<ToolStatusResponse>({ path: `/v1/invocations/${entry.callId}` });
      if (answer?.status === 404) {
        book.breaches.push(`${entry.order.key} was accepted as ${entry.callId} and is not there`);
        return;
      }
      if (answer?.status === 200) {
        book.count("polled");
        const { body } = answer;
        if (!OPEN.has(body.status)) return book.end(entry, body.invocation_id, endOf(body));
      }
      await sleep(50 + 150 * random());
    }
  }

  /** Undefined when the connection could not be had or broke. */
  async #try<Body>(question: Question): Promise<Answer<Body> | undefined> {
    try {
      return await this.#options.client.ask<Body>(question);
    } catch {
      await sleep(200 + 300 * this.#options.random());
      return undefined;
    }
  }
}

/** A call's error carries it in its details, a problem as its own. */
function codeOf(body: ToolInvokeResponse & { code?: unknown }): string | undefined {
  const code = body.error?.details.code ?? body.code;
  return typeof code === "string" ? code : undefined;
}
