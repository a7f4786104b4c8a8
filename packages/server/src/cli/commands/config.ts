import type { Issue } from "@sallyport/protocol";
import { Command } from "commander";
import { configJsonSchema } from "../../config/config-doc.ts";
import { type ConfigReading, readConfig, wrongConfig } from "../../config/load.ts";
import { EXIT } from "../exit-codes.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { failureText } from "../render-answer.ts";
import { type CommonOptions, withCommonOptions } from "../session.ts";
import { explainCommand } from "./config-explain.ts";
import { moduleIssues, referenceIssues } from "./config-references.ts";
import { type ConfigValue, configValues, isChanged, originText, valueText } from "./config-values.ts";

const HELP = `
A value comes from the defaults, the file, the environment or a flag: the last one that says something counts.
  $ sallyport config check                      is it right, and what differs from the defaults?
  $ sallyport config check --all                every value, and where it comes from
  $ sallyport config explain http.port          what a key means, and what it is set to
  $ sallyport config schema > sallyport.schema.json   for editors`;

/** `sallyport config`: what the configuration says, and whether it is right. */
export function configCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("config")
    .description("check and explain the configuration")
    .addHelpText("after", HELP);
  command.addCommand(checkCommand(io, finish));
  command.addCommand(explainCommand(io));
  command.addCommand(schemaCommand(io));
  return command;
}

function schemaCommand(io: Io): Command {
  return new Command("schema").description("print the JSON Schema of sallyport.yaml").action(() => {
    void new Output(io, true).data(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  });
}

interface CheckOptions extends CommonOptions {
  all?: boolean;
}

type RightReading = Extract<ConfigReading, { ok: true }>;

/** `sallyport config check`: whether a start would accept the configuration, and what it says. */
function checkCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("check")
    .description("check the configuration and show what differs from the defaults")
    .option("--all", "every value, and where it comes from");
  return withCommonOptions(command).action(async (options: CheckOptions) => {
    const output = new Output(io, options.json === true);
    const read = readConfig({ file: options.config, stateDir: options.stateDir, cwd: io.cwd });
    const issues = read.ok ? await issuesOf(read) : read.issues;
    if (read.ok && issues.length === 0) return tellRight(read, { output, all: options.all === true });
    tellWrong({ file: read.file, issues }, output);
    finish(EXIT.badUsage);
  });
}

/** Modules are loaded only once everything that they need is right. */
async function issuesOf(read: RightReading): Promise<Issue[]> {
  const issues = referenceIssues(read);
  return issues.length > 0 ? issues : await moduleIssues(read);
}

function tellWrong({ file, issues }: { file: string | undefined; issues: Issue[] }, output: Output): void {
  const document = { valid: false, file: file ?? null, issues };
  output.result(document, () => failureText(wrongConfig(issues).failure, output));
}

function tellRight(read: RightReading, { output, all }: { output: Output; all: boolean }): void {
  const values = configValues(read);
  const changed = values.filter(isChanged);
  const { file, stateFolder } = read.config;
  const document = {
    valid: true,
    file: file ?? null,
    stateFolder,
    changed,
    ...(all && { values: values.map((entry) => ({ ...entry, value: entry.value ?? null })) }),
  };
  output.result(document, () =>
    [
      `${output.style("green", "✓")} ${visible(file ?? "There is no file: everything is a default")}${file ? " is right." : "."}`,
      visible(`  State is kept in ${stateFolder}.`),
      "",
      all ? valueTable(values) : changedText(changed),
    ].join("\n"),
  );
}

function changedText(changed: readonly ConfigValue[]): string {
  if (changed.length === 0) return "Everything is a default.";
  return `Different from the defaults:\n${valueTable(changed)}`;
}

function valueTable(values: readonly ConfigValue[]): string {
  const rows = values.map(({ key, value, origin }) => [key, valueText(value), originText(origin)]);
  return table([["KEY", "VALUE", "FROM"], ...rows], "");
}
