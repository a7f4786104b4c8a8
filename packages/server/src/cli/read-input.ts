import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Io } from "./io.ts";

/** More than any input may have, so that a huge file or an endless pipe ends here. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The JSON a call is given: on the line, from `@file`, or from standard input with `-`. Throws E3921 with the place. */
export async function readInput(argument: string | undefined, io: Io): Promise<unknown> {
  if (argument === undefined) return {};
  const { text, source } = await fetchText(argument, io);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw bad(`${source} is not JSON: ${why}`);
  }
}

/** Text from `@file`, from standard input with `-`, or as it is. */
export async function readText(argument: string, io: Io): Promise<string> {
  return (await fetchText(argument, io)).text;
}

async function fetchText(argument: string, io: Io): Promise<{ text: string; source: string }> {
  if (argument === "-") return { text: await readAll(io.stdin, "Standard input"), source: "Standard input" };
  if (!argument.startsWith("@")) return { text: argument, source: "The input" };
  const file = resolve(io.cwd, argument.slice(1));
  try {
    // One byte more than allowed shows that there is too much, also of a device that never ends.
    return { text: await readAll(createReadStream(file, { end: MAX_BYTES }), file), source: file };
  } catch (error) {
    if (error instanceof SallyportError) throw error;
    throw unreadable(file, error);
  }
}

/** E3921 for a file on the line that cannot be read. */
export function unreadable(file: string, error: unknown): SallyportError {
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  const why = error instanceof Error ? error.message : String(error);
  const message = isMissing ? `There is no file ${file}.` : `${file} cannot be read: ${why}`;
  return new SallyportError(failure("E3921", { message, advice: "Name a file that this user may read." }));
}

async function readAll(stream: Readable, source: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    size += bytes.length;
    if (size > MAX_BYTES) throw bad(`${source} has more than ${MAX_BYTES} bytes.`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function bad(message: string): SallyportError {
  const advice = `Give the input as JSON: '{"a":2,"b":3}', @file.json, or - for standard input.`;
  return new SallyportError(failure("E3921", { message, advice }));
}
