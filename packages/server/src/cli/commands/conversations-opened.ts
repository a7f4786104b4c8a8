import type { Engine } from "@sallyport/engine";
import { createMemoryConversations } from "@sallyport/loop";
import { failure, SallyportError } from "@sallyport/protocol";
import { hasConversations, type Kept, openOutput } from "../../chat/keeping/index.ts";
import { openConversations, openPersistence } from "../../runtime/store.ts";
import type { Session } from "../session.ts";

/** Opens what is kept, for the time of `use`, also while a chat or a server has the folder. Makes no file. */
export async function inConversations<Result>(
  { config }: Session,
  use: (kept: Kept) => Promise<Result>,
): Promise<Result> {
  const { stateFolder: folder } = config;
  const conversations = hasConversations(folder)
    ? await openConversations(config)
    : createMemoryConversations();
  try {
    return await use({ conversations, output: openOutput(config).keeping });
  } finally {
    await conversations.close();
  }
}

/** Holds the state folder for the time of `use`, so that no chat is under way in it. E3915 when another process has it. */
export async function holdingFolder<Result>(
  { config }: Session,
  use: () => Promise<Result>,
): Promise<Result> {
  const persistence = await openPersistence(config, { needsStateFolder: true }).catch(advised);
  try {
    return await use();
  } finally {
    await persistence.close();
  }
}

/** As `holdingFolder`, with an engine: for what calls of a conversation have to be told. */
export async function holdingRuntime<Result>(
  session: Session,
  use: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  return await session.inRuntime(({ engine }) => use(engine), { needsStateFolder: true }).catch(advised);
}

function advised(error: unknown): never {
  if (!(error instanceof SallyportError) || error.failure.code !== "E3915") throw error;
  const { message, details } = error.failure;
  const advice =
    "Leave the chat (/quit) or stop the server that has it, then try again; list and show work meanwhile.";
  throw new SallyportError(failure("E3915", { message, advice, ...(details && { details }) }), {
    cause: error,
  });
}
