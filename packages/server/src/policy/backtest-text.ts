import { table, visible } from "../cli/io.ts";
import type { BacktestReport, Flip } from "./backtest.ts";

/** Counts first, then every decision that changes. */
export function backtestText(report: BacktestReport, policyInForce: boolean): string {
  const { calls, flips, counts, redacted, strange } = report;
  const against = policyInForce ? "the rules in force" : "no policy, which has nothing against any call";
  const lines = [`${calls} recorded call(s) against ${against}: ${flips.length} decision(s) change.`];
  for (const [change, number] of Object.entries(counts)) lines.push(`  ${change}: ${number}`);
  if (redacted > 0) lines.push(`  ${redacted} call(s) with secrets taken out of their input: marked *`);
  if (strange > 0) lines.push(`  ${strange} call(s) whose manifest is not here any more: marked ?`);
  if (flips.length > 0) lines.push("", flipTable(flips));
  return lines.join("\n");
}

function flipTable(flips: readonly Flip[]): string {
  const header = ["CALL", "STARTED", "TOOL", "AGENT", "BEFORE", "AFTER", "WHY", ""];
  const rows = flips.map((flip) => [
    flip.callId,
    new Date(flip.startedAt).toISOString(),
    `${flip.tool} ${flip.operation}`,
    flip.agent,
    flip.before,
    flip.after,
    visible(flip.rules.join(", ") || "default"),
    `${flip.redacted ? "*" : ""}${flip.strange ? "?" : ""}`,
  ]);
  return table([header, ...rows], "");
}
