import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { modelWindow, openModel, startStream } from "@sallyport/adapters/models";
import { openSpill, openSpillKeeping } from "@sallyport/adapters/spill";
import { type Conversations, systemClock, uuidV7 } from "@sallyport/engine";
import {
  asEnginePolicy,
  CallRooms,
  Conversation,
  type LoopParts,
  type LoopSettings,
  type LoopTool,
  type Person,
  type ToolsMode,
} from "@sallyport/engine/loop";
import { type Caller, type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import { type OpenHouse, openHouse } from "../compose.ts";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { readSecret } from "../configured-secrets.ts";
import { chatGrant, chatTools, shelveChatTools } from "./chat-tools.ts";
import { outputFolderIn, tidyUp } from "./keeping/index.ts";
import { loopSettingsOf, retentionOf, withRoomForArguments } from "./loop-settings-of.ts";

export interface ChatWish {
  config: LoadedConfig;
  /** `provider/model`; left out: the conversation's own, or the configured default. */
  model?: string;
  /** The folder of the conversation, absolute or from where the command was called. */
  cwd?: string;
  mode?: ToolsMode;
  /** An earlier conversation, or `last`. */
  resume?: string;
  /** Whom to ask; left out: nobody is there. */
  person?: Person;
}

/** A conversation, and all that is open for it. */
export interface OpenChat {
  conversation: Conversation;
  house: OpenHouse;
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

/** Opens the house and a conversation in it. Throws with a code when model, folder or conversation cannot be had. */
export async function openChat(wish: ChatWish, user: string): Promise<OpenChat> {
  const { config } = wish;
  const conversations = await openSqliteConversations({
    folder: config.stateFolder,
    durability: config.durability,
  });
  try {
    return await openWith(conversations, wish, user);
  } catch (error) {
    await conversations.close();
    throw error;
  }
}

async function openWith(conversations: Conversations, wish: ChatWish, user: string): Promise<OpenChat> {
  const { config } = wish;
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
  const rooms = new CallRooms();
  const spill = openSpill(outputFolderIn(config.stateFolder));
  const caller = { tenant: config.caller.tenant, agent: AGENT, user };
  const environment = processEnvironment();
  const faced = chatTools({ config, cwd, environment, reads: conversations.reads, rooms, spill });
  let offered: LoopTool[] = [];
  const house = await openHouse({
    config: withRoomForArguments(config),
    project: cwd,
    grants: [chatGrant(caller, faced)],
    policies: [
      asEnginePolicy(
        () => settings.policy,
        nameIn(() => offered),
      ),
    ],
  });
  const close = async () => {
    const waiting = await house.close();
    await conversations.close();
    return waiting;
  };
  try {
    // Not before the house is open: then nobody else has a chat here.
    const notes = await tidied(conversations, { config, spare: earlier?.conversationId });
    offered = await shelveChatTools(house.engine, faced);
    const parts: LoopParts = {
      engine: house.engine,
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
      rooms,
      spill,
      clock: systemClock,
      ids: uuidV7(() => Date.now()),
      ...(wish.person && { person: wish.person }),
    };
    conversation = earlier
      ? must(await Conversation.reopen(earlier.conversationId, parts, { cwd }))
      : Conversation.begin(parts, { cwd });
    return { conversation, house, tools: offered, settings, model: reference, cwd, caller, notes, close };
  } catch (error) {
    await house.close();
    throw error;
  }
}

function tidied(
  conversations: Conversations,
  { config, spare }: { config: LoadedConfig; spare: string | undefined },
): Promise<string[]> {
  const output = openSpillKeeping(outputFolderIn(config.stateFolder));
  return tidyUp({ conversations, output }, { rules: retentionOf(config), spare, now: Date.now });
}

async function earlierOne(conversations: Conversations, id: string | undefined) {
  if (id === undefined) return undefined;
  const found = id === "last" ? (await conversations.list({ limit: 1 }))[0] : await conversations.get(id);
  if (found) return found;
  const message = id === "last" ? "There is no conversation yet." : `There is no conversation ${id}.`;
  const advice = "See those there are with `sallyport chat --list`.";
  throw new SallyportError(failure("E3917", { message, advice }));
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

function must<Value extends object>(value: Value | Failure): Value {
  if (!isFailure(value)) return value;
  throw new SallyportError(value);
}
