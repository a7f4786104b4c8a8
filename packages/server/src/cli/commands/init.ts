import { relative, resolve } from "node:path";
import { Command } from "commander";
import { hint } from "../invoked-as.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { type InitStep, initFolder } from "./init-steps.ts";
import { EXAMPLE_TOOL } from "./init-tool.ts";

interface InitOptions {
  force?: boolean;
  stateDir?: string;
  json?: boolean;
}

/** `sallyport init`: a folder with a configuration, keys and an example tool, ready for `sallyport serve`. */
export function initCommand(io: Io, _finish: (code: number) => void): Command {
  return new Command("init")
    .description("create a configuration, keys and an example tool; overwrites nothing")
    .argument("[folder]", "where (default: this folder)", ".")
    .option("--force", "replace an existing sallyport.yaml; nothing else is replaced")
    .option("--state-dir <folder>", "state folder (default: .sallyport next to the configuration)")
    .option("--json", "print one JSON document instead of text")
    .action(async (folder: string, { force = false, stateDir, json = false }: InitOptions) => {
      const output = new Output(io, json);
      const path = resolve(io.cwd, folder);
      const steps = await initFolder({
        folder: path,
        force,
        stateDir: stateDir === undefined ? undefined : resolve(io.cwd, stateDir),
      });
      output.result({ folder: path, steps }, () => initText(steps, { path, cwd: io.cwd }));
    });
}

function initText(steps: readonly InitStep[], { path, cwd }: { path: string; cwd: string }): string {
  const kept = steps.filter(({ done }) => done === "kept");
  const rows = steps.map(({ done, path: file, what }) => [`  ${done}`, file, what]);
  const lines = [`In ${path}:`, table([["", "", ""], ...rows], "").replace(/^.*\n/, "")];
  if (kept.length > 0) lines.push("", "What was there stays as it is.");
  if (kept.some(({ path: file }) => file === "sallyport.yaml")) {
    lines.push("To begin anew with the example: sallyport init --force");
  }
  const elsewhere = relative(cwd, path);
  const exampleIsThere = steps.some(({ path: file }) => `./${file}` === EXAMPLE_TOOL.module);
  lines.push(
    "",
    "Next:",
    ...(elsewhere === "" ? [] : [`  $ cd ${elsewhere}`]),
    "  $ sallyport serve                          start the server",
    ...(exampleIsThere
      ? [`  $ sallyport call ${EXAMPLE_TOOL.id} '{"name":"Ada"}'     or call the tool from here`]
      : []),
    "  $ sallyport config explain                 what else can be set",
  );
  return visible(hint(lines.join("\n")));
}
