import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = "@sallyport/engine";

/** The tool that `sallyport init` writes: small, harmless, and complete. */
export const EXAMPLE_TOOL = {
  id: "greet",
  module: "./tools/greet.mts",
  text: `import { defineTool } from "${PACKAGE}/tool";

const $schema = "https://json-schema.org/draft/2020-12/schema";

/** An example to begin with. Change it and send the server SIGHUP; change its version when you change its schemas. */
export const greet = defineTool({
  id: "greet",
  version: "1.0.0",
  name: "Greet",
  description: "Says hello to somebody.",
  sideEffects: "none",
  limits: { timeoutMs: 30_000 },
  input: {
    $schema,
    type: "object",
    description: "Whom to greet",
    properties: {
      name: { type: "string", description: "A name", minLength: 1, maxLength: 100, examples: ["Ada"] },
    },
    required: ["name"],
    additionalProperties: false,
  },
  output: {
    $schema,
    type: "object",
    description: "What was said",
    properties: { greeting: { type: "string", description: "The greeting" } },
    required: ["greeting"],
    additionalProperties: false,
  },
  run: ({ name }: { name: string }) => ({ greeting: \`Hello, \${name}!\` }),
});
`,
} as const;

/**
 * Sees to it that modules in the folder find the package tools are made with. Where nothing is installed there it is
 * linked to the one that runs now, as `npm link` does. Gives back the link it made; undefined when none was needed.
 */
export function linkEngine(folder: string): { link: string; to: string } | undefined {
  if (isFound(folder)) return undefined;
  const link = join(folder, "node_modules", PACKAGE);
  const to = packageFolder();
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(to, link, "junction");
  return { link, to };
}

function isFound(folder: string): boolean {
  try {
    createRequire(join(folder, "tools", "any.mjs")).resolve(`${PACKAGE}/tool`);
    return true;
  } catch {
    return false;
  }
}

/** Where the package is that this process uses. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.resolve(`${PACKAGE}/tool`)));
  while (!isPackage(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function isPackage(folder: string): boolean {
  const file = join(folder, "package.json");
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).name === PACKAGE;
}
