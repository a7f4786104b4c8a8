import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { failure, SallyportError } from "@sallyport/protocol";
import { linkPackage } from "../cli/link-package.ts";

/** What the templates call the worker; they are programs that run as they are. */
const PLACEHOLDER = "example-worker";
const TEMPLATES = fileURLToPath(new URL("../../templates/", import.meta.url));
/** What running a template in place leaves behind. */
const LEFTOVERS = new Set(["node_modules", "__pycache__"]);

/** How a worker in each language is tested and started. */
export const LANGUAGES = {
  ts: { title: "TypeScript", test: "npm test", start: "npm start" },
  python: { title: "Python", test: "python3 -m unittest", start: "python3 tool.py" },
  go: { title: "Go", test: "go test ./...", start: "go run ." },
} as const;
export type Language = keyof typeof LANGUAGES;

/** A name that fits a folder, a package, a host name in a compose file and a tool id. */
export const WORKER_NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export interface Scaffolded {
  folder: string;
  files: string[];
  /** Where the SDK was linked from; undefined where it is found without a link, or not needed. */
  linked: string | undefined;
  /** Its tests need the SDK, and it is not installed. */
  needsSdk: boolean;
}

/** Writes a worker into a folder that must not exist yet, or be empty; throws E3921 otherwise and leaves it as it is. */
export function scaffoldWorker(folder: string, language: Language): Scaffolded {
  refuseExisting(folder);
  mkdirSync(folder, { recursive: true });
  const filter = (path: string) => !LEFTOVERS.has(basename(path));
  for (const template of ["worker-common", `worker-${language}`]) {
    cpSync(join(TEMPLATES, template), folder, { recursive: true, filter });
  }
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => rename(folder, path, basename(folder)));
  const sdk = language === "ts" ? linkPackage(folder, "@sallyport/worker") : "found";
  const linked = typeof sdk === "string" ? undefined : sdk.to;
  return { folder, files: files.sort(), linked, needsSdk: sdk === "missing" };
}

function refuseExisting(folder: string): void {
  if (!existsSync(folder) || (statSync(folder).isDirectory() && readdirSync(folder).length === 0)) return;
  throw new SallyportError(
    failure("E3921", {
      message: `${folder} is there already.`,
      advice: "Choose another name: nothing is overwritten.",
    }),
  );
}

/** Puts the worker's own name into a file and into the name of the file. */
function rename(folder: string, path: string, name: string): string {
  const own = path.replaceAll(PLACEHOLDER, name);
  const text = readFileSync(join(folder, path), "utf8").replaceAll(PLACEHOLDER, name);
  writeFileSync(join(folder, path), text);
  if (own !== path) renameSync(join(folder, path), join(folder, own));
  return own;
}
