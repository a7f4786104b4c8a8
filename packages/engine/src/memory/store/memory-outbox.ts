import type { OutboxMessage, PendingMessage } from "../../ports/outbox.ts";

/** Messages in the order they came; a position is never given twice. */
export class MemoryOutbox {
  #last = 0;
  #waiting: PendingMessage[] = [];

  append(messages: readonly OutboxMessage[]): void {
    for (const { callId, type } of messages) {
      this.#last += 1;
      this.#waiting.push({ callId, type, position: this.#last });
    }
  }

  pending(limit: number): PendingMessage[] {
    return this.#waiting.slice(0, limit).map((message) => ({ ...message }));
  }

  delivered(position: number): void {
    const kept = this.#waiting.findIndex((message) => message.position > position);
    this.#waiting = kept === -1 ? [] : this.#waiting.slice(kept);
  }
}
