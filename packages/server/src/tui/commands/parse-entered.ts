/** Every command, with what it takes and does, in the order `/help` lists them. */
export const COMMANDS = {
  help: ["", "what can be entered and pressed"],
  tools: ["", "the tools of this conversation"],
  approvals: ["", "what waits for an answer, and what is allowed beforehand"],
  undo: ["", "take back the last change to files"],
  tool: ["<id> <result> | error <id> <message>", "give a pending call its result"],
  mode: ["[name]", "show or change how tools are treated"],
  clear: ["", "empty the screen; the conversation goes on"],
  quit: ["", "leave"],
} as const satisfies Record<string, readonly [string, string]>;

export type CommandName = keyof typeof COMMANDS;

/** What the person entered. */
export type Entered =
  | { kind: "nothing" }
  | { kind: "say"; text: string }
  | { kind: "command"; name: CommandName; rest: string }
  | { kind: "unknown"; name: string; nearest?: CommandName };

const ALIASES: Record<string, CommandName> = { exit: "quit", q: "quit", h: "help", "?": "help" };

/** Tells commands from what is for the model; `//` says something that begins with a slash. */
export function parseEntered(line: string, offered: readonly CommandName[]): Entered {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  if (text.startsWith("//")) return { kind: "say", text: text.slice(1) };
  const [, name, rest = ""] = /^\/(\S*)\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined) return { kind: "say", text };
  const known = offered.find((one) => one === (ALIASES[name] ?? name));
  if (known !== undefined) return { kind: "command", name: known, rest };
  const nearest = nearestOf(name, offered);
  return { kind: "unknown", name, ...(nearest !== undefined && { nearest }) };
}

function nearestOf(name: string, offered: readonly CommandName[]): CommandName | undefined {
  const ranked = offered.map((one) => ({
    one,
    far: one.startsWith(name) ? 1 : distance(name.slice(0, 32), one),
  }));
  const best = ranked.sort((a, b) => a.far - b.far)[0];
  return name !== "" && best !== undefined && best.far <= 2 ? best.one : undefined;
}

/** How many letters have to be put in, left out or changed. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [at, other] of [...to].entries()) {
      const change = (row[at] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
