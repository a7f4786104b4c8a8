import type { ChatCommands, ListedTool } from "../chat-commands.ts";
import { cleanLine } from "../state/clean.ts";
import type { Entry } from "../state/screen-state.ts";
import { COMMANDS, type CommandName, type Entered } from "./parse-entered.ts";

/** The commands there are here. */
export function offeredCommands(commands: ChatCommands): CommandName[] {
  const names = Object.keys(COMMANDS) as CommandName[];
  return names.filter((name) => name !== "mode" || commands.setMode !== undefined);
}

/** A command that only answers with text. */
export async function answerCommand(
  entered: Extract<Entered, { kind: "command" }>,
  commands: ChatCommands,
): Promise<Entry> {
  try {
    return { kind: "block", title: `/${entered.name}`, lines: await linesOf(entered, commands) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "notice", level: "error", text: `/${entered.name} did not work: ${cleanLine(why)}` };
  }
}

async function linesOf(
  { name, rest }: Extract<Entered, { kind: "command" }>,
  commands: ChatCommands,
): Promise<readonly string[]> {
  if (name === "tools") return toolLines(await commands.listTools());
  if (name === "approvals")
    return orNothing(await commands.listApprovals(), "Nothing waits, nothing is allowed beforehand.");
  if (name === "undo") return orNothing(await commands.undo(), "There is nothing to take back.");
  if (name === "mode") return (await commands.setMode?.(rest === "" ? undefined : rest)) ?? [];
  return helpLines(offeredCommands(commands));
}

function orNothing(lines: readonly string[], nothing: string): readonly string[] {
  return lines.length === 0 ? [nothing] : lines;
}

function toolLines(tools: readonly ListedTool[]): readonly string[] {
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  const wide = Math.max(0, ...tools.map(({ state }) => state.length));
  const lines = tools.map(
    ({ name, state, sideEffects, description }) =>
      `${name.padEnd(width)}  ${state.padEnd(wide)}  ${cleanLine(description)}${sideEffects ? " (changes things)" : ""}`,
  );
  return orNothing(lines, "There are no tools.");
}

/** What is said about a command that does not exist. */
export function unknownCommand({ name, nearest }: Extract<Entered, { kind: "unknown" }>): Entry {
  const meant = nearest === undefined ? "/help lists the commands." : `Did you mean /${nearest}?`;
  return { kind: "notice", level: "warning", text: `There is no command /${name}. ${meant}` };
}

const KEYS = [
  ["Enter", "send; Alt-Enter or a \\ at the end: new line"],
  ["Up, Down", "what was entered before"],
  ["PgUp, PgDn", "scroll the output of a running tool"],
  ["Ctrl-C", "stop what is under way; again: leave"],
  ["Ctrl-D", "leave, on an empty line"],
] as const;

/** What `/help` says. */
export function helpLines(offered: readonly CommandName[]): string[] {
  const commands = offered.map(
    (name) => [`/${name} ${COMMANDS[name][0]}`.trim(), COMMANDS[name][1]] as const,
  );
  return [...rows(commands), "", ...rows(KEYS)];
}

function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...pairs.map(([name]) => (name.length > 16 ? 0 : name.length)));
  return pairs.flatMap(([name, what]) =>
    name.length > width ? [name, `${" ".repeat(width)}  ${what}`] : [`${name.padEnd(width)}  ${what}`],
  );
}
