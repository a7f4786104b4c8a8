import type { Revocation } from "../../ports/tokens.ts";

/** Revoked tokens by name. The first revocation of a token stays as it was. */
export class MemoryRevocations {
  readonly #revoked = new Map<string, Revocation>();

  put(revocation: Revocation): void {
    if (!this.#revoked.has(revocation.jti)) this.#revoked.set(revocation.jti, { ...revocation });
  }

  all(): Revocation[] {
    return [...this.#revoked.values()].map((revocation) => ({ ...revocation }));
  }
}
