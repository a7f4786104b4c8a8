import { hash, randomBytes } from "node:crypto";
import { type DocumentStore, Documents } from "../../runtime/documents.ts";

/** Tells a session from other credentials at sight. */
export const SESSION_PREFIX = "sps_";

const SECRET_BYTES = 32;
const EIGHT_HOURS = 8 * 60 * 60 * 1_000;
const MOST = 256;

/** A session of somebody who showed the operator key. */
export interface Session {
  /** Names it without giving it away: only who has the session's secret can come up with it. */
  id: string;
  name: string;
  expiresAt: number;
}

export interface SessionBookOptions {
  lifeMs?: number;
  /** Sessions at once; with one more, the oldest ends. */
  most?: number;
  now?: () => number;
}

/** The sessions, in the store: every process on it knows them, and a restart ends none. Secrets are kept as hashes. */
export class SessionBook {
  readonly lifeMs: number;
  readonly #most: number;
  readonly #now: () => number;
  readonly #sessions: Documents<Omit<Session, "id">>;

  constructor(
    store: DocumentStore,
    { lifeMs = EIGHT_HOURS, most = MOST, now = Date.now }: SessionBookOptions = {},
  ) {
    this.#sessions = new Documents(store, "session");
    this.lifeMs = lifeMs;
    this.#most = most;
    this.#now = now;
  }

  /** A new session; its secret is given out here and never again. */
  async open(name: string): Promise<{ token: string; session: Session }> {
    const token = `${SESSION_PREFIX}${randomBytes(SECRET_BYTES).toString("base64url")}`;
    const session = { id: hash("sha256", token), name, expiresAt: this.#now() + this.lifeMs };
    const { id, expiresAt } = session;
    await this.#sessions.put(id, { name, expiresAt }, { expiresAt });
    await this.#endOldest();
    return { token, session };
  }

  /** The session of a secret; undefined once it is over. */
  async find(token: string): Promise<Session | undefined> {
    return await this.#get(hash("sha256", token));
  }

  /** Whether that session goes on. */
  async has(id: string): Promise<boolean> {
    return (await this.#get(id)) !== undefined;
  }

  /** Ends a session at once; nothing happens if it is over. */
  async end(id: string): Promise<void> {
    await this.#sessions.delete([id]);
  }

  async #get(id: string): Promise<Session | undefined> {
    const found = await this.#sessions.get(id);
    return found && this.#now() < found.body.expiresAt ? { id, ...found.body } : undefined;
  }

  /** All live equally long, so the first to be over are the oldest. */
  async #endOldest(): Promise<void> {
    const all = await this.#sessions.list(2 * this.#most);
    const oldest = all.toSorted((one, other) => one.body.expiresAt - other.body.expiresAt);
    await this.#sessions.delete(oldest.slice(0, Math.max(0, all.length - this.#most)).map(({ id }) => id));
  }
}
