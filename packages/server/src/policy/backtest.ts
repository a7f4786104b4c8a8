import type { ResolvedTool } from "@sallyport/engine";
import { completeCall, type Effect } from "@sallyport/engine/host";
import type { CallRecord, PolicyRequest, PolicyVerdict } from "@sallyport/engine/ports";
import { recordedCall } from "./call-facts.ts";

type Decide = (request: PolicyRequest) => PolicyVerdict;

/** A recorded call that would be decided otherwise. */
export interface Flip {
  callId: string;
  startedAt: number;
  tool: string;
  operation: string;
  agent: string;
  before: Effect;
  after: Effect;
  rules: string[];
  reason: string;
  redacted: boolean;
  strange: boolean;
}

export interface BacktestReport {
  calls: number;
  /** By `before → after`. */
  counts: Record<string, number>;
  flips: Flip[];
  /** Calls of which something is not known any more, flipped or not. */
  redacted: number;
  strange: number;
}

interface Trial {
  /** Undefined: no policy is in force, which is to have nothing against any call. */
  inForce: Decide | undefined;
  candidate: Decide;
  /** The tool a call went to, as far as it is still here. */
  toolOf(record: CallRecord): ResolvedTool | undefined;
}

/** Decides recorded calls once by the policy in force and once by a candidate. Nothing is run. */
export function backtest(records: readonly CallRecord[], trial: Trial): BacktestReport {
  const report: BacktestReport = { calls: records.length, counts: {}, flips: [], redacted: 0, strange: 0 };
  for (const record of records) {
    const { call, redacted, strange } = recordedCall(record, trial.toolOf(record));
    const request = completeCall(call);
    const before = trial.inForce?.(request).outcome ?? "allow";
    const verdict = trial.candidate(request);
    report.redacted += redacted ? 1 : 0;
    report.strange += strange ? 1 : 0;
    if (verdict.outcome === before) continue;
    const change = `${before} → ${verdict.outcome}`;
    report.counts[change] = (report.counts[change] ?? 0) + 1;
    report.flips.push({ ...flipOf(record, before, verdict), redacted, strange });
  }
  return report;
}

function flipOf(
  record: CallRecord,
  before: Effect,
  verdict: PolicyVerdict,
): Omit<Flip, "redacted" | "strange"> {
  const { callId, startedAt, tool, operation, agent } = record;
  const { outcome: after, rules, reason } = verdict;
  return { callId, startedAt, tool, operation, agent, before, after, rules, reason };
}
