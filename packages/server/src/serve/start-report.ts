import type { SandboxOffer } from "@sallyport/engine";
import { type Caller, isFailure } from "@sallyport/protocol";
import type { OpenHouse } from "../compose.ts";
import { SwitchedOffTools } from "../http/switched-off-tools.ts";
import { keyFolder } from "../keys/index.ts";
import { ensureOperatorKey } from "../keys/operator-key.ts";
import { VERSION } from "../version.ts";
import { curlLine } from "./curl-line.ts";
import { sampleCall } from "./sample-call.ts";
import { type StartWarning, warningsOf } from "./start-warnings.ts";

/** What whoever started a server wants to know, and nothing that must stay secret. */
export interface StartReport {
  version: string;
  url: string;
  docs: string;
  openapi: string;
  /** Null when everything is a default. */
  configFile: string | null;
  stateFolder: string;
  /** The strongest this host offers, with what holds it. */
  isolation: { level: string; backend: string } | null;
  operatorKeyFile: string | null;
  tools: string[];
  /** How to get what `curl` needs in `$TOKEN`; null where it needs none. */
  mint: string | null;
  /** A call to paste; null when no tool can be called. */
  curl: string | null;
  warnings: StartWarning[];
}

const LOOK_MS = 5_000;

/** Looks at a house whose door is open. Makes no call. */
export async function startReport(house: OpenHouse, { url }: { url: string }): Promise<StartReport> {
  const { config, engine, live } = house;
  const caller: Caller = { tenant: config.caller.tenant, agent: "http" };
  const off = new SwitchedOffTools(house);
  const isSwitchedOff = (tool: string) => off.has(tool);
  const sample = await sampleCall({ engine, authority: live.authority, config, caller, isSwitchedOff });
  const operator = ensureOperatorKey(keyFolder(config.stateFolder));
  const isolation = strongest(await offersOf(house));
  const { callers } = config.http;
  return {
    version: VERSION,
    url,
    docs: `${url}/docs`,
    openapi: `${url}/openapi.json`,
    configFile: config.file ?? null,
    stateFolder: config.stateFolder,
    isolation,
    operatorKeyFile: isFailure(operator) ? null : operator.file,
    tools: engine.tools.definitions().map(({ id }) => id),
    mint: callers === "token" && sample ? mintLine(caller, sample.tool) : null,
    curl: sample ? curlLine(sample, { url, callers }) : null,
    warnings: warningsOf(house, { hasSample: sample !== undefined, isolation: isolation?.level }),
  };
}

function mintLine({ agent, tenant }: Caller, tool: string): string {
  return `TOKEN=$(sallyport token mint --agent ${agent} --tenant ${tenant} --tool ${tool})`;
}

/** Real sandboxes are started to find out; a host that is slow about it must not hold up the start. */
async function offersOf({ engine }: OpenHouse): Promise<SandboxOffer[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SandboxOffer[]>((resolve) => {
    timer = setTimeout(() => resolve([]), LOOK_MS);
  });
  try {
    return await Promise.race([engine.sandboxes(), late]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

function strongest(offers: readonly SandboxOffer[]): StartReport["isolation"] {
  const [best] = offers
    .filter(({ available }) => available)
    .toSorted((a, b) => b.level.localeCompare(a.level));
  return best ? { level: best.level, backend: best.backend } : null;
}
