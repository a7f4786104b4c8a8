import type { Confinement } from "../ports/runner.ts";
import type { CallSpan } from "./call-span.ts";

/**
 * The confinement with a span from now until its sandbox is there. Where the run ends without one the span is left open
 * and never seen: there was no sandbox to speak of.
 */
export function withSandboxSpan(confinement: Confinement, span: CallSpan | undefined): Confinement {
  if (!span) return confinement;
  const creating = span.open("sandbox.create");
  return {
    ...confinement,
    onEvent: (event) => {
      if (event === "SANDBOX_CREATED") creating.end({ ok: true });
      confinement.onEvent?.(event);
    },
  };
}
