import { type Box, grantAuthority, integrationBoxes, runtimeBoxes, toolBoxes } from "@sallyport/engine";
import { Command } from "commander";
import { tryIsolation } from "../../isolation.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const HELP = `
Each box is answered by a check that is made now, not by a claim. Tools are judged by their kept manifests and by what
a misbehaving probe can do in the runner that runs them; runtime and integration by real calls on a private engine in
memory. Nothing is written to the state folder and no tool of yours is run.

  [x]  seen to hold; the evidence says how
  [ ]  not seen to hold; the evidence says what is missing
  [ ]  … — not in this version: …   said openly, and no failure

  $ sallyport conformance
  $ sallyport conformance --json | jq '.boxes[] | select(.passed | not)'
Exit code 0: every box holds or is not in this version. 1: one does not.`;

const SECTIONS = {
  tool: "Tools",
  runtime: "Runtime",
  integration: "Integration",
} as const satisfies Record<Box["section"], string>;

/** `sallyport conformance`: the compliance checklist, each box from a real check (R1-9). */
export function conformanceCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("conformance")
    .description("run the compliance checklist and say what was seen for each box")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const boxes = await allBoxes(session);
    const passed = boxes.filter((box) => box.passed).length;
    session.output.result({ boxes, passed, total: boxes.length }, () => checklist(boxes, session));
    finish(boxes.every(holds) ? EXIT.success : EXIT.toolFailed);
  });
}

async function allBoxes(session: Session): Promise<Box[]> {
  const ofTools = await session.inCatalogue((tools) => toolBoxes(tools));
  const ofRuntime = await runtimeBoxes();
  const authority = grantAuthority(session.config.grants);
  const ofIntegration = await tryIsolation(session.config, ({ rules, runners }) =>
    integrationBoxes({ authority, sandbox: { isolation: rules, runners } }),
  );
  return [...ofTools, ...ofRuntime, ...ofIntegration];
}

function holds({ passed, notInThisVersion }: Box): boolean {
  return passed || notInThisVersion === true;
}

function checklist(boxes: Box[], session: Session): string {
  const sections = Object.entries(SECTIONS).map(([section, title]) => {
    const lines = sectionLines(
      boxes.filter((box) => box.section === section),
      session,
    );
    return [session.output.style("bold", title), ...lines].join("\n");
  });
  return [...sections, summary(boxes)].join("\n\n");
}

function sectionLines(boxes: Box[], session: Session): string[] {
  if (boxes.length === 0) return ["  no tools to check: name a module under tools: in sallyport.yaml"];
  const subjects = Map.groupBy(boxes, ({ subject }) => subject);
  return [...subjects].flatMap(([subject, own]) => {
    const lines = own.map((box) => line(box, session));
    return subject ? [session.output.style("cyan", subject), ...lines] : lines;
  });
}

function line({ id, title, passed, evidence, notInThisVersion }: Box, { output }: Session): string {
  if (passed) return `${output.style("green", "[x]")} ${id} ${title} — ${evidence}`;
  if (notInThisVersion)
    return `${output.style("yellow", "[ ]")} ${id} ${title} — not in this version: ${evidence}`;
  return `${output.style("red", "[ ]")} ${id} ${title} — ${evidence}`;
}

function summary(boxes: Box[]): string {
  const passed = boxes.filter((box) => box.passed).length;
  const absent = boxes.filter(({ notInThisVersion }) => notInThisVersion).map(({ id }) => id);
  const note = absent.length > 0 ? ` (not in this version: ${absent.join(", ")})` : "";
  return `${passed} of ${boxes.length} boxes${note}`;
}
