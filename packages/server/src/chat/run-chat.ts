import { text as readAll } from "node:stream/consumers";
import type { ToolsMode } from "@sallyport/loop";
import { failure, SallyportError } from "@sallyport/protocol";
import { inConversations } from "../cli/commands/conversations-opened.ts";
import { EXIT } from "../cli/exit-codes.ts";
import { interrupted } from "../cli/interrupted.ts";
import { hint } from "../cli/invoked-as.ts";
import { type Io, table, visible } from "../cli/io.ts";
import { type CommonOptions, Session } from "../cli/session.ts";
import { processEnvironment } from "../config/environment.ts";
import { printEvents, runScreen, ScreenPerson, showsColour, showsUnicode } from "../tui/index.ts";
import { chatCommandsOf } from "./chat-commands.ts";
import { type OpenChat, openChat } from "./open-chat.ts";

export interface ChatOptions extends CommonOptions {
  model?: string;
  cwd?: string;
  mode?: ToolsMode;
  resume?: string;
  recover?: "resume" | "discard";
  print?: string | true;
  plain?: boolean;
  color: boolean;
  list?: boolean;
}

/** One conversation at the command line; resolves with the exit code. */
export async function runChat(options: ChatOptions, io: Io): Promise<number> {
  const session = new Session(options, io);
  if (options.list) return await list(session);
  if (options.recover && options.print === undefined && io.stdout.isTTY) {
    const advice = "At a terminal you are asked when it is due; leave --recover out, or add --print.";
    throw new SallyportError(failure("E3921", { message: "--recover is for --print.", advice }));
  }
  const prints = options.print !== undefined || !io.stdout.isTTY;
  const person = new ScreenPerson();
  const text = prints ? await spoken(options, io) : undefined;
  const open = await openChat(
    { config: session.config, ...wishOf(options), ...(!prints && { person }) },
    session.caller({}).user ?? "operator",
  );
  for (const note of open.notes) session.output.note(visible(note));
  try {
    return text === undefined
      ? await show(open, { options, person, io })
      : await print(open, { text, recover: options.recover, io });
  } finally {
    const waiting = await open.close();
    if (waiting !== undefined) session.output.note(`! Events wait in the outbox: ${waiting}`);
  }
}

function wishOf({ model, cwd, mode, resume }: ChatOptions) {
  return {
    ...(model !== undefined && { model }),
    ...(cwd !== undefined && { cwd }),
    ...(mode && { mode }),
    ...(resume !== undefined && { resume }),
  };
}

/** What to say, when it is not typed. */
async function spoken({ print }: ChatOptions, { stdin }: Io): Promise<string> {
  const given = typeof print === "string" ? print : stdin.isTTY ? "" : await readAll(stdin);
  if (given.trim() !== "") return given.trim();
  const advice = "Give the text: sallyport chat --print 'Hello', or send it to standard input.";
  throw new SallyportError(failure("E3921", { message: "There is nothing to say to the model.", advice }));
}

async function show(
  open: OpenChat,
  { options, person, io }: { options: ChatOptions; person: ScreenPerson; io: Io },
): Promise<number> {
  const environment = processEnvironment();
  const { conversation, settings, model, cwd } = open;
  const code = await runScreen({
    door: conversation,
    person,
    turns: conversation.turns,
    info: () => ({
      model,
      mode: settings.mode,
      folder: cwd,
      ...(conversation.usedTokens !== undefined && { tokens: conversation.usedTokens }),
    }),
    commands: chatCommandsOf(open),
    io,
    options: {
      plain: options.plain === true || environment.TERM === "dumb",
      colour: options.color && showsColour(environment),
      unicode: showsUnicode(environment),
    },
  });
  io.stderr.write(hint(`Go on with: sallyport chat --resume ${conversation.id}\n`));
  return code;
}

async function print(
  { conversation }: OpenChat,
  { text, recover, io }: { text: string; recover: ChatOptions["recover"]; io: Io },
): Promise<number> {
  const { signal, done } = interrupted(io.stdout);
  signal.addEventListener("abort", () => conversation.cancel(), { once: true });
  try {
    return await printEvents({ door: conversation, text, recover, io });
  } finally {
    done();
  }
}

async function list(session: Session): Promise<number> {
  const found = await inConversations(session, ({ conversations }) => conversations.list({ limit: 50 }));
  const rows = found.map(({ conversationId, updatedAt, model, title }) => {
    return [conversationId, new Date(updatedAt).toISOString(), model, title];
  });
  const text = () => table([["ID", "LAST", "MODEL", "BEGAN WITH"], ...rows], "No conversation yet.");
  session.output.result(found, text);
  return EXIT.success;
}
