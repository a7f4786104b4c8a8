import type { JsonValue } from "@sallyport/protocol";
import { redactEmbedded } from "./embedded-json.ts";
import { type FieldJudge, fieldJudge } from "./field-name.ts";
import { hidingFor, type Purpose } from "./hiding.ts";
import type { Criteria, JudgedName } from "./json-walk.ts";
import { toLogValue } from "./log-value.ts";
import { redactJson } from "./redact-json.ts";
import { remembered } from "./remembered.ts";
import type { TextRule } from "./text/rule.ts";
import {
  type ExtraPattern,
  extraRule,
  mayHoldSecret,
  type Profile,
  type TextTest,
  textRules,
} from "./text/rules.ts";

export interface RedactorOptions {
  /** What is looked for; `balanced` unless said. */
  profile?: Profile;
  /** For whom; `record` unless said. For a `decision` a person sees whatever could run, secret or not. */
  purpose?: Purpose;
  /** Names of fields that are secret here too, in any case and with any separator. */
  extraFields?: readonly string[];
  /** More to look for in text; they must not match markers. A slow pattern makes every call slow. */
  extraPatterns?: readonly ExtraPattern[];
}

/** Takes secrets out. All three are total and give the same result when given it again. */
export interface Redactor {
  /** The value as it may be kept; the same value when there was nothing to take out. */
  redact(value: JsonValue): JsonValue;
  /** The text as it may be kept. */
  redactText(text: string): string;
  /** Anything at all as JSON that may be logged; never throws. */
  redactLog(value: unknown): JsonValue;
}

/** A rule's marker may bring another rule's secret to light; more rounds than this have not been seen to change anything. */
const MOST_ROUNDS = 4;

/** A redactor of its own. Throws a TypeError when the type of an extra pattern is malformed. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const { profile = "balanced", purpose = "record", extraPatterns = [] } = options;
  const hiding = hidingFor(purpose);
  const judge = fieldJudge(options.extraFields);
  const isSuspect = extraPatterns.length === 0 ? mayHoldSecret(profile) : () => true;
  const redactText: TextRule = (given) => {
    if (!isSuspect(given)) return given;
    return redactEmbedded(given, criteria) ?? settled(given, rules);
  };
  const isHarmless: TextTest = (text) => redactText(text) === text;
  const extraRules = extraPatterns.map((extra) => extraRule(extra, hiding));
  const rules = [...extraRules, ...textRules({ profile, judge, hiding, isHarmless })];
  const criteria: Criteria = {
    text: redactText,
    hiding,
    name: remembered(
      (name) => judged(redactText(name), judge),
      (name, { shown }) => shown === name,
    ),
  };
  const redact = (value: JsonValue) => redactJson(value, criteria);
  return { redact, redactText, redactLog: (value) => redact(toLogValue(value)) };
}

/** Judged as shown, so that the result is judged the same. */
function judged(shown: string, judge: FieldJudge): JudgedName {
  return { kind: judge(shown), shown };
}

function settled(given: string, rules: readonly TextRule[]): string {
  let before = given;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const after = rules.reduce((text, rule) => rule(text), before);
    if (after === before) break;
    before = after;
  }
  return before;
}
