import type { Clock } from "@sallyport/engine/ports";
import { type DocumentStore, Documents } from "../runtime/documents.ts";

/** How far a notice is, for all processes on the store. */
interface NoticeState {
  tries: number;
  /** Until then one process is at it, or nobody needs to try. */
  heldUntil: number;
  isOver?: true;
}

/** What a process that wants to tell a notice learns. */
export type NoticeTurn =
  | { kind: "ours"; tries: number }
  /** It was told, or given up. */
  | { kind: "over" }
  | { kind: "later"; at: number };

/** Longer than one try takes. A process that dies meanwhile leaves the notice to the others afterwards. */
const HOLD_MS = 60_000;

/** Sees to it that one process at a time tells a notice, and none once it was told. Rejects when the store is lost. */
export class NoticeClaims {
  readonly #states: Documents<NoticeState>;
  readonly #clock: Clock;

  constructor(store: DocumentStore, clock: Clock) {
    this.#states = new Documents(store, "approval-notice");
    this.#clock = clock;
  }

  /** Takes the next try of a notice; what is known of it is forgotten at `expiresAt`. */
  async take(id: string, expiresAt: number): Promise<NoticeTurn> {
    const now = this.#clock.now();
    const found = await this.#states.get(id);
    const { tries = 0, heldUntil = 0, isOver } = found?.body ?? {};
    if (isOver) return { kind: "over" };
    if (now < heldUntil) return { kind: "later", at: Math.min(heldUntil, now + HOLD_MS) };
    const next = { tries: tries + 1, heldUntil: now + HOLD_MS };
    const isOurs = await this.#states.put(id, next, { expect: found?.revision ?? 0, expiresAt });
    return isOurs ? { kind: "ours", tries: next.tries } : { kind: "later", at: now + HOLD_MS };
  }

  /** The try failed: the next one is due then. */
  async retryAt(
    id: string,
    { tries, at, expiresAt }: { tries: number; at: number; expiresAt: number },
  ): Promise<void> {
    await this.#states.put(id, { tries, heldUntil: at }, { expiresAt });
  }

  /** Nobody tells it any more. */
  async end(id: string, expiresAt: number): Promise<void> {
    await this.#states.put(id, { tries: 0, heldUntil: 0, isOver: true }, { expiresAt });
  }
}
