import { failure, nearestNames, SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { typeText } from "../../config/config-doc.ts";
import { type ConfigKey, configKeys } from "../../config/config-keys.ts";
import { expectedBy } from "../../config/expectation.ts";
import { type ConfigReading, readConfig } from "../../config/load.ts";
import { valueAt } from "../../config/overrides.ts";
import { propertiesOf } from "../../config/schema-tree.ts";
import { hint } from "../invoked-as.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { type CommonOptions, withCommonOptions } from "../session.ts";
import { originText, valueText } from "./config-values.ts";

/** `sallyport config explain`: what a key means, what it may be and what it is. */
export function explainCommand(io: Io): Command {
  const command = new Command("explain")
    .description("explain a key: meaning, allowed values, current value")
    .argument("[key]", "such as http.port; without it every key is listed");
  return withCommonOptions(command).action((key: string | undefined, options: CommonOptions) => {
    const output = new Output(io, options.json === true);
    if (key === undefined) return listKeys(output);
    const read = readConfig({ file: options.config, stateDir: options.stateDir, cwd: io.cwd });
    const explained = explanation(keyNamed(key), read);
    output.result(explained, () => explanationText(explained, output));
  });
}

function listKeys(output: Output): void {
  const keys = configKeys();
  const documents = keys.map(({ key, schema, default: preset, description }) => ({
    key,
    type: typeText(schema),
    default: preset ?? null,
    description,
  }));
  const rows = keys.map(({ key, default: preset, description }) => [
    key,
    preset === undefined ? "" : valueText(preset),
    description,
  ]);
  output.result(documents, () => table([["KEY", "DEFAULT", "MEANING"], ...rows], ""));
}

/** However it is written: with or without the marks of lists, in any case, or as its variable. */
function keyNamed(text: string): ConfigKey {
  const keys = configKeys();
  const wanted = plain(text);
  const found = keys.find(({ key, variable }) => plain(key) === wanted || variable === text.toUpperCase());
  if (found) return found;
  const steps = text.split(".").length;
  const alike = keys.map(({ key }) => key).filter((key) => key.split(".").length === steps);
  const near = nearestNames(text, alike);
  throw new SallyportError(
    failure("E3921", {
      message: `There is no key ${text}.`,
      advice:
        near.length > 0 ? `Did you mean ${near.join(", ")}?` : "`sallyport config explain` lists every key.",
    }),
  );
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/\[\d*\]|\.<name>/g, "");
}

interface Explanation {
  key: string;
  description: string;
  type: string;
  expected: string;
  default: unknown;
  /** Null where it is not one value that can be told. */
  current: { value: unknown; from: string } | null;
  variable: string | null;
  reloaded: boolean;
  keys: string[];
  configurationIsRight: boolean;
}

function explanation(found: ConfigKey, read: ConfigReading): Explanation {
  const { key, schema, description, path, variable, reloaded } = found;
  const current =
    path && read.ok
      ? { value: valueAt(read.config, path) ?? null, from: originText(read.originOf(path)) }
      : null;
  return {
    key,
    description,
    type: typeText(schema),
    expected: expectedBy(schema),
    default: found.default ?? null,
    current,
    variable: variable ?? null,
    reloaded,
    keys: propertiesOf(schema).map(([name]) => `${key}.${name}`),
    configurationIsRight: read.ok,
  };
}

function explanationText(explained: Explanation, output: Output): string {
  const { key, description, expected, default: preset, variable, reloaded, keys } = explained;
  const facts: [string, string | undefined][] = [
    ["expected", expected],
    ["default", keys.length > 0 ? undefined : preset === null ? "none" : valueText(preset)],
    ["now", currentText(explained)],
    ["variable", variable ?? "none: it stands in a list or under a name of your own"],
    ["a reload", reloaded ? "applies it" : "does not apply it; it counts from the next start"],
    ["keys", keys.length > 0 ? keys.join(", ") : undefined],
  ];
  const lines = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${`${name}:`.padEnd(10)} ${visible(value)}`],
  );
  return [output.style("bold", key), `  ${visible(description)}`, ...lines].join("\n");
}

function currentText({ current, configurationIsRight, keys }: Explanation): string | undefined {
  if (!configurationIsRight)
    return hint("nobody can tell: the configuration is wrong (sallyport config check)");
  if (!current || keys.length > 0) return undefined;
  return `${current.value === null ? "not set" : valueText(current.value)}, from ${current.from}`;
}
