import type { ReadClaims } from "./claims.ts";

interface Entry {
  token: string;
  read: ReadClaims;
}

/** Characters of the signature that find an entry; 190 bits of it, so that two tokens do not meet by chance. */
const KEY_CHARS = 32;

/**
 * What verified tokens said. An entry is found by the end of its signature, which spares hashing the whole token, and
 * counts only if the whole token is the same. Only tokens whose signature held come in here. Holds at most its capacity
 * and forgets what was not asked for longest.
 */
export class ClaimsCache {
  readonly #entries = new Map<string, Entry>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(token: string): ReadClaims | undefined {
    const key = keyOf(token);
    const known = this.#entries.get(key);
    if (known === undefined || known.token !== token) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known.read;
  }

  set(token: string, read: ReadClaims): void {
    if (this.#capacity <= 0) return;
    this.#entries.set(keyOf(token), { token, read });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(token: string): void {
    this.#entries.delete(keyOf(token));
  }

  /** Drops every token whose jti is in the list. */
  drop(jtis: ReadonlySet<string>): void {
    for (const [key, { read }] of this.#entries) if (jtis.has(read.claims.jti)) this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}

function keyOf(token: string): string {
  return token.slice(-KEY_CHARS);
}
