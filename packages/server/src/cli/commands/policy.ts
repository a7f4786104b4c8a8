import { resolve } from "node:path";
import type { CompiledPolicy } from "@sallyport/engine";
import {
  type Failure,
  failure,
  ISOLATION_LEVELS,
  isFailure,
  RISKS,
  SallyportError,
  SIDE_EFFECTS,
  TOOL_CATEGORIES,
} from "@sallyport/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import { backtest } from "../../policy/backtest.ts";
import { backtestText } from "../../policy/backtest-text.ts";
import { type CallQuestion, questionedCall } from "../../policy/call-question.ts";
import { explainAll, explanationText } from "../../policy/explain-all.ts";
import { decideBy, loadPolicies, policyFilesOf, presetOf } from "../../policy/in-force.ts";
import { loadPolicyFile } from "../../policy/load-policy.ts";
import { readMoment, recentCalls } from "../../policy/recent-calls.ts";
import { EXIT } from "../exit-codes.ts";
import { type Io, visible } from "../io.ts";
import { readInput } from "../read-input.ts";
import { failureText } from "../render-answer.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const MAX_CALLS = 100_000;

/** `sallyport policy`: try rules before they are in force, and see why a call is decided as it is. */
export function policyCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("policy").description(
    "test rules files, explain decisions, try rules on past calls",
  );
  command.addCommand(testCommand(io, finish));
  command.addCommand(explainCommand(io));
  command.addCommand(backtestCommand(io, finish));
  return command;
}

function testCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("test")
    .description("check rules files and try the examples of every rule")
    .argument("[files...]", "rules files (default: those of the configuration)");
  return withCommonOptions(command).action((given: string[], options: CommonOptions) => {
    const session = new Session(options, io);
    const results = filesFor(given, session).map((file) => ({ file, loaded: loadPolicyFile(file) }));
    session.output.result(results.map(testDocument), () =>
      results.map((result) => testText(result, session)).join("\n"),
    );
    finish(results.some(({ loaded }) => isFailure(loaded)) ? EXIT.badUsage : EXIT.success);
  });
}

/** The files on the command line, else those of the configuration; throws (E3921) when there are none. */
function filesFor(given: readonly string[], { config, io }: Session): string[] {
  const files = given.length > 0 ? given.map((file) => resolve(io.cwd, file)) : policyFilesOf(config);
  if (files.length > 0) return files;
  const advice = "Name a rules file, or put one under policy.files in sallyport.yaml.";
  throw new SallyportError(failure("E3921", { message: "There is no rules file to look at.", advice }));
}

interface Tested {
  file: string;
  loaded: CompiledPolicy | Failure;
}

function testDocument({ file, loaded }: Tested) {
  if (isFailure(loaded)) return { file, ok: false, error: loaded };
  const { version, tier, defaultEffect, rules } = loaded;
  return { file, ok: true, version, tier, default: defaultEffect, rules };
}

function testText({ file, loaded }: Tested, { output }: Session): string {
  if (isFailure(loaded)) return `${output.style("red", "✗")} ${failureText(loaded, output)}`;
  const { version, tier, defaultEffect, rules } = loaded;
  const heading = `${file} · version ${version} · ${tier} · default ${defaultEffect}`;
  const lines = rules.map(({ id, effect, examples }) => {
    const counts = `${examples.match} match, ${examples.not} not`;
    return `  ${output.style("green", "✓")} ${visible(`${effect.padEnd(5)} ${id} (${counts})`)}`;
  });
  return [visible(heading), ...lines].join("\n");
}

interface ExplainOptions extends CommonOptions, Omit<CallQuestion, "tool" | "input"> {
  file?: string[];
}

const EXPLAIN_HELP = `
Decides a call that nobody makes, and says which rules apply and why. What the tool's manifest says is used where the tool
is known; the flags go before it, so that "what if" can be asked:
  $ sallyport policy explain db.write '{"env":"prod"}' --agent did:agent:7
  $ sallyport policy explain not.yet.there --risk critical --side-effects external --file rules.yaml`;

function explainCommand(io: Io): Command {
  const command = new Command("explain")
    .description("explain how the policy decides a call")
    .argument("<tool>", "id, or id@version")
    .argument("[input]", "input as JSON, @file, or - for standard input (default: {})")
    .option("--operation <name>", "which of the tool's operations")
    .option("--agent <id>", "agent that would call")
    .option("--tenant <id>", "tenant that would call")
    .option("--user <id>", "user the call would be for")
    .option("--user-verified", "assume that a token proved the user")
    .option("--session <id>", "session of the call")
    .option("--at <time>", "when (default: now)", moment)
    .addOption(new Option("--risk <risk>", "what if it had this risk").choices(RISKS))
    .addOption(new Option("--side-effects <kind>", "what if it had these").choices(SIDE_EFFECTS))
    .addOption(new Option("--category <category>", "what if it were one of these").choices(TOOL_CATEGORIES))
    .addOption(
      new Option("--isolation <level>", "what if it ran so (default: LEVEL_0)").choices(ISOLATION_LEVELS),
    )
    .option("--tags <tags...>", "assume these tags on the tool")
    .option("--capabilities <names...>", "assume that the tool needs these capabilities")
    .option("--file <files...>", "rules files (default: those of the configuration, and its preset)")
    .addHelpText("after", EXPLAIN_HELP);
  return withCommonOptions(command).action(
    async (tool: string, input: string | undefined, { file, ...options }: ExplainOptions) => {
      const session = new Session(options, io);
      const policies = explained(file, session);
      const given = await readInput(input, io);
      const { call, unknown } = await questionedCall({ ...options, tool, input: given }, session);
      if (unknown) session.output.note(`! ${failureText(unknown, session.output)}`);
      const explanation = explainAll(policies, call);
      session.output.result({ ...explanation, known: unknown === undefined }, () =>
        explanationText(explanation, session.output),
      );
    },
  );
}

/** The files on the command line alone, or everything of the configuration that answers at once. */
function explained(given: readonly string[] | undefined, session: Session) {
  const preset = given === undefined ? presetOf(session.config) : undefined;
  const none = given === undefined && preset !== undefined && policyFilesOf(session.config).length === 0;
  const files = none ? [] : filesFor(given ?? [], session);
  return { files: loadPolicies(files), preset };
}

interface BacktestOptions extends CommonOptions {
  limit: number;
  since?: number;
  failOnFlip?: boolean;
}

const BACKTEST_HELP = `
Every recorded call is decided by the rules in force (policy.files and policy.preset of the configuration; OPA and ABAC are
not asked) and by the candidate. Nothing is run and nothing is written.
  $ sallyport policy backtest new-rules.yaml --since 7d --fail-on-flip`;

function backtestCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("backtest")
    .description("apply a rules file to recorded calls and list the decisions that change")
    .argument("[file]", "rules file to try")
    .option("--limit <calls>", `how many of the newest calls to check, 1 to ${MAX_CALLS}`, count, 1_000)
    .option("--since <time>", "only calls since then: a time, or 30m, 24h, 7d ago", moment)
    .option("--fail-on-flip", "exit 1 when a decision changes")
    .addHelpText("after", BACKTEST_HELP);
  return withCommonOptions(command).action(async (file: string | undefined, options: BacktestOptions) => {
    const session = new Session(options, io);
    if (file === undefined) throw nothingToTry();
    const candidate = decideBy(loadPolicies([resolve(io.cwd, file)]));
    if (!candidate) throw new TypeError("one file makes one policy");
    const preset = presetOf(session.config);
    const inForce = decideBy([...loadPolicies(policyFilesOf(session.config)), ...(preset ? [preset] : [])]);
    const records = await session.reading((store) => recentCalls(store.calls, options));
    const report = await session.inCatalogue(async (tools) =>
      backtest(records, {
        inForce,
        candidate,
        toolOf: ({ tool, version, operation }) => {
          const found = tools.resolve({ tool, version, operation });
          return isFailure(found) ? undefined : found;
        },
      }),
    );
    session.output.result(report, () => backtestText(report, inForce !== undefined));
    finish(options.failOnFlip && report.flips.length > 0 ? EXIT.toolFailed : EXIT.success);
  });
}

function nothingToTry(): SallyportError {
  const message =
    "There are no candidate rules: those in force are compared with a rules file that you name.";
  const advice =
    "Copy a file of policy.files, change it, then: sallyport policy backtest new-rules.yaml --since 7d";
  return new SallyportError(failure("E3921", { message, advice }));
}

function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= MAX_CALLS) return number;
  throw new InvalidArgumentError(`a whole number from 1 to ${MAX_CALLS}`);
}

function moment(text: string): number {
  const at = readMoment(text, Date.now());
  if (at !== undefined) return at;
  throw new InvalidArgumentError("a time such as 2026-01-31T22:00:00Z, or 30m, 24h, 7d ago");
}
