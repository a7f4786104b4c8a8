import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { Admission } from "./gate.ts";
import type { Lane } from "./lane.ts";
import type { Parts } from "./parts.ts";
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

/** Ends the client's TLS here; each request inside is then forwarded to that host, and only there. */
export function intercept(parts: Parts, lane: Lane, admission: Admission): void {
  if (!parts.interception) throw new Error("a rule asks for interception, but nothing was prepared for it");
  lane.bound = admission;
  lane.expectHead(parts.limits.headMs);
  const secured = new TLSSocket(lane.socket, {
    isServer: true,
    secureContext: parts.interception.contextFor(admission.to),
    ALPNProtocols: ["http/1.1"],
  });
  parts.lanes.set(secured, lane);
  // A client that distrusts the certificate ends here; "close" follows and releases everything.
  secured.on("error", () => lane.socket.destroy());
  secured.once("close", () => lane.socket.destroy());
  parts.http.emit("connection", secured);
}
