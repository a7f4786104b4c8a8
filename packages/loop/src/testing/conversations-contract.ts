import { afterEach, describe } from "vitest";
import { batchContract } from "./conversations-contract-batches.ts";
import { historyContract } from "./conversations-contract-history.ts";
import { keepingContract } from "./conversations-contract-keeping.ts";
import { randomStepsContract } from "./conversations-contract-random.ts";
import type { ConversationsFixture } from "./conversations-contract-samples.ts";
import { conversationTextsContract } from "./conversations-contract-texts.ts";

/**
 * What every keeper of conversations must do, as one suite: registers tests under `name` for those `make` makes.
 * `isReference`: they are the ones in memory, with which all others are compared.
 */
export function conversationsContract(
  name: string,
  make: () => Promise<ConversationsFixture>,
  { isReference = false }: { isReference?: boolean } = {},
): void {
  describe(`${name} keep the contract of conversations`, () => {
    const made: ConversationsFixture[] = [];
    afterEach(async () => {
      for (const fixture of made.splice(0)) await fixture.dispose();
    });
    const open = async () => {
      const fixture = await make();
      made.push(fixture);
      return fixture;
    };
    historyContract(open);
    batchContract(open);
    keepingContract(open);
    conversationTextsContract(open);
    if (!isReference) randomStepsContract(open);
  });
}
