import type { CallRecord } from "@sallyport/engine/ports";
import { type CallAnswer, type Failure, invokeResponse, type Receipt } from "@sallyport/protocol";
import { lengthText } from "./duration-text.ts";
import { effectsText } from "./effects-text.ts";
import { hint } from "./invoked-as.ts";
import { type Output, visible } from "./io.ts";

/** The L3 response, with what Sallyport knows beyond it. */
export function answerDocument(answer: CallAnswer) {
  return {
    ...invokeResponse(answer),
    tool_id: answer.tool,
    tool_version: answer.version,
    operation: answer.operation,
    attempts: answer.attempts,
    replayed: answer.replayed,
    lifecycle: answer.lifecycle.map(({ state, at }) => ({ state, at: new Date(at).toISOString() })),
    isolation: answer.isolation ?? null,
    enforcement: answer.enforcement ?? null,
    violations: answer.violations ?? [],
    effects: answer.effects ?? null,
    dry_run: answer.dryRun ?? false,
    rollback: answer.rollback ?? null,
    approval: answer.approval ?? null,
    warnings: answer.warnings,
    receipt: answer.receipt ?? null,
  };
}

function markOf({ status }: CallAnswer, output: Output): string {
  if (status === "success") return output.style("green", "✓");
  return status === "pending_approval" ? output.style("yellow", "…") : output.style("red", "✗");
}

/** By whom, where anybody agreed. */
function approvalText({ approval, status }: CallAnswer): string[] {
  if (!approval || approval.by.length === 0 || status === "pending_approval") return [];
  const { by, editedInput } = approval;
  return [`approved by ${by.join(", ")}${editedInput === undefined ? "" : " with other arguments"}`];
}

const UNSEEN_WORDS = { other_files: "other files", network: "network", processes: "processes" } as const;

/** What was taken back, and what its isolation does not show. */
function rollbackText({ rollback }: CallAnswer): string[] {
  const { verified, covers = [], unseen = [] } = rollback ?? {};
  if (!verified || covers.length === 0 || unseen.length === 0) return [];
  const words = unseen.map((effect) => UNSEEN_WORDS[effect]);
  return [`rolled back: ${covers.join(" and ")}; not seen: ${words.join(", ")}`];
}

/** The tenant, the strand where it is not the first, and the unit of work. */
export function receiptPlace({ tenant, strand, sequence }: Receipt): string {
  return strand === 0 ? `${tenant}#${sequence}` : `${tenant}/${strand}#${sequence}`;
}

/** One line that says how a call went, for stderr. */
export function answerSummary(answer: CallAnswer, output: Output): string {
  const mark = markOf(answer, output);
  const parts = [
    `${answer.tool} ${answer.version} ${answer.operation}`,
    answer.status,
    `${answer.usage.durationMs} ms`,
  ];
  if (answer.isolation) parts.push(`${answer.isolation.runner} (${answer.isolation.level})`);
  parts.push(...rollbackText(answer), ...approvalText(answer));
  if (answer.replayed) parts.push("answered from the record");
  if (answer.receipt)
    parts.push(`receipt ${receiptPlace(answer.receipt)} ${answer.receipt.hash.slice(0, 12)}…`);
  const warnings = answer.warnings.map(
    ({ code, message }) => `\n${output.style("yellow", "!")} ${code} ${visible(message)}`,
  );
  const refused = (answer.violations ?? []).map(
    ({ description, times }) =>
      `\n${output.style("yellow", "!")} ${visible(description)}${times > 1 ? ` (${times} times)` : ""}`,
  );
  return `${mark} ${visible(parts.join(" · "))}${[...warnings, ...refused].join("")}`;
}

const LAST_LINES = 10;

/** What a failure teaches besides its message: the rules that decided, what would be allowed, what a process said. */
function lessons({ details = {} }: Failure): string[] {
  const { rules, nearest, retryAfterMs, stderr } = details;
  const named = Array.isArray(rules) ? rules.map(String) : [];
  return [
    ...(named.length > 0 ? [`${named.length === 1 ? "rule" : "rules"} ${named.join(", ")}`] : []),
    ...(typeof nearest === "string" ? [`nearest allowed: ${nearest}`] : []),
    ...(typeof retryAfterMs === "number" ? [`try again in ${lengthText(retryAfterMs)}`] : []),
    ...(typeof stderr === "string" ? stderr.trimEnd().split("\n").slice(-LAST_LINES) : []).map(
      (line) => `| ${line}`,
    ),
  ];
}

/** A recorded call as a person looks at it; everything is in the document. */
export function callText(record: CallRecord, output: Output): string {
  const { closing, agent, tenant, user } = record;
  const facts = [
    `call ${record.callId} of agent ${agent} of ${tenant}${user === undefined ? "" : ` for ${user}`}`,
    `input      ${record.input}`,
    `started    ${new Date(record.startedAt).toISOString()}`,
    `state      ${closing?.status ?? record.phase}`,
    ...(closing?.timeline?.decisions ?? []).map(({ outcome, reason }) => `decision   ${outcome}: ${reason}`),
  ];
  const answer = closing?.answer;
  if (!answer) return visible(facts.join("\n  "));
  const isGood = answer.status === "success";
  return [
    visible([...facts, ...(isGood ? [`result     ${JSON.stringify(answer.result)}`] : [])].join("\n  ")),
    ...(answer.effects ? [effectsText(answer.effects, output, { diff: true })] : []),
    answerSummary(answer, output),
    ...(isGood ? [] : [failureText(answer.error, output)]),
  ].join("\n");
}

/** A failure for a person: what, where, and what to do about it. */
export function failureText(error: Failure, output: Output): string {
  const lines = [`${output.style("red", error.code)} ${visible(error.message)}`];
  for (const { path, reason, suggestion } of error.issues ?? []) {
    lines.push(`  ${visible(`${path || "/"} ${reason}${suggestion ? ` — ${hint(suggestion)}` : ""}`)}`);
  }
  lines.push(...lessons(error).map((line) => `  ${visible(line)}`));
  lines.push(`  ${output.style("cyan", "→")} ${hint(visible(error.advice))}`);
  return lines.join("\n");
}
