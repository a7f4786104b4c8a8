import type { JsonSchema } from "../json.ts";
import { reject } from "./field.ts";
import {
  anyText,
  described,
  exactRecord,
  type Field,
  fieldOf,
  flag,
  listOf,
  named,
  optional,
  positiveInteger,
  text,
} from "./field-reader.ts";
import type { CheckpointConfig, DocumentContext } from "./l3-messages.ts";

/**
 * What L3 knows and this version does not offer. A part that asks for nothing is taken, as many senders write all of
 * their fields; one that would change what the call means is refused, because passing over it would do something else
 * than was asked for.
 */

const SUGGESTION = "Leave it out.";

interface Unoffered<T> {
  /** Completes the sentence "This server does not offer …". */
  what: string;
  /** What is left of the field's schema: the values that ask for nothing. */
  nothing: JsonSchema;
  asksForNothing(value: T): boolean;
}

function unoffered<T>(field: Field<T>, { what, nothing, asksForNothing }: Unoffered<T>): Field<T> {
  const reason = `cannot be had: this server does not offer ${what}`;
  const judged = fieldOf<T>({ ...field.schema, ...nothing }, (value, path, issues): value is T => {
    if (!field(value, path, issues)) return false;
    return asksForNothing(value) || reject(issues, path, reason, SUGGESTION);
  });
  return described(judged, "Not offered: empty, the default, or left out.");
}

const noText: Pick<Unoffered<string>, "nothing" | "asksForNothing"> = {
  nothing: { maxLength: 0 },
  asksForNothing: (value) => value === "",
};

/** Documents for a call; none are offered. Pinning the versions of no documents changes nothing. */
export const documentContextField: Field<DocumentContext> = named(
  "DocumentContext",
  exactRecord<DocumentContext>({
    document_refs: optional(
      unoffered(listOf(text), {
        what: "documents",
        nothing: { maxItems: 0 },
        asksForNothing: (refs) => refs.length === 0,
      }),
    ),
    version_pinning: optional(flag),
    query: optional(unoffered(anyText, { what: "documents", ...noText })),
  }),
);

/** Checkpoints of a call; none are offered, so that none can be resumed from. Asking for them is the sender's default. */
export const checkpointConfigField: Field<CheckpointConfig> = named(
  "CheckpointConfig",
  exactRecord<CheckpointConfig>({
    enable_checkpointing: optional(flag),
    checkpoint_interval_seconds: optional(positiveInteger),
    resume_from_checkpoint_id: optional(unoffered(anyText, { what: "checkpoints", ...noText })),
  }),
);
