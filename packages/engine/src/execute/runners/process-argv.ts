import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import type { ProcessProgram, RunFault } from "../../ports/runner.ts";

/** The kernel's limit for one argument (MAX_ARG_STRLEN), its end mark included. */
const MAX_ARGUMENT_BYTES = 131_071;
/** Well below what the kernel takes in all, because the sandbox's own arguments come on top. */
const MAX_COMMAND_BYTES = 1_048_576;
const PLACEHOLDER = /^\{([^{}]+?)(\.\.\.)?\}$/;

/** The program and its arguments, or why the input makes none. */
export type Argv = { ok: true; argv: string[] } | { ok: false; fault: RunFault };

/**
 * Puts a call's arguments into a command, element by element: never into a shell, and never into part of an element.
 * A value that begins with `-` is passed as it is, and a program may take it for an option: the author's schema, or a
 * `--` before it in the command, is the guard against that.
 */
export function programArgv({ command }: Pick<ProcessProgram, "command">, input: JsonValue): Argv {
  try {
    const elements = command.map((element) => fill(element, input));
    // One that is left out in the first place would make its neighbour the program.
    if (!elements[0]?.[0]) throw new WrongArgument("the command names no program");
    return { ok: true, argv: checkLength(elements.flat()) };
  } catch (error) {
    if (!(error instanceof WrongArgument)) throw error;
    return { ok: false, fault: { kind: "threw", message: error.message, invalidInput: true } };
  }
}

class WrongArgument extends Error {}

function fill(element: string, input: JsonValue): string[] {
  const [, name, list] = PLACEHOLDER.exec(element) ?? [];
  if (name === undefined) return [element];
  const value = isJsonObject(input) && Object.hasOwn(input, name) ? input[name] : undefined;
  if (value === undefined || value === null) return [];
  if (list === undefined) return [scalarText(name, value)];
  if (!Array.isArray(value)) throw new WrongArgument(`${name}: must be a list`);
  return value.map((item, index) => scalarText(`${name}[${index}]`, item));
}

function scalarText(name: string, value: JsonValue): string {
  if (typeof value === "object") throw new WrongArgument(`${name}: must be a string, a number or a boolean`);
  const text = String(value);
  if (text.includes("\0")) throw new WrongArgument(`${name}: must not contain a NUL character`);
  if (!text.isWellFormed()) throw new WrongArgument(`${name}: must not contain half a character`);
  if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return text;
  throw new WrongArgument(
    `${name}: is longer than ${MAX_ARGUMENT_BYTES} bytes, the most that one argument can have`,
  );
}

function checkLength(argv: string[]): string[] {
  const bytes = argv.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  if (bytes <= MAX_COMMAND_BYTES) return argv;
  throw new WrongArgument(`the arguments are longer than ${MAX_COMMAND_BYTES} bytes together`);
}
