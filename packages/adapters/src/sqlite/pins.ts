import type { StateScope, StateSnapshot } from "@sallyport/engine";

/** The state versions somebody in this process still stands on, so that the writer keeps what they can see. */
export class Pins {
  readonly #scopes = new Map<string, Set<StateSnapshot>>();

  hold(snapshot: StateSnapshot): void {
    const name = nameOf(snapshot.scope);
    const held = this.#scopes.get(name) ?? new Set();
    this.#scopes.set(name, held.add(snapshot));
  }

  release(snapshot: StateSnapshot): void {
    const name = nameOf(snapshot.scope);
    const held = this.#scopes.get(name);
    held?.delete(snapshot);
    if (held?.size === 0) this.#scopes.delete(name);
  }

  /** Each version once. */
  versions(scope: StateScope): number[] {
    const held = this.#scopes.get(nameOf(scope)) ?? [];
    return [...new Set(Array.from(held, ({ version }) => version))];
  }
}

function nameOf({ tenant, tool }: StateScope): string {
  return JSON.stringify([tenant, tool]);
}
