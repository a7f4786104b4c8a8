import type { Conversations } from "@sallyport/loop";
import type { Step } from "./protocol.ts";

/** Takes a step in a conversation; throws unless it is accepted. */
export async function takeStep(
  conversations: Conversations,
  conversationId: string,
  step: Step,
): Promise<void> {
  if ((await perform(conversations, conversationId, step)) === false) {
    throw new Error(`Refused: ${JSON.stringify(step)}`);
  }
}

function perform(conversations: Conversations, conversationId: string, step: Step): Promise<unknown> {
  const { journal } = conversations;
  switch (step.do) {
    case "create":
      return conversations.create({
        ...{ conversationId, model: "m", cwd: "/", title: "" },
        ...{ createdAt: 1, updatedAt: 1 },
      });
    case "append":
      return conversations.append(conversationId, step.turns);
    case "open":
      return journal.open({ batchId: step.batchId, conversationId, model: "m", at: 1 });
    case "record":
      return journal.record(step.batchId, step.entry);
    case "seal":
      return journal.seal(step.batchId, step);
    case "result":
      return journal.result(step.batchId, step.index, step.result);
    case "close":
      return journal.close(step.batchId, step.turns);
  }
}
