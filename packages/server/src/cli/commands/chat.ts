import { TOOLS_MODES } from "@sallyport/loop";
import { Command, Option } from "commander";
import type { ChatOptions } from "../../chat/run-chat.ts";
import type { Io } from "../io.ts";
import { withCommonOptions } from "../session.ts";

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
    .description("chat with a model that can use tools; you approve the risky calls")
    .option("--model <provider/model>", "model to talk with (default: models.default)")
    .option("--cwd <folder>", "folder its tools work in (default: this one)")
    .addOption(new Option("--mode <mode>", "what becomes of tool calls").choices(TOOLS_MODES))
    .option("--resume <id>", "continue an earlier conversation, by id, start of id, or `last`")
    .addOption(
      new Option(
        "--recover <way>",
        "with --resume and --print: what to do with a batch that a crash interrupted",
      ).choices(["resume", "discard"]),
    )
    .option("--print [text]", "run one turn and print JSON lines; the text, or standard input")
    .option("--plain", "line by line, for screen readers and simple terminals")
    .option("--no-color", "without colours")
    .option("--list", "list earlier conversations")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: ChatOptions) => {
    // Not before it is wanted: screen and models are as large as all the rest together.
    const { runChat } = await import("../../chat/run-chat.ts");
    finish(await runChat(options, io));
  });
}
