/** What each stage of the passage is called in a trace (L3P2-5). */
const STAGE_SPANS: Readonly<Record<string, string>> = {
  resolve: "tool_registry.lookup",
  validate: "input.validate",
  authorise: "permission.check",
  approve: "approval.check",
  admit: "admission.wait",
  "journal intent": "journal.intent",
  execute: "tool.execute",
  "check result": "result.validate",
  commit: "event.publish",
};

/** The span a whole call is. */
export const CALL_SPAN = "tool.invoke";

/** A stage that has no name there keeps its own. */
export function spanNameOf(stage: string): string {
  return (Object.hasOwn(STAGE_SPANS, stage) ? STAGE_SPANS[stage] : undefined) ?? stage;
}
