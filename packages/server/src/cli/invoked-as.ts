import { accessSync, constants, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { type Environment, processEnvironment } from "../config/environment.ts";

const NAME = "sallyport";
/** The name as a message writes it before a command, an option or a placeholder; not a path, and not `npx sallyport`. */
const COMMAND = /(?<![\w/.@'-]|npx )sallyport(?= [a-z<[-])/g;

/** A text for a person with each `sallyport …` in it as the reader can paste it. Never for data or for documents. */
export function hint(text: string): string {
  const [, script] = process.argv;
  return text.replaceAll(COMMAND, () => invokedAs(script, processEnvironment()));
}

/** How this command was started: `sallyport`, `npx sallyport`, or the path of the program. `sallyport` where nobody can tell. */
export function invokedAs(script: string | undefined, environment: Environment): string {
  if (script === undefined || basename(script, ".js") !== NAME) return NAME;
  const isLinkOfNpm = dirname(script).endsWith(join("node_modules", ".bin"));
  if (isLinkOfNpm && environment.npm_command !== undefined) return `npx ${NAME}`;
  const found = onPath(environment.PATH);
  if (found !== undefined && found === realPath(script)) return NAME;
  return isExecutable(script) ? shellWord(script) : `node ${shellWord(script)}`;
}

/** One word for a shell, quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[\w/.:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The program that a shell would run for the name. */
function onPath(path = ""): string | undefined {
  const places = path.split(delimiter).filter(Boolean);
  const first = places.map((folder) => join(folder, NAME)).find(isExecutable);
  return first === undefined ? undefined : realPath(first);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
