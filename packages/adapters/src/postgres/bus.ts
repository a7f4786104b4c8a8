import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryBus } from "@sallyport/engine";
import { type Bus, CHANNELS, type Channel, type Listener } from "@sallyport/engine/ports";
import type { JsonObject } from "@sallyport/protocol";
import { type Client, loadDriver, reasonOf } from "./driver.ts";

export interface PostgresBusOptions {
  /** `postgres://…`; its password is never told. */
  connectionString: string;
  /** The schema of the store: processes on another one hear nothing of these. Default: `sallyport`. */
  schema?: string;
  /** Told once for each time the connection is lost or cannot be had. */
  onProblem?: (reason: string) => void;
}

export interface PostgresBus extends Bus, AsyncDisposable {}

/** Channels of `NOTIFY` belong to the whole database: each store uses the one that is called like its schema. */
const DEFAULT_SCHEMA = "sallyport";
/** A notification of PostgreSQL holds 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900;
/** Messages that wait for a connection; the oldest go first, because a lost one costs only time. */
const MAX_WAITING = 1_000;
const RETRY_MS = [100, 500, 2_000, 5_000];
const CONNECT_MS = 5_000;

interface Notification {
  from: string;
  channel: Channel;
  message: JsonObject;
}

/**
 * A bus over LISTEN and NOTIFY, on a connection of its own. Listeners of this process are told at once, those of others
 * when PostgreSQL delivers. It opens in the background and connects again by itself: while there is no connection,
 * messages of others are lost and own ones wait, up to a thousand; afterwards every channel gets an empty message, which
 * says that something may have changed.
 */
export function openPostgresBus(options: PostgresBusOptions): PostgresBus {
  const here = new MemoryBus();
  const sender = new NotificationLink(options, (channel, message) => here.publish(channel, message));
  return {
    publish(channel, message) {
      here.publish(channel, message);
      sender.send(channel, message);
    },
    subscribe: (channel: Channel, listener: Listener) => here.subscribe(channel, listener),
    [Symbol.asyncDispose]: () => sender.close(),
  };
}

/**
 * The connection: connecting ⇄ connected until closed. Payloads are sent in the order they came, one statement for all
 * that wait.
 */
class NotificationLink {
  readonly #options: PostgresBusOptions;
  readonly #deliver: (channel: Channel, message: JsonObject) => void;
  readonly #id = randomUUID();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #waiting: string[] = [];
  #wake = Promise.withResolvers<void>();

  constructor(options: PostgresBusOptions, deliver: (channel: Channel, message: JsonObject) => void) {
    this.#options = options;
    this.#deliver = deliver;
    this.#running = this.#run();
  }

  send(channel: Channel, message: JsonObject): void {
    const payload = this.#payload(channel, message);
    this.#waiting.push(payload);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#wake.resolve();
  }

  /** Sends what waits, where there is a connection, and ends it. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake.resolve();
    await this.#running;
  }

  /** Without the message where it is too long: the reader then knows that something changed on the channel. */
  #payload(channel: Channel, message: JsonObject): string {
    const from = this.#id;
    const whole = JSON.stringify({ from, channel, message });
    return Buffer.byteLength(whole) <= MAX_PAYLOAD_BYTES
      ? whole
      : JSON.stringify({ from, channel, message: {} });
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let wasConnected = false;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const client = await this.#connect();
      if (client) {
        failures = 0;
        // What others sent meanwhile is lost: listeners hear on every channel that something may have changed.
        if (wasConnected) for (const channel of CHANNELS) this.#deliver(channel, {});
        wasConnected = true;
        await this.#serve(client);
        await client.end().catch(() => undefined);
      }
      const pauseMs = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
      await sleep(signal.aborted ? 0 : pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #connect(): Promise<Client | undefined> {
    const { connectionString, schema = DEFAULT_SCHEMA, onProblem } = this.#options;
    let client: Client | undefined;
    try {
      const { Client } = await loadDriver();
      client = new Client({
        connectionString,
        connectionTimeoutMillis: CONNECT_MS,
        query_timeout: CONNECT_MS,
        keepAlive: true,
        application_name: "sallyport-bus",
      });
      client.on("error", () => undefined);
      client.on("notification", ({ payload }) => this.#hear(payload));
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(schema)}`);
      return client;
    } catch (error) {
      onProblem?.(reasonOf(error));
      await client?.end().catch(() => undefined);
      return undefined;
    }
  }

  /** Until the connection is lost or the bus closes. */
  async #serve(client: Client): Promise<void> {
    let isLost = false;
    client.once("end", () => {
      isLost = true;
      this.#wake.resolve();
    });
    while (!isLost) {
      try {
        await this.#flush(client);
      } catch (error) {
        this.#options.onProblem?.(reasonOf(error));
        return;
      }
      if (this.#closing.signal.aborted) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
    this.#options.onProblem?.("the connection was lost");
  }

  async #flush(client: Client): Promise<void> {
    while (this.#waiting.length > 0) {
      const payloads = this.#waiting;
      this.#waiting = [];
      try {
        await client.query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload", [
          this.#options.schema ?? DEFAULT_SCHEMA,
          payloads,
        ]);
      } catch (error) {
        // Some may have been sent: a hint that comes twice changes nothing.
        this.#waiting = [...payloads, ...this.#waiting].slice(-MAX_WAITING);
        throw error;
      }
    }
  }

  /** Other programs may notify on the same channel: what is not ours is passed over. */
  #hear(payload: string | undefined): void {
    const notification = readNotification(payload);
    if (notification && notification.from !== this.#id)
      this.#deliver(notification.channel, notification.message);
  }
}

function readNotification(payload = ""): Notification | undefined {
  try {
    const { from, channel, message } = JSON.parse(payload) as Partial<Notification>;
    const isOurs = typeof from === "string" && CHANNELS.includes(channel as Channel);
    const isMessage = typeof message === "object" && message !== null && !Array.isArray(message);
    return isOurs && isMessage ? { from, channel: channel as Channel, message } : undefined;
  } catch {
    return undefined;
  }
}
