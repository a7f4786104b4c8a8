import type { AlwaysAllow } from "@sallyport/engine";
import type { Tier } from "@sallyport/engine/ports";
import type { Question } from "@sallyport/loop";
import { isRisky } from "./question-text.ts";

/** A way to allow the next call like this one beforehand. */
export interface StandingScope {
  label: string;
  always: AlwaysAllow;
}

/** What is offered for a question. Nothing where no grant could answer: only a policy's question can be. */
export function standingScopesFor(tier: Tier): (question: Question) => readonly StandingScope[] {
  return ({ because, risk, name }) => {
    if (because !== "policy") return [];
    const any = {
      arguments: "any",
      agent: "this",
      tier,
      ...(isRisky(risk) && { anyArguments: true as const }),
    } as const;
    const exact = { arguments: "exact", agent: "this", tier } as const;
    return [
      { label: "these arguments, in this conversation", always: { ...exact, session: "this" } },
      { label: "these arguments, in every conversation in this folder", always: exact },
      { label: `every ${name}, in this conversation`, always: { ...any, session: "this" } },
      { label: `every ${name}, in every conversation in this folder`, always: any },
    ];
  };
}
