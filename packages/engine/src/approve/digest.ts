import { hash } from "node:crypto";
import { type Caller, canonicalJson } from "@sallyport/protocol";

/** Everything an approval is an approval of. */
export interface Approved {
  tool: string;
  version: string;
  operation: string;
  /** Digest of the canonical arguments. */
  inputHash: string;
  manifestHash: string;
  policyVersion: string;
  caller: Caller;
  /** Digest of the changes that were shown, when the call was tried out first. */
  shown?: string;
}

/** One short name for exactly this call: any other arguments, manifest, policy or caller give another one. */
export function approvalDigest(approved: Approved): string {
  const { caller } = approved;
  return hash(
    "sha256",
    canonicalJson({
      agent: caller.agent,
      inputHash: approved.inputHash,
      manifestHash: approved.manifestHash,
      operation: approved.operation,
      policyVersion: approved.policyVersion,
      session: caller.session ?? null,
      ...(approved.shown !== undefined && { shown: approved.shown }),
      tenant: caller.tenant,
      tool: approved.tool,
      user: caller.user ?? null,
      version: approved.version,
    }),
  );
}
