import { resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { Command } from "commander";
import { type DevReport, runDev } from "../../dev/run-dev.ts";
import { type Io, Output, visible } from "../io.ts";

interface DevCommandOptions {
  domain: string;
  port?: string;
  config?: string;
  json?: boolean;
}

const HELP = `
Starts the processes that dev.yaml of the package names, each at a free port, and a gateway that finds them there. Their
lines go to stderr; a worker that dies is started again. SIGHUP lets the gateway read the package again, Ctrl-C ends all of
them. State is in a temporary folder, which is removed in the end.
  $ sallyport dev --domain domains/example_domain
  $ sallyport dev --domain domains/example_domain --port 0 --json`;

/** `sallyport dev`: a domain with its workers on this machine, as processes instead of containers. */
export function devCommand(io: Io, _finish: (code: number) => void): Command {
  return new Command("dev")
    .description("run a gateway and the workers of its domain on this machine")
    .requiredOption("--domain <folder>", "folder of the domain package")
    .option("--port <number>", "port of the gateway; 0: any that is free (http.port)")
    .option("--config <file>", "configuration of the gateway (default: none, everything is a default)")
    .option("--json", "print one JSON document instead of text, once everything runs")
    .addHelpText("after", HELP)
    .action(async ({ domain, port, config, json = false }: DevCommandOptions) => {
      const output = new Output(io, json);
      await runDev({
        folder: resolve(io.cwd, domain),
        gatewayWords: [
          ...(port === undefined ? [] : ["--port", port]),
          ...(config === undefined ? [] : ["--config", resolve(io.cwd, config)]),
        ],
        tell: prefixedLines(output),
        onOpen: (report) => output.result(report, () => openText(report, output)),
        ...(io.signals && { signals: io.signals }),
      });
    });
}

const COLOURS = ["cyan", "green", "yellow", "red"] as const;
const NAME_WIDTH = 16;

/** Each process has its own colour, in the order in which they speak. */
function prefixedLines(output: Output): (name: string, line: string) => void {
  const colours = new Map<string, (typeof COLOURS)[number]>();
  return (name, line) => {
    const colour = colours.get(name) ?? COLOURS[colours.size % COLOURS.length] ?? "cyan";
    colours.set(name, colour);
    const prefix = output.style(colour, `${visible(name).padEnd(NAME_WIDTH)} |`);
    output.note(`${prefix} ${visible(stripVTControlCharacters(line))}`);
  };
}

function openText({ url, domain, curl, processes }: DevReport, { style }: Output): string {
  return [
    style("bold", `The gateway of ${visible(`${domain.id} ${domain.version}`)} is open at ${url}`),
    ...processes.map((one) => `  ${visible(one.name).padEnd(NAME_WIDTH)} ${one.url} (process ${one.pid})`),
    ...(curl === null ? [] : ["", "Try it:", `  ${visible(curl)}`]),
    "",
    "Ctrl-C ends all of it.",
  ].join("\n");
}
