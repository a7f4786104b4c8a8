import type { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters, styleText } from "node:util";
import { hint } from "./invoked-as.ts";

/** Where a command reads and writes; the process's own streams, or a test's. */
export interface Io {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  cwd: string;
  /** Where a server hears SIGTERM, SIGINT and SIGHUP; the process when left out. */
  signals?: EventEmitter;
}

/** Control characters (but tab and line break) and characters that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is for
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text from a tool, a caller or a file, safe for a terminal: what could move the cursor or hide something is spelt out. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (hidden) => `\\u${hidden.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

type Style = "bold" | "dim" | "green" | "red" | "yellow" | "cyan";

/** Prints for a person or, with `--json`, for a program: then exactly one JSON document goes to stdout. */
export class Output {
  readonly json: boolean;
  readonly #io: Io;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
  }

  /** A result: the value with `--json`, the text without. */
  result(value: unknown, text: () => string): void {
    const { stdout } = this.#io;
    stdout.write(`${this.json ? visible(JSON.stringify(value, null, 2)) : shownOn(stdout, text())}\n`);
  }

  /** Raw lines for a pipe, the same with and without `--json`. Resolves once they are written; false: nobody reads on. */
  data(text: string): Promise<boolean> {
    return new Promise((resolve) => this.#io.stdout.write(text, (error) => resolve(!error)));
  }

  /** A message to the person, with its commands as hints; never on stdout, so that pipes stay clean. */
  note(text: string): void {
    this.#io.stderr.write(`${shownOn(this.#io.stderr, hint(text))}\n`);
  }

  /** Always styled: only `result` and `note` know which stream the text goes to, and whether that one shows styles. */
  style(style: Style, text: string): string {
    return styleText(style, text, { validateStream: false });
  }
}

/** Text of other people has no control characters left by now (`visible`): what is taken away here are styles. */
function shownOn(stream: Writable, text: string): string {
  const showsStyles = styleText("bold", "x", { stream }) !== "x";
  return showsStyles ? text : stripVTControlCharacters(text);
}

/** Rows in aligned columns; an empty table says so in words, which may be a hint. */
export function table(rows: readonly (readonly string[])[], empty: string): string {
  if (rows.length <= 1) return hint(empty);
  const cells = rows.map((row) => row.map((cell) => visible(cell).replaceAll(/\s+/g, " ")));
  return align(cells);
}

function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}
