import { isDeepStrictEqual } from "node:util";
import type { Conversations } from "@sallyport/loop";
import { createMemoryConversations } from "@sallyport/loop";
import type { Report, Step } from "./protocol.ts";
import { takeStep } from "./take-step.ts";

/**
 * What must be on disk, by what the victims said: every acknowledged step, and of the one that was under way at the
 * death all or nothing. Whichever it was is what the next life goes on from.
 */
export class Expected {
  readonly #kept = createMemoryConversations();
  /** Steps under way when their process died, by conversation. */
  readonly #open = new Map<string, Step>();
  acknowledged = 0;
  /** Of the steps under way, how many turned out to be taken, and how many not. */
  readonly underWay = { taken: 0, untaken: 0 };

  async hear(reports: Report[]): Promise<void> {
    for (const report of reports) {
      if (report.report === "does") this.#open.set(report.conversationId, report.step);
      if (report.report === "did") await this.#acknowledge(report.conversationId);
    }
  }

  /** Every way in which what is on disk differs from what must be. */
  async breaches(found: Conversations, conversationIds: string[]): Promise<string[]> {
    const wrong: string[] = [];
    for (const id of conversationIds) {
      const step = this.#open.get(id);
      this.#open.delete(id);
      if (await this.#isSame(found, id)) {
        if (step) this.underWay.untaken += 1;
        continue;
      }
      if (step) await takeStep(this.#kept, id, step);
      if (step) this.underWay.taken += 1;
      if (!(await this.#isSame(found, id))) wrong.push(await describe(this.#kept, found, id));
    }
    return wrong;
  }

  async #acknowledge(conversationId: string): Promise<void> {
    const step = this.#open.get(conversationId);
    if (!step) throw new Error(`${conversationId} acknowledges what it did not begin.`);
    this.#open.delete(conversationId);
    await takeStep(this.#kept, conversationId, step);
    this.acknowledged += 1;
  }

  async #isSame(found: Conversations, id: string): Promise<boolean> {
    return isDeepStrictEqual(await contentOf(found, id), await contentOf(this.#kept, id));
  }
}

async function contentOf(conversations: Conversations, id: string) {
  return {
    record: await conversations.get(id),
    turns: await conversations.turns(id),
    batch: await conversations.journal.openOf(id),
  };
}

async function describe(kept: Conversations, found: Conversations, id: string): Promise<string> {
  const [expected, actual] = [await contentOf(kept, id), await contentOf(found, id)];
  const [turns, batch] = [actual.turns.length, JSON.stringify(actual.batch)];
  return `${id}: ${turns} turns and ${batch} instead of ${expected.turns.length} and ${JSON.stringify(expected.batch)}`;
}
