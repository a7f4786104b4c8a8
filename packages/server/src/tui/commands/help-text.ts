import { COMMANDS, type CommandName } from "./parse-entered.ts";

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
