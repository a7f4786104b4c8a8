import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { modelWindow, openModel, startStream } from "@sallyport/adapters/models";
import { systemClock, uuidV7 } from "@sallyport/engine";
import {
  asEnginePolicy,
  Conversation,
  type Conversations,
  type LoopParts,
  type LoopSettings,
  type LoopTool,
  OutputBudgets,
  type Person,
  type ToolsMode,
} from "@sallyport/loop";
import { type Caller, type Failure, failure, SallyportError } from "@sallyport/protocol";
import { findConversation } from "../cli/commands/find-conversation.ts";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { refuseInGateway } from "../gateway/gateway.ts";
import { must } from "../must.ts";
import { readSecret } from "../runtime/configured-secrets.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { openConversations } from "../runtime/store.ts";
import { chatGrant, chatTools, shelveChatTools } from "./chat-tools.ts";
import { EVERY_ONE, type Kept, openOutput, tidyUp } from "./keeping/index.ts";
import { loopSettingsOf, retentionOf, withRoomForArguments } from "./loop-settings-of.ts";

export interface ChatWish {
  config: LoadedConfig;
  /** `provider/model`; left out: the conversation's own, or the configured default. */
  model?: string;
  /** The folder of the conversation, absolute or from where the command was called. */
  cwd?: string;
  mode?: ToolsMode;
  /** An earlier conversation by its id, or the unique beginning of one, or `last`. */
  resume?: string;
  /** Whom to ask; left out: nobody is there. */
  person?: Person;
}

/** A conversation, and all that is open for it. */
export interface OpenChat {
  conversation: Conversation;
  runtime: Runtime;
  tools: readonly LoopTool[];
  settings: LoopSettings;
  model: string;
  cwd: string;
  caller: Caller;
  /** What was tidied up, or could not be. */
  notes: readonly string[];
  close(): Promise<string | undefined>;
}

const AGENT = "chat";

/** Opens the server and a conversation in it. Throws with a code when model, folder or conversation cannot be had. */
export async function openChat(wish: ChatWish, user: string): Promise<OpenChat> {
  const { config } = wish;
  const conversations = await openConversations(config);
  try {
    return await openWith(conversations, wish, user);
  } catch (error) {
    await conversations.close();
    throw error;
  }
}

async function openWith(conversations: Conversations, wish: ChatWish, user: string): Promise<OpenChat> {
  const { config } = wish;
  refuseInGateway(config, "`sallyport chat`, with its built-in tools,");
  const earlier = await earlierOne(conversations, wish.resume);
  const cwd = folderAt(wish.cwd ?? earlier?.cwd ?? config.place.cwd, config);
  const reference = wish.model ?? earlier?.model ?? config.models.default;
  if (reference === undefined) throw noModel();
  let conversation: Conversation | undefined;
  const startModel = modelAt(reference, config, ({ message }, waitMs) => {
    conversation?.notice(`${message} Asking again in ${Math.ceil(waitMs / 1_000)} s.`);
  });
  const settings = loopSettingsOf(config, {
    mode: wish.mode,
    window: modelWindow(reference, config.models.providers),
  });
  const outputBudgets = new OutputBudgets();
  const { spill, keeping } = openOutput(config);
  const caller = { tenant: config.caller.tenant, agent: AGENT, user };
  const environment = processEnvironment();
  const faced = chatTools({ config, cwd, environment, reads: conversations.reads, outputBudgets, spill });
  let offered: LoopTool[] = [];
  const runtime = await openRuntime({
    config: withRoomForArguments(config),
    project: cwd,
    // Conversations are on this machine, and one process at a time goes on with them.
    needsStateFolder: true,
    grants: [chatGrant(caller, faced)],
    policies: [
      asEnginePolicy(
        () => settings.policy,
        nameIn(() => offered),
      ),
    ],
  });
  const close = async () => {
    const waiting = await runtime.close();
    await conversations.close();
    return waiting;
  };
  try {
    // Not before the server is open: then nobody else has a chat here.
    const notes = await tidied(
      { conversations, output: keeping },
      { config, spare: earlier?.conversationId },
    );
    offered = await shelveChatTools(runtime.engine, faced);
    const parts: LoopParts = {
      engine: runtime.engine,
      conversations,
      model: reference,
      startModel,
      caller,
      project: cwd,
      tools: offered,
      manual: config.loop.definitions.map(({ parameters, ...rest }) => ({
        ...rest,
        inputSchema: parameters,
      })),
      settings,
      outputBudgets,
      spill,
      clock: systemClock,
      ids: uuidV7(() => Date.now()),
      ...(wish.person && { person: wish.person }),
    };
    conversation = earlier
      ? must(await Conversation.reopen(earlier.conversationId, parts, { cwd }))
      : Conversation.begin(parts, { cwd });
    await startServices(runtime, conversation);
    return { conversation, runtime, tools: offered, settings, model: reference, cwd, caller, notes, close };
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

/** A chat is a process that stays: it also does the background work of a server. It goes on where that cannot be had. */
async function startServices({ config, startServices }: Runtime, conversation: Conversation): Promise<void> {
  const log = {
    info: () => undefined,
    warn: (_facts: object, message: string) => conversation.notice(message),
  };
  await startServices({ log, publicUrl: config.http.publicUrl }).catch((error: unknown) =>
    conversation.notice(`Background work is off: ${error instanceof Error ? error.message : String(error)}`),
  );
}

function tidied(
  kept: Kept,
  { config, spare }: { config: LoadedConfig; spare: string | undefined },
): Promise<string[]> {
  return tidyUp(kept, { rules: retentionOf(config), spare, now: Date.now });
}

async function earlierOne(conversations: Conversations, wanted: string | undefined) {
  if (wanted === undefined) return undefined;
  return must(findConversation(wanted, await conversations.list({ limit: EVERY_ONE })));
}

function folderAt(path: string, { place }: LoadedConfig): string {
  try {
    const folder = realpathSync(resolve(place.cwd, path));
    if (statSync(folder).isDirectory()) return folder;
  } catch {
    // Told below, in words of ours.
  }
  throw new SallyportError(failure("E3919", { message: `There is no folder ${path}.` }));
}

function noModel(): SallyportError {
  const advice =
    "Name one, such as --model anthropic/claude-sonnet-4-5 or --model ollama/qwen3, or set models.default.";
  return new SallyportError(failure("E3919", { message: "No model is chosen.", advice }));
}

function modelAt(
  reference: string,
  config: LoadedConfig,
  retrying: (error: Failure, waitMs: number) => void,
): LoopParts["startModel"] {
  const model = must(
    openModel(reference, {
      providers: config.models.providers,
      environment: processEnvironment(),
      secret: (at) => readSecret(at, config.folder),
    }),
  );
  return (options) => {
    const signal = options.abortSignal ?? new AbortController().signal;
    return startStream(model, options, { signal, retrying });
  };
}

/** The model's name for a tool of the engine. */
function nameIn(tools: () => readonly LoopTool[]) {
  return (tool: string, operation: string): string | undefined =>
    tools().find((one) => one.tool === tool && (one.operation ?? operation) === operation)?.name;
}
