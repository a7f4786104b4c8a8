import { setTimeout as sleep } from "node:timers/promises";
import type { Row } from "../store-rows/rows.ts";
import { type Client, type ClientBase, loadDriver, type Pool, type PoolClient } from "./driver.ts";
import { failedBy, fateOf, isAbsent, lost } from "./failures.ts";
import { decodeText, encodeText } from "./text.ts";

export type Value = string | number | boolean | null | readonly string[] | readonly number[];

export interface DatabaseOptions {
  connectionString: string;
  schema: string;
  poolSize: number;
  statementTimeoutMs: number;
  lockTimeoutMs: number;
  connectTimeoutMs: number;
  /** How long a statement is tried again while the server cannot be reached. */
  patienceMs: number;
}

/** One for leases, one for writing, and two for reads: one that takes long holds up no other. */
export const LEAST_CONNECTIONS = 4;
/** PostgreSQL's type numbers for whole numbers of 64 bits and for text. */
const INT8 = 20;
const TEXT = new Set([25, 1043]);
const IDLE_MS = 30_000;
/** A connection for leases that is silent for longer is given up, in time to renew them over another one. */
const LEASE_ANSWER_MS = 3_000;
/** How long a process that starts looks for a server where nothing listens. */
const REACH_MS = 1_000;
const PAUSES_MS = [20, 100, 250, 500, 1_000];

interface Statement {
  text: string;
  values: readonly Value[];
  onRepeat?: (() => void) | undefined;
  /** How long it is tried while nothing listens at the address; as long as in other cases when left out. */
  absentMs?: number;
}

/**
 * The connections to one database: a bounded pool, and one connection for leases alone, which waits behind no read. Each
 * is set to the store's schema and time limits before its first use. A statement that only the connection failed is sent
 * again on another one, so everything that goes through `rows` may be done twice.
 */
export class Database {
  readonly #pool: Pool;
  readonly #leases: Pool;
  readonly #openApart: () => Promise<Client>;
  readonly #patienceMs: number;
  readonly #names = new Map<string, string>();
  #closing: Promise<void> | undefined;

  private constructor(
    { pool, leases, openApart }: { pool: Pool; leases: Pool; openApart: () => Promise<Client> },
    patienceMs: number,
  ) {
    this.#pool = pool;
    this.#leases = leases;
    this.#openApart = openApart;
    this.#patienceMs = patienceMs;
  }

  /** Opens nothing yet: the first statement connects. */
  static async create(options: DatabaseOptions): Promise<Database> {
    const { Client, Pool, types } = await loadDriver();
    const connection = {
      connectionString: options.connectionString,
      connectionTimeoutMillis: options.connectTimeoutMs,
      keepAlive: true,
      application_name: "sallyport",
      types: {
        getTypeParser: (oid: number, format?: "text" | "binary") =>
          oid === INT8 ? Number : TEXT.has(oid) ? decodeText : types.getTypeParser(oid, format as "text"),
      } as typeof types,
    };
    const pooled = {
      ...connection,
      // The server ends a statement first; this is for a server that does not answer at all.
      query_timeout: options.statementTimeoutMs + 5_000,
      idleTimeoutMillis: IDLE_MS,
      onConnect: (client: ClientBase) => prepareSession(client, options),
    };
    const [pool, leases] = [
      new Pool({ ...pooled, max: options.poolSize - 1 }),
      // Kept open: a lease is renewed by a statement, not by a new connection.
      new Pool({ ...pooled, max: 1, idleTimeoutMillis: 0, query_timeout: LEASE_ANSWER_MS }),
    ];
    // An idle connection that is lost is replaced when the next one is needed.
    for (const each of [pool, leases]) each.on("error", () => undefined);
    const openApart = async () => {
      const client = new Client(connection);
      client.on("error", () => undefined);
      try {
        await client.connect();
        await prepareSession(client, { ...options, statementTimeoutMs: 0 });
        return client;
      } catch (error) {
        await client.end().catch(() => undefined);
        throw error;
      }
    };
    return new Database({ pool, leases, openApart }, options.patienceMs);
  }

  /** The rows of one statement, text decoded and whole numbers as numbers. `onRepeat` is told before it is sent again. Rejects with E3914. */
  rows(text: string, values: readonly Value[] = [], onRepeat?: () => void): Promise<Row[]> {
    return this.#ask(this.#pool, { text, values, onRepeat });
  }

  /** The same over the connection that is kept for leases: nothing that takes long, or others count this process as gone. */
  leaseRows(text: string, values: readonly Value[]): Promise<Row[]> {
    return this.#ask(this.#leases, { text, values });
  }

  /** Resolves once the server answers. Rejects with E3914, soon where nothing listens: an address may be wrong. */
  async reach(): Promise<void> {
    await this.#ask(this.#pool, { text: "SELECT 1", values: [], absentMs: REACH_MS });
  }

  /** A connection for one owner, who gives it back with `release`; losing it fails its statements. Rejects with the driver's error. */
  connect(): Promise<PoolClient> {
    return this.#pool.connect();
  }

  /**
   * A connection outside of the pool, for work that takes as long as it takes: nothing is ended by a time limit, and no
   * call waits for its place. Its owner ends it. Rejects with the driver's error.
   */
  connectApart(): Promise<Client> {
    this.requireOpen();
    return this.#openApart();
  }

  /** Asks again, after a pause, while only the connection fails and patience lasts. Rejects with E3914. */
  async #ask(pool: Pool, { text, values, onRepeat, absentMs }: Statement): Promise<Row[]> {
    const query = { name: this.#nameOf(text), text, values: values.map(encoded) };
    const began = performance.now();
    const absent = Math.min(this.#patienceMs, absentMs ?? this.#patienceMs);
    for (let tries = 0; ; tries += 1) {
      this.requireOpen();
      try {
        return (await pool.query<Row>(query)).rows;
      } catch (error) {
        const isAnswer = fateOf(error) === "failed";
        const giveUpAt = began + (isAbsent(error) ? absent : this.#patienceMs);
        const mayHelp = !isAnswer && performance.now() < giveUpAt && !this.#closing;
        if (!mayHelp)
          throw failedBy(error, `PostgreSQL ${isAnswer ? "did not do what was asked" : "cannot be reached"}`);
        await pause(tries, giveUpAt);
        onRepeat?.();
      }
    }
  }

  requireOpen(): void {
    if (this.#closing) throw lost("The store has been closed.");
  }

  /** Refuses everything from now on, and resolves once `last` has ended and every connection is closed. */
  close(last: () => Promise<void>): Promise<void> {
    this.#closing ??= last().then(
      async () => void (await Promise.all([this.#pool.end(), this.#leases.end()])),
    );
    return this.#closing;
  }

  /** Statements are prepared once per connection, under a name for each text. */
  #nameOf(text: string): string {
    const known = this.#names.get(text) ?? `sallyport_${this.#names.size + 1}`;
    this.#names.set(text, known);
    return known;
  }
}

/**
 * A pause that grows with the number of tries, never the same for two processes, and not beyond the deadline. It keeps the
 * process alive: somebody waits for the statement, and without a connection nothing else may.
 */
export function pause(tries: number, deadline = Number.POSITIVE_INFINITY): Promise<void> {
  const longest = PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)] ?? 0;
  const left = Math.max(0, deadline - performance.now());
  return sleep(Math.min(left, longest * (0.5 + Math.random() / 2)));
}

/** A standby answers reads and refuses writes: it is not used at all, so that both see the same. */
async function prepareSession(client: ClientBase, options: DatabaseOptions): Promise<void> {
  // The pool listens to idle connections only. Without a listener, losing one that is in use would end the process.
  client.on("error", () => undefined);
  const { schema, statementTimeoutMs, lockTimeoutMs } = options;
  await client.query(`SET search_path TO "${schema}"; SET statement_timeout TO ${statementTimeoutMs};
    SET lock_timeout TO ${lockTimeoutMs}; SET idle_in_transaction_session_timeout TO ${statementTimeoutMs};
    SET default_transaction_isolation TO 'read committed'; SET client_encoding TO 'UTF8'`);
  const { rows } = await client.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
  if (rows[0]?.standby)
    throw Object.assign(new Error("the server is a standby and takes no writes"), { code: "25006" });
}

function encoded(value: Value): unknown {
  if (typeof value === "string") return encodeText(value);
  if (!Array.isArray(value)) return value;
  return value.map((one: string | number) => (typeof one === "string" ? encodeText(one) : one));
}
