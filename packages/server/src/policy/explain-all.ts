import type { CompiledPolicy, Explanation } from "@sallyport/engine";
import { type RuleExplanation, strictest } from "@sallyport/engine/host";
import type { Policy, PolicyRequest, PolicyVerdict } from "@sallyport/engine/ports";
import { type Output, visible } from "../cli/io.ts";
import { decideNow } from "./in-force.ts";

interface Explained extends Explanation {
  policy: string;
  version: string;
}

/** How all policies together decide a call, and what each of them says. */
export interface WholeExplanation {
  /** What was asked about, without the arguments. */
  call: Omit<PolicyRequest, "input">;
  verdict: PolicyVerdict;
  policies: Explained[];
  preset?: PolicyVerdict;
}

interface Policies {
  files: readonly CompiledPolicy[];
  preset?: Policy | undefined;
}

export function explainAll({ files, preset }: Policies, call: PolicyRequest): WholeExplanation {
  const policies = files.map((policy) => ({
    policy: policy.name,
    version: policy.version,
    ...policy.explain(call),
  }));
  const said = preset && decideNow(preset, call);
  const verdicts = policies.map(({ verdict }) => verdict);
  const verdict = strictest(said ? [...verdicts, said] : verdicts);
  const { input: _input, ...about } = call;
  return { call: about, verdict, policies, ...(said && { preset: said }) };
}

const COLOURS = { allow: "green", ask: "yellow", deny: "red" } as const;

/** The decision first, then every policy with its rules. */
export function explanationText(whole: WholeExplanation, output: Output): string {
  const { call, verdict, policies, preset } = whole;
  const asked = `${call.tool} ${call.version} ${call.operation} for ${call.caller.agent} of ${call.caller.tenant}`;
  const lines = [`${output.style(COLOURS[verdict.outcome], verdict.outcome)}  ${visible(asked)}`];
  lines.push(...verdictLines(verdict));
  for (const policy of policies) lines.push("", ...policyLines(policy, output));
  if (preset) lines.push("", `preset: ${preset.outcome}, ${visible(preset.reason)}`);
  return lines.join("\n");
}

function verdictLines({ reason, rules, code, argument, unlock, nearest }: PolicyVerdict): string[] {
  const facts: [string, string | undefined][] = [
    ["why", reason],
    ["rules", rules.length > 0 ? rules.join(", ") : "none: it is the default"],
    ["code", code],
    ["argument", argument],
    ["unlocked by", unlock],
    ["instead", nearest],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [visible(`  ${name}: ${value}`)]));
}

function policyLines(
  { policy, version, rules, verdict, default: otherwise }: Explained,
  output: Output,
): string[] {
  const decides = verdict.rules.length === 0 ? "which decides here" : "which is not needed here";
  return [
    visible(`${policy} (version ${version}, ${verdict.tier}): ${verdict.outcome}`),
    ...rules.map((rule) => ruleLine(rule, output)),
    `  default: ${otherwise}, ${decides}`,
  ];
}

function ruleLine({ id, effect, applies, because }: RuleExplanation, output: Output): string {
  const mark = applies ? output.style(COLOURS[effect], "●") : "○";
  const why = because ? `: ${because.text}` : "";
  return `  ${mark} ${visible(`${effect.padEnd(5)} ${id} ${applies ? "applies" : "does not apply"}${why}`)}`;
}
