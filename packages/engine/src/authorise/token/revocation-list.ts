import { type Failure, failure } from "@sallyport/protocol";

const FIRST_CLEANING = 1_024;

/** The tokens that are not accepted any more, by jti. One is forgotten only after it has expired for everybody. */
export class RevocationList {
  readonly #forgetAt = new Map<string, number>();
  #cleanAt = FIRST_CLEANING;

  /** Without a date it is never forgotten. A later date replaces an earlier one. */
  add(jti: string, forgetAt = Number.POSITIVE_INFINITY): void {
    this.#forgetAt.set(jti, Math.max(forgetAt, this.#forgetAt.get(jti) ?? 0));
  }

  has(jti: string): boolean {
    return this.#forgetAt.has(jti);
  }

  /** Forgets what expired before `at`, now and then, so that the list stays as long as what it has to know. */
  clean(at: number): void {
    if (this.#forgetAt.size < this.#cleanAt) return;
    for (const [jti, forgetAt] of this.#forgetAt) if (forgetAt < at) this.#forgetAt.delete(jti);
    this.#cleanAt = Math.max(FIRST_CLEANING, this.#forgetAt.size * 2);
  }
}

/** E3208, the same for every use of a revoked token. */
export function revokedToken(jti: string): Failure {
  return failure("E3208", { message: "The token was revoked.", details: { jti } });
}
