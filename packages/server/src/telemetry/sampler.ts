import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import { type Environment, textOf, type Warn } from "./environment.ts";

const BASED_ON_PARENT = "parentbased_";

/** Which traces are kept, by OTEL_TRACES_SAMPLER and _ARG: what the caller decided, and all where nobody has. */
export function samplerOf(env: Environment, warn: Warn): Sampler {
  const name = (textOf(env, "OTEL_TRACES_SAMPLER") ?? "parentbased_always_on").toLowerCase();
  const followsParent = name.startsWith(BASED_ON_PARENT);
  const root = rootSampler(followsParent ? name.slice(BASED_ON_PARENT.length) : name, env, warn);
  if (root) return followsParent ? new ParentBasedSampler({ root }) : root;
  warn("OTEL_TRACES_SAMPLER names no sampler that there is here; parentbased_always_on is used.");
  return new ParentBasedSampler({ root: new AlwaysOnSampler() });
}

function rootSampler(name: string, env: Environment, warn: Warn): Sampler | undefined {
  if (name === "always_on") return new AlwaysOnSampler();
  if (name === "always_off") return new AlwaysOffSampler();
  return name === "traceidratio" ? new TraceIdRatioBasedSampler(shareOf(env, warn)) : undefined;
}

function shareOf(env: Environment, warn: Warn): number {
  const text = textOf(env, "OTEL_TRACES_SAMPLER_ARG");
  const share = Number(text ?? 1);
  if (share >= 0 && share <= 1) return share;
  warn("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1; 1 is used.");
  return 1;
}
