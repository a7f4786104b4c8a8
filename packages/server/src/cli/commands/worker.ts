import { resolve } from "node:path";
import { failure, isJsonObject, type JsonObject, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import { processEnvironment } from "../../config/environment.ts";
import type { Check } from "../../conformance/check.ts";
import { workerSecretOf } from "../../gateway/gateway.ts";
import { exchange } from "../../worker-kit/post.ts";
import {
  LANGUAGES,
  type Language,
  type Scaffolded,
  scaffoldWorker,
  WORKER_NAME,
} from "../../worker-kit/scaffold.ts";
import { verifyWorker } from "../../worker-kit/verify-worker.ts";
import { EXIT } from "../exit-codes.ts";
import { hint } from "../invoked-as.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { readInput } from "../read-input.ts";

/** `sallyport worker`: begin a worker, and check one against the envelope. */
export function workerCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("worker").description(
    "begin a worker in any language, and check a running one",
  );
  command.addCommand(newCommand(io));
  command.addCommand(verifyCommand(io, finish));
  return command;
}

interface NewOptions {
  lang: Language;
  json?: boolean;
}

function newCommand(io: Io): Command {
  return new Command("new")
    .description("write a worker with one tool, a test, a Dockerfile and its entry for a domain's manifest")
    .argument("<name>", "name of the folder and of the tool: small letters, digits and -", workerName)
    .addOption(new Option("--lang <language>", "its language").choices(Object.keys(LANGUAGES)).default("ts"))
    .option("--json", "print one JSON document instead of text")
    .action((name: string, { lang, json = false }: NewOptions) => {
      const made = scaffoldWorker(resolve(io.cwd, name), lang);
      new Output(io, json).result({ name, language: lang, ...made }, () => newText(name, lang, made));
    });
}

function workerName(text: string): string {
  if (WORKER_NAME.test(text)) return text;
  throw new InvalidArgumentError("A name has small letters, digits and -, and begins with a letter.");
}

/** An input that the tool of a new worker takes. */
const EXAMPLE_INPUT = '{"text":"two words"}';
const EXAMPLE_SLOW_INPUT = '{"text":"two words","pause_ms":5000}';

function newText(name: string, language: Language, { files, linked, needsSdk }: Scaffolded): string {
  const { title, test, start } = LANGUAGES[language];
  const install = needsSdk ? ["  $ npm install TARBALLS/sallyport-{protocol,worker}-*.tgz"] : [];
  const lines = [
    `A worker in ${title} in ${name}:`,
    ...files.map((file) => `  ${file}`),
    ...(linked === undefined ? [] : [`  node_modules/@sallyport/worker, a link to ${linked}`]),
    "",
    "Next:",
    `  $ cd ${name}`,
    ...install,
    `  $ ${test}`,
    `  $ ${start}`,
    "Then, in another terminal:",
    "  $ sallyport worker verify http://127.0.0.1:8080 \\",
    `      --input '${EXAMPLE_INPUT}' --slow-input '${EXAMPLE_SLOW_INPUT}'`,
    "And for a gateway, with the folder of its domain as DOMAIN:",
    `  $ cp -r ${name}/schemas DOMAIN/ && cat ${name}/manifest-entry.yaml >> DOMAIN/manifest.yaml`,
    "  $ sallyport domain check DOMAIN",
  ];
  return visible(hint(lines.join("\n")));
}

interface VerifyOptions {
  tool?: string;
  input?: string;
  slowInput?: string;
  json?: boolean;
}

const VERIFY_HELP = `
Every check is made by requests to the worker, on connections of their own. The tool runs about fifty times with the
input, so take one that does no harm.
  $ sallyport worker verify http://127.0.0.1:8080 --input '${EXAMPLE_INPUT}'
  $ sallyport worker verify http://127.0.0.1:8080 --tool word-count --input @input.json --json
A worker that was started with WORKER_SECRET or WORKER_SECRET_FILE needs the same variable here.
Exit code 0: every check passed. 1: one did not. 2: nothing answers there.`;

function verifyCommand(io: Io, finish: (code: number) => void): Command {
  return new Command("verify")
    .description("check a running worker, in whatever language, against the envelope")
    .argument(
      "<url>",
      "its address, such as http://127.0.0.1:8080; /run and /healthz are below it",
      workerUrl,
    )
    .option("--tool <id>", "which tool, for a worker that has several")
    .option("--input <json>", "an input that succeeds: JSON, @file or - (default: {})")
    .option(
      "--slow-input <json>",
      "one that succeeds only after a second or more; tries what a deadline does",
    )
    .option("--json", "print one JSON document instead of text")
    .addHelpText("after", VERIFY_HELP)
    .action(async (url: URL, options: VerifyOptions) => {
      const output = new Output(io, options.json === true);
      await refuseSilence(url);
      const checks = await verifyWorker({
        url,
        toolId: options.tool,
        input: await inputOf(options.input ?? "{}", io),
        secret: workerSecretOf(processEnvironment()),
        slowInput: options.slowInput === undefined ? undefined : await inputOf(options.slowInput, io),
      });
      const passed = checks.filter((check) => check.passed).length;
      output.result({ url: url.href, passed, total: checks.length, checks }, () =>
        checksText(checks, output),
      );
      finish(passed === checks.length ? EXIT.success : EXIT.toolFailed);
    });
}

function workerUrl(text: string): URL {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError("Give an http or https address, such as http://127.0.0.1:8080.");
}

async function inputOf(argument: string, io: Io): Promise<JsonObject> {
  const value = await readInput(argument, io);
  if (isJsonObject(value)) return value;
  throw new SallyportError(failure("E3921", { message: "The input of a tool is a JSON object." }));
}

/** Ten failed checks would say the same ten times. */
async function refuseSilence(url: URL): Promise<void> {
  try {
    await exchange(url, undefined);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `Nothing answers at ${url.href}: ${why}`;
    const advice = "Start the worker, and give the address that it prints.";
    throw new SallyportError(failure("E3921", { message, advice }), { cause: error });
  }
}

function checksText(checks: readonly Omit<Check, "section">[], { style }: Output): string {
  const rows = checks.map(({ id, title, passed, evidence }) => [passed ? "✓" : "✗", id, title, evidence]);
  const marked = table([["", "CHECK", "RULE", "SEEN"], ...rows], "")
    .replaceAll(/^✓/gm, style("green", "✓"))
    .replaceAll(/^✗/gm, style("red", "✗"));
  return `${marked}\n\n${checks.filter(({ passed }) => passed).length} of ${checks.length} checks passed`;
}
