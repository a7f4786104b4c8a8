import { stripTypeScriptTypes } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** Everything beside this engine: its own lines are never what is wrong with an author's module. */
const OWN = new URL("../../../../", import.meta.url).href;
const MAX_FRAMES = 100;

/** The text of a file of the module; undefined where it cannot be read. */
type ReadText = (path: string) => string | undefined;

/** Why a module could not be loaded, beginning with `file:line:column` where that is known. Runs nothing of the module. */
export function loadProblem(error: unknown, moduleUrl: string, readText: ReadText): string {
  const why = error instanceof Error ? error.message : String(error);
  const missing = /^Cannot find (?:module|package) '(.+)' imported from (.+)$/.exec(why);
  if (missing?.[1] === fileURLToPath(moduleUrl)) return "there is no such file";
  const place = missing ? importPlace(missing, readText) : thrownPlace(error, moduleUrl, readText);
  return place === undefined ? why : `${place} ${why}`;
}

function thrownPlace(error: unknown, moduleUrl: string, readText: ReadText): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const stack = String(error.stack);
  const known = shownPlace(stack) ?? framePlace(stack);
  if (known !== undefined || error.name !== "SyntaxError") return known;
  const text = readText(fileURLToPath(moduleUrl));
  return text === undefined ? undefined : parsedPlace(text, moduleUrl);
}

/** Where Node shows the line, with carets below the place. */
function shownPlace(stack: string): string | undefined {
  const [, url = "", line, before = ""] =
    /^(file:\/\/\/\S+):(\d+)\n(?:.*\n){1,20}?([ \t]*)\^/.exec(stack) ?? [];
  return line && `${fileURLToPath(url)}:${line}:${before.length + 1}`;
}

/** The author's line that was running. */
function framePlace(stack: string): string | undefined {
  for (const frame of stack.split("\n").slice(0, MAX_FRAMES)) {
    const [, url = "", place] = /(file:\/\/\/[^\s()]+?):(\d+:\d+)\)?$/.exec(frame) ?? [];
    if (place && !url.startsWith(OWN) && !url.includes("/node_modules/"))
      return `${fileURLToPath(url)}:${place}`;
  }
  return undefined;
}

/** Where V8 does not say the place: what the parser of types says about the same text. */
function parsedPlace(text: string, sourceUrl: string): string | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    stripTypeScriptTypes(text, { sourceUrl });
    return undefined;
  } catch (error) {
    return shownPlace(String(error instanceof Error ? error.stack : error));
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The line that imports what is not there. */
function importPlace([, wanted = "", importer = ""]: RegExpExecArray, readText: ReadText): string {
  const name = basename(wanted);
  const lines = readText(importer)?.split("\n") ?? [];
  const line = lines.findIndex((text) => text.includes(`${name}"`) || text.includes(`${name}'`));
  return line < 0 ? importer : `${importer}:${line + 1}:${(lines[line] ?? "").indexOf(name) + 1}`;
}
