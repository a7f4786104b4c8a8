import { createSecureContext, type SecureContext } from "node:tls";
import type { Admission } from "./gate.ts";
import type { SandboxAuthority } from "./sandbox-authority.ts";

const MOST_KEPT = 64;

/** Ends TLS in a host's name, with certificates that only this sandbox trusts. */
export class Interception {
  readonly #authority: SandboxAuthority;
  readonly #contexts = new Map<string, SecureContext>();

  constructor(authority: SandboxAuthority) {
    this.#authority = authority;
  }

  /** What the sandbox must trust, as PEM. */
  get caCertificate(): string {
    return this.#authority.certificate;
  }

  contextFor(to: Admission["to"]): SecureContext {
    const kept = this.#contexts.get(to.name);
    if (kept) return kept;
    if (this.#contexts.size >= MOST_KEPT) this.#contexts.clear();
    const context = createSecureContext({ ...this.#authority.issue(to), minVersion: "TLSv1.2" });
    this.#contexts.set(to.name, context);
    return context;
  }
}
