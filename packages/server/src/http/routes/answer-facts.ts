import {
  type CallAnswer,
  defined,
  type FileEffects,
  type InvocationEffects,
  type InvocationReceipt,
  type Receipt,
  type ToolStatusResponse,
  toolError,
} from "@sallyport/protocol";
import { iso } from "./iso-time.ts";

/** What is on record of a call that has ended, beside its result. */
export function answerFacts(answer: CallAnswer): Partial<ToolStatusResponse> {
  const { isolation, rollback, approval, effects, receipt } = answer;
  return {
    completed_at: iso(answer.completedAt),
    lifecycle: answer.lifecycle.map(({ state, at }) => ({ state, at: iso(at) })),
    ...(answer.status !== "success" && { error: toolError(answer.error) }),
    ...(isolation && { isolation: { level: isolation.level, runner: isolation.runner } }),
    ...(answer.warnings.length > 0 && {
      warnings: answer.warnings.map(({ code, message }) => ({ code, message })),
    }),
    ...(rollback && {
      rollback: {
        verified: rollback.verified,
        snapshot_hash: rollback.snapshotHash,
        discarded_mutations: rollback.discardedMutations,
      },
    }),
    ...defined({
      state: answer.lifecycle.at(-1)?.state,
      approval_id: approval?.approvalId,
      effects: effects && effectsView(effects),
      receipt: receipt && receiptView(receipt),
    }),
  };
}

/** Without the folder they are in, which is the house's own business. */
function effectsView({ files, omitted, digest }: FileEffects): InvocationEffects {
  return {
    files: files.map(({ path, change, from, diff, note }) => ({
      path,
      change,
      ...defined({ from, diff, note }),
    })),
    omitted,
    digest,
  };
}

function receiptView({
  tenant,
  sequence,
  hash,
  inputHash,
  outputHash,
  effectsHash,
}: Receipt): InvocationReceipt {
  return {
    tenant_id: tenant,
    sequence,
    hash,
    input_hash: inputHash,
    ...defined({ output_hash: outputHash, effects_hash: effectsHash }),
  };
}
