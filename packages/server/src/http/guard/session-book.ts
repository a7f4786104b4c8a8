import { hash, randomBytes } from "node:crypto";

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

/** The sessions of this process, in memory alone: a restart ends them. Secrets are kept as hashes. */
export class SessionBook {
  readonly lifeMs: number;
  readonly #most: number;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #sessions = new Map<string, Session>();

  constructor({ lifeMs = EIGHT_HOURS, most = MOST, now = Date.now }: SessionBookOptions = {}) {
    this.lifeMs = lifeMs;
    this.#most = most;
    this.#now = now;
  }

  /** A new session; its secret is given out here and never again. */
  open(name: string): { token: string; session: Session } {
    const token = `${SESSION_PREFIX}${randomBytes(SECRET_BYTES).toString("base64url")}`;
    const session = { id: hash("sha256", token), name, expiresAt: this.#now() + this.lifeMs };
    this.#sessions.set(session.id, session);
    this.#clean();
    return { token, session };
  }

  /** The session of a secret; undefined once it is over. */
  find(token: string): Session | undefined {
    const session = this.#sessions.get(hash("sha256", token));
    return session && this.has(session.id) ? session : undefined;
  }

  /** Whether that session goes on. */
  has(id: string): boolean {
    const session = this.#sessions.get(id);
    if (!session) return false;
    if (this.#now() < session.expiresAt) return true;
    this.#sessions.delete(id);
    return false;
  }

  /** Ends a session at once; nothing happens if it is over. */
  end(id: string): void {
    this.#sessions.delete(id);
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** All live equally long, so the oldest are the first to be over. */
  #clean(): void {
    for (const [id, { expiresAt }] of this.#sessions) {
      if (this.#sessions.size <= this.#most && this.#now() < expiresAt) return;
      this.#sessions.delete(id);
    }
  }
}
