import { text as readAll } from "node:stream/consumers";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { TOOLS_MODES, type ToolsMode } from "@sallyport/engine/loop";
import { failure, SallyportError } from "@sallyport/protocol";
import { Command, Option } from "commander";
import { chatCommandsOf } from "../../chat/chat-commands.ts";
import { type OpenChat, openChat } from "../../chat/open-chat.ts";
import { processEnvironment } from "../../config/environment.ts";
import { hasStore } from "../../has-store.ts";
import { printEvents, runScreen, ScreenPerson, showsColour, showsUnicode } from "../../tui/index.ts";
import { EXIT } from "../exit-codes.ts";
import { interrupted } from "../interrupted.ts";
import { type Io, table } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

interface ChatOptions extends CommonOptions {
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

const HELP = `
The model is offered the built-in file tools and every tool of the configuration. Mode parse_only (the default) shows its
calls and lets you supply the results; enabled checks them, asks you where that is due, and runs them:

  $ sallyport chat --model anthropic/claude-sonnet-4-5 --mode enabled
  $ sallyport chat --model ollama/qwen3 --cwd ~/project
  $ sallyport chat --resume last
  $ sallyport chat --model openai/gpt-5 --mode enabled --print 'What does this project do?' | jq -c .

Keys come from ANTHROPIC_API_KEY, OPENAI_API_KEY or models.providers (docs/models.md). In the conversation: /help.
Ctrl-C cancels what is under way, twice leaves. With --print, or when the output is no terminal, one turn is made and
every event is a line of JSON; nobody is asked, and what needs a person is denied.`;

/** `sallyport chat`: a conversation with a model whose tool calls go through the passage. */
export function chatCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("chat")
    .description("talk with a model that may use tools, with you at the door")
    .option("--model <provider/model>", "model to talk with (default: models.default)")
    .option("--cwd <folder>", "folder its tools work in (default: this one)")
    .addOption(new Option("--mode <mode>", "what becomes of tool calls").choices(TOOLS_MODES))
    .option("--resume <id>", "go on with an earlier conversation, or with the last")
    .addOption(
      new Option(
        "--recover <way>",
        "with --resume: what to do with a batch that a crash interrupted",
      ).choices(["resume", "discard"]),
    )
    .option("--print [text]", "one turn with JSON lines; the text, or standard input")
    .option("--plain", "line by line, for screen readers and simple terminals")
    .option("--no-color", "without colours")
    .option("--list", "list earlier conversations")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: ChatOptions) => finish(await chat(options, io)));
}

async function chat(options: ChatOptions, io: Io): Promise<number> {
  const session = new Session(options, io);
  if (options.list) return await list(session);
  const prints = options.print !== undefined || !io.stdout.isTTY;
  const person = new ScreenPerson();
  const text = prints ? await spoken(options, io) : undefined;
  const open = await openChat(
    { config: session.config, ...wishOf(options), ...(!prints && { person }) },
    session.caller({}).user ?? "operator",
  );
  try {
    if (options.recover && open.conversation.state.state === "recovery") {
      await open.conversation.recover(options.recover);
    }
    return text === undefined ? await show(open, { options, person, io }) : await print(open, text, io);
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
    turns: await conversation.turns(),
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
  io.stderr.write(`Go on with: sallyport chat --resume ${conversation.id}\n`);
  return code;
}

async function print({ conversation }: OpenChat, text: string, io: Io): Promise<number> {
  const { signal, done } = interrupted(io.stdout);
  signal.addEventListener("abort", () => conversation.cancel(), { once: true });
  try {
    return await printEvents({ door: conversation, text, io });
  } finally {
    done();
  }
}

async function list(session: Session): Promise<number> {
  const { stateFolder: folder, durability } = session.config;
  const found = hasStore(folder) ? await listed(folder, durability) : [];
  const rows = found.map(({ conversationId, updatedAt, model, title }) => {
    return [conversationId, new Date(updatedAt).toISOString(), model, title];
  });
  const text = () => table([["ID", "LAST", "MODEL", "BEGAN WITH"], ...rows], "No conversation yet.");
  session.output.result(found, text);
  return EXIT.success;
}

async function listed(folder: string, durability: "power" | "process") {
  const conversations = await openSqliteConversations({ folder, durability });
  try {
    return await conversations.list({ limit: 50 });
  } finally {
    await conversations.close();
  }
}
