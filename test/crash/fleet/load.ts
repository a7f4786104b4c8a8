import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@sallyport/protocol";
import { type Answer, Client, type Question } from "../../soak/http/ask.ts";

/** One call that a client wants made, however often it has to ask. Its key is its identity. */
export interface Order {
  key: string;
  tool: "pay" | "transfer" | "count" | "note";
  isAsync: boolean;
  parameters: JsonObject;
}

/** What a client was told of an order. */
export interface Told {
  order: Order;
  /** The id under which the call was accepted: whatever happens, it ends. */
  accepted?: string;
  /** The call that the last answer was about. */
  before?: string;
  /** The last word, and the call it is about. */
  callId?: string;
  status?: string;
  code?: string;
  result?: unknown;
}

/** Nothing was decided: ask again, with the same key, anywhere. An answer from the record is the last word all the same. */
const ASK_AGAIN = new Set(["E3106", "E3216", "E3910", "E3914", "E3918", "E3922", "E3923", "E3942", "E3943"]);

/** How long a client waits for an answer; some ask elsewhere much sooner. */
const LONGEST_MS = 20_000;

export interface ClientOptions {
  name: string;
  ports: readonly number[];
  operatorKey: string;
  witness: string;
  callbackUrl: string;
  random: () => number;
  isOver: () => boolean;
  /** A promise was broken: there may never be an answer. */
  failed: AbortSignal;
}

/** A patient client of the whole fleet: sends each order until somebody answers it, approves what waits, polls nothing. */
export class FleetClient {
  readonly told: Told[] = [];
  readonly #options: ClientOptions;
  readonly #clients: Client[];

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#clients = options.ports.map((port) => new Client(port));
  }

  async work(): Promise<void> {
    for (let number = 1; !this.#options.isOver(); number += 1) await this.#make(this.#order(number));
    for (const client of this.#clients) client[Symbol.dispose]();
  }

  #order(number: number): Order {
    const { name, random, witness } = this.#options;
    const key = `${name}-${number}`;
    const tool =
      (["pay", "pay", "transfer", "count", "count", "note"] as const)[Math.floor(random() * 6)] ?? "pay";
    const ms = Math.floor(random() * 300);
    const parameters = { key, ms, witness, ...(tool === "count" && { counter: name }) };
    return { key, tool, isAsync: random() < 0.4, parameters };
  }

  async #make(order: Order): Promise<void> {
    const told: Told = { order };
    this.told.push(told);
    const { key, tool, isAsync, parameters } = order;
    const options = { idempotency_key: key, async_mode: isAsync };
    const callback = isAsync ? { callback_url: `${this.#options.callbackUrl}/${key}` } : {};
    const body = { tool_id: tool, parameters, execution_options: { ...options, ...callback } };
    while (!this.#options.failed.aborted) {
      const answer = await this.#ask({ path: "/v1/tools/invoke", body });
      if (answer && (await this.#isSettled(told, answer))) return;
      await sleep(50 + 200 * this.#options.random());
    }
  }

  async #isSettled(told: Told, { body, headers }: Answer): Promise<boolean> {
    const error = (body.error ?? {}) as { details?: { code?: string } };
    const code = error.details?.code ?? (body.code as string | undefined);
    const callId = String(body.invocation_id);
    // One that was only shared with an equal request under way is another one the next time.
    const isOnRecord = headers["idempotent-replayed"] === "true" && told.before === callId;
    told.before = callId;
    if (code !== undefined && ASK_AGAIN.has(code) && !isOnRecord) return false;
    const status = String(body.status);
    if (status === "pending" || status === "running" || status === "pending_approval") {
      told.accepted ??= callId;
      if (status === "pending_approval") await this.#approve(callId);
      // Whoever waits asks again and gets the outcome; the others leave it to the fleet.
      return told.order.isAsync;
    }
    Object.assign(told, { callId, status, code, result: body.result });
    return true;
  }

  async #approve(callId: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#options.operatorKey}` };
    const call = await this.#ask({ path: `/v1/invocations/${callId}` });
    const approval = call?.body.approval_id;
    if (typeof approval !== "string") return;
    await this.#ask({ method: "POST", path: `/v1/approvals/${approval}:approve`, headers });
  }

  /** Asks any replica; undefined when it did not answer. */
  #ask(question: Question): Promise<Answer | undefined> {
    const client = this.#clients[Math.floor(this.#options.random() * this.#clients.length)];
    const patienceMs = Math.round(LONGEST_MS * (0.1 + 0.9 * this.#options.random()));
    return client ? askOnce(client, question, patienceMs) : Promise.resolve(undefined);
  }
}

/** Asks once, over a connection of its own; undefined when there is no answer. */
export async function ask(port: number, question: Question): Promise<Answer | undefined> {
  using client = new Client(port);
  return await askOnce(client, question);
}

async function askOnce(client: Client, question: Question, ms = LONGEST_MS): Promise<Answer | undefined> {
  try {
    return await client.ask({ ...question, signal: AbortSignal.timeout(ms) });
  } catch {
    return undefined;
  }
}
