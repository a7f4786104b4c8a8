import type { SandboxOffer } from "@sallyport/engine";
import { SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { tryIsolation } from "../isolation.ts";
import type { Finding } from "./diagnose.ts";

/** What this host offers for tools in processes of their own, found out by running real sandboxes. */
export async function sandboxFindings(config: LoadedConfig): Promise<Finding[]> {
  try {
    const offers = await tryIsolation(config, ({ rules }) => rules.sandbox.offers());
    return [...offers.map(offered), ...summary(offers), ...config.sandbox.weaker.map(weaker)];
  } catch (error) {
    const detail = error instanceof SallyportError ? error.failure.message : String(error);
    return [{ what: "sandbox", verdict: "problem", detail }];
  }
}

function offered({ backend, level, available, missing, fix, facts }: SandboxOffer): Finding {
  const what = `sandbox ${backend}`;
  const known = Object.entries(facts).map(([name, value]) => `${name}: ${value}`);
  if (available) return { what, verdict: "good", detail: [level, ...known].join(", ") };
  return {
    what,
    verdict: "note",
    detail: `${level} cannot be had: ${missing.join("; ")}`,
    ...(fix.length > 0 && { advice: fix.join("\n    → ") }),
  };
}

/** Nothing is broken without it: a tool that needs it is refused, never run weaker. */
function summary(offers: readonly SandboxOffer[]): Finding[] {
  if (offers.some(({ available, level }) => available && level === "LEVEL_2")) return [];
  const detail = "LEVEL_2 cannot be had on this host; command and script tools are refused (E3101)";
  return [
    { what: "isolation", verdict: "note", detail, advice: "See the sandboxes above for what is missing." },
  ];
}

function weaker({ tools, level, because }: LoadedConfig["sandbox"]["weaker"][number]): Finding {
  const detail = `${tools.join(", ")} may run in ${level}: ${because}`;
  return { what: "weaker isolation", verdict: "note", detail };
}
