import type { JsonValue } from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import type { Reading } from "../../match/reading.ts";
import { decidingCondition } from "./explain.ts";
import { completeCall } from "./partial-call.ts";
import { readPartialCall } from "./read-partial-call.ts";
import { applies, type Rule } from "./rule.ts";

const KINDS = ["match", "not"] as const;

/** How many examples of a rule were found to be right. */
export interface ExampleCount {
  match: number;
  not: number;
}

/** Reads a rule's examples and tries each on it; every one the rule contradicts is noted, with the condition that does. */
export function checkExamples(
  value: JsonValue | undefined,
  { rule, path, reading }: { rule: Rule; path: string; reading: Reading },
): ExampleCount {
  const count = { match: 0, not: 0 };
  const given = reading.object(value, path, KINDS);
  if (!given) return count;
  for (const kind of KINDS) {
    const at = pointTo(path, kind);
    if (given[kind] === undefined) {
      reading.wrong(path, `rule "${rule.id}" needs an example under "${kind}"`);
      continue;
    }
    count[kind] = reading.list(given[kind], at, (example, place) =>
      checkExample(example, { rule, kind, path: place, reading }),
    ).length;
  }
  return count;
}

interface Check {
  rule: Rule;
  kind: (typeof KINDS)[number];
  path: string;
  reading: Reading;
}

function checkExample(example: unknown, { rule, kind, path, reading }: Check): true | undefined {
  const before = reading.issues.length;
  const call = completeCall(readPartialCall(example, path, reading));
  if (reading.issues.length > before || applies(rule, call) === (kind === "match")) return true;
  const because = decidingCondition(rule, call);
  const says = kind === "match" ? "does not match" : "matches";
  return reading.wrong(
    path,
    `rule "${rule.id}" ${says} this example: ${because?.text ?? "it has no condition"}`,
  );
}
