import { createEngine, grantAuthority } from "@sallyport/engine";
import { Command } from "commander";
import { type Check, runChecks } from "../../conformance/check.ts";
import { INTEGRATION_CHECKS } from "../../conformance/integration-checks.ts";
import { RUNTIME_CHECKS } from "../../conformance/runtime-checks.ts";
import { checkTools } from "../../conformance/tool-checks.ts";
import { tryIsolation } from "../../runtime/isolation.ts";
import { sampleInput } from "../../serve/sample-input.ts";
import { EXIT } from "../exit-codes.ts";
import { type Io, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const HELP = `
Each box is answered by a check that is made now, not by a claim. Tools are judged by their kept manifests and by what
a misbehaving probe can do in the runner that runs them; runtime and integration by real calls on a private engine in
memory. Nothing is written to the state folder. Of your tools only those are run, twice, that declare to be deterministic
or idempotent and no effects outside, with made-up input and state in memory.

  [x]  seen to hold; the evidence says how
  [ ]  not seen to hold; the evidence says what is missing

  $ sallyport conformance
  $ sallyport conformance --json | jq '.boxes[] | select(.passed | not)'
Exit code 0: every box holds. 1: one does not.`;

const SECTIONS = {
  tool: "Tools",
  runtime: "Runtime",
  integration: "Integration",
} as const satisfies Record<Check["section"], string>;

/** `sallyport conformance`: the compliance checklist, each box from a real check (R1-9). */
export function conformanceCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("conformance")
    .description("run the compliance checklist and print what each check saw")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const checks = await runAllChecks(session);
    const passed = checks.filter((check) => check.passed).length;
    const document = { boxes: checks, passed, total: checks.length };
    session.output.result(document, () => checklist(checks, session));
    finish(passed === checks.length ? EXIT.success : EXIT.toolFailed);
  });
}

async function runAllChecks(session: Session): Promise<Check[]> {
  const make = createEngine;
  const ofTools = await session.inCatalogue((tools) => checkTools(tools, make, sampleInput));
  const ofRuntime = await runChecks(RUNTIME_CHECKS, make);
  const authority = grantAuthority(session.config.grants);
  const ofIntegration = await tryIsolation(session.config, ({ rules, runners }) =>
    runChecks(INTEGRATION_CHECKS, { make, authority, sandbox: { isolation: rules, runners } }),
  );
  return [...ofTools, ...ofRuntime, ...ofIntegration];
}

function checklist(checks: Check[], session: Session): string {
  const sections = Object.entries(SECTIONS).map(([section, title]) => {
    const own = checks.filter((check) => check.section === section);
    return [session.output.style("bold", title), ...sectionLines(own, session)].join("\n");
  });
  const passed = checks.filter((check) => check.passed).length;
  return [...sections, `${passed} of ${checks.length} boxes`].join("\n\n");
}

function sectionLines(checks: Check[], session: Session): string[] {
  if (checks.length === 0) return ["  no tools to check: name a module under tools: in sallyport.yaml"];
  const subjects = Map.groupBy(checks, ({ subject }) => subject);
  return [...subjects].flatMap(([subject, own]) => {
    const lines = own.map((check) => line(check, session));
    return subject ? [session.output.style("cyan", subject), ...lines] : lines;
  });
}

function line({ id, title, passed, evidence }: Check, { output }: Session): string {
  const box = passed ? output.style("green", "[x]") : output.style("red", "[ ]");
  return `${box} ${id} ${title} — ${visible(evidence)}`;
}
