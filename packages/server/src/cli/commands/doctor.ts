import { Command } from "commander";
import { diagnose, type Finding } from "../../doctor/diagnose.ts";
import { EXIT } from "../exit-codes.ts";
import { hint } from "../invoked-as.ts";
import type { Io } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

/** `sallyport doctor`: what this host can do, and what stands in the way. */
export function doctorCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("doctor").description("check what this host supports and what is missing");
  return withCommonOptions(command).action(async (options: CommonOptions) => {
    const session = new Session(options, io);
    const findings = await diagnose(session.config);
    const healthy = findings.every(({ verdict }) => verdict !== "problem");
    session.output.result({ healthy, findings }, () =>
      findings.map((found) => line(found, session)).join("\n"),
    );
    finish(healthy ? EXIT.success : EXIT.toolFailed);
  });
}

const MARKS = { good: ["green", "✓"], note: ["yellow", "!"], problem: ["red", "✗"] } as const;

function line({ verdict, what, detail, advice }: Finding, { output }: Session): string {
  const [color, mark] = MARKS[verdict];
  return `${output.style(color, mark)} ${what}: ${detail}${advice ? `\n    → ${hint(advice)}` : ""}`;
}
