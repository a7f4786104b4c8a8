import { failure, SallyportError } from "@sallyport/protocol";
import type { Io } from "./io.ts";
import { readText } from "./read-input.ts";

const VARIABLE = "SALLYPORT_TOKEN";

/** The token from a file, standard input or the environment; never from the command line, which others can see. */
export async function readToken(given: string | undefined, io: Io): Promise<string | undefined> {
  if (given === undefined) return process.env[VARIABLE]?.trim() || undefined;
  if (given !== "-" && !given.startsWith("@")) {
    const message = "A token on the command line can be read by everybody on this machine.";
    const advice = `Give it as --token @file (with the @), --token - or in ${VARIABLE}.`;
    throw new SallyportError(failure("E3921", { message, advice }));
  }
  return (await readText(given, io)).trim();
}
