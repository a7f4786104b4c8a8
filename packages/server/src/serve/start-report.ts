import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Implementation, SandboxOffer } from "@sallyport/engine/ports";
import { type Caller, isFailure } from "@sallyport/protocol";
import { grantsWithoutFile } from "../gateway/gateway.ts";
import { isLoopback } from "../http/kernel/loopback.ts";
import { SwitchedOffTools } from "../http/switched-off-tools.ts";
import { keyFolder } from "../keys/index.ts";
import { KEY_FILES } from "../keys/key-files.ts";
import { ensureOperatorKey } from "../keys/operator-key.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { storeName } from "../runtime/store.ts";
import { VERSION } from "../version.ts";
import type { SampleCall } from "./sample-call.ts";
import { sampleCall } from "./sample-call.ts";

/** What whoever started a server wants to know, and nothing that must stay secret. */
export interface StartReport {
  version: string;
  url: string;
  docs: string;
  openapi: string;
  /** Null when everything is a default. */
  configFile: string | null;
  stateFolder: string;
  /** Which store is used. */
  store: string;
  /** The strongest this host offers, with what holds it. */
  isolation: { level: string; backend: string } | null;
  operatorKeyFile: string | null;
  tools: string[];
  /** How many of them run where: `thread` and `inline` in this process with its rights, the others in sandboxes. */
  runners: Partial<Record<Implementation["kind"], number>>;
  /** What a gateway serves; null where tools come from modules. */
  domain: { id: string; version: string; folder: string; anyCaller: boolean } | null;
  /** How to get what `curl` needs in `$TOKEN`; null where it needs none. */
  mint: string | null;
  /** A call to paste; null when no tool can be called. */
  curl: string | null;
  warnings: StartWarning[];
}

const LOOK_MS = 5_000;

/** Looks at a server whose door is open. Makes no call. */
export async function startReport(runtime: Runtime, { url }: { url: string }): Promise<StartReport> {
  const { config, engine, live } = runtime;
  const caller: Caller = { tenant: config.caller.tenant, agent: "http" };
  const off = new SwitchedOffTools(runtime);
  const isSwitchedOff = (tool: string) => off.has(tool);
  const sample = await sampleCall({ engine, authority: live.authority, config, caller, isSwitchedOff });
  const operator = ensureOperatorKey(keyFolder(config.stateFolder));
  const isolation = strongest(await offersOf(runtime));
  const { callers } = config.http;
  return {
    version: VERSION,
    url,
    docs: `${url}/docs`,
    openapi: `${url}/openapi.json`,
    configFile: config.file ?? null,
    stateFolder: config.stateFolder,
    store: storeName(config),
    isolation,
    operatorKeyFile: isFailure(operator) ? null : operator.file,
    tools: engine.tools.definitions().map(({ id }) => id),
    runners: runnersOf(runtime),
    domain: domainOf(runtime),
    mint: callers === "token" && sample ? mintLine(caller, sample.tool) : null,
    curl: sample ? curlLine(sample, { url, callers, isGateway: live.gateway !== undefined }) : null,
    warnings: warningsOf(runtime, { hasSample: sample !== undefined, isolation: isolation?.level }),
  };
}

function domainOf({ config, live }: Runtime): StartReport["domain"] {
  if (!live.gateway) return null;
  const { domain } = live.gateway;
  const anyCaller = grantsWithoutFile(config, domain).length > 0;
  return { id: domain.id, version: domain.version, folder: domain.folder, anyCaller };
}

/** How many tools there are of each kind. */
export function runnersOf({ engine }: Pick<Runtime, "engine">): StartReport["runners"] {
  const counts: StartReport["runners"] = {};
  for (const { id, version, operations } of engine.tools.definitions()) {
    const found = engine.tools.resolve({ tool: id, version, operation: Object.keys(operations)[0] ?? "" });
    const kind = isFailure(found) ? undefined : found.implementation?.kind;
    if (kind) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function mintLine({ agent, tenant }: Caller, tool: string): string {
  return `TOKEN=$(sallyport token mint --agent ${agent} --tenant ${tenant} --tool ${tool})`;
}

/** Real sandboxes are started to find out; a host that is slow about it must not hold up the start. */
async function offersOf({ engine }: Runtime): Promise<SandboxOffer[]> {
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

/** Something that is not wrong enough to stop a start. */
interface StartWarning {
  message: string;
  advice: string;
}

interface Looked {
  hasSample: boolean;
  isolation: string | undefined;
}

/** What an operator should know of before the first call. */
function warningsOf(runtime: Runtime, { hasSample, isolation }: Looked): StartWarning[] {
  const { problems, recovered } = runtime;
  const unknown = recovered.filter(({ verdict }) => verdict === "outcome_unknown").length;
  return [
    ...problems.map(({ code, message, advice }) => ({ message: `${code} ${message}`, advice })),
    ...(unknown > 0
      ? [
          {
            message: `${unknown} interrupted call(s) have an unknown outcome.`,
            advice: "sallyport calls recover",
          },
        ]
      : []),
    ...toolWarnings(runtime, hasSample),
    ...domainWarnings(runtime),
    ...doorWarnings(runtime),
    ...(isolation === "LEVEL_2" || !needsSandbox(runtime)
      ? []
      : [
          {
            message: "LEVEL_2 isolation is not available on this host; command and script tools are refused.",
            advice: "sallyport doctor says what is missing",
          },
        ]),
  ];
}

/** A service worker is isolated by whoever runs it. */
function needsSandbox({ live }: Runtime): boolean {
  return live.gateway?.domain.tools.some(({ kind }) => kind === "job_worker") ?? true;
}

function toolWarnings({ engine }: Runtime, hasSample: boolean): StartWarning[] {
  if (engine.tools.definitions().length === 0) {
    const advice = "Name modules under `tools`, or begin with an example: sallyport init";
    return [{ message: "There are no tools.", advice }];
  }
  if (hasSample) return [];
  const message = "No tool can be called without approval.";
  return [{ message, advice: "Give a grant under `grants`, or see: sallyport policy explain" }];
}

/** A catalogue is kept by its version. */
function domainWarnings({ live }: Runtime): StartWarning[] {
  const { unannounced = [] } = live.gateway ?? {};
  if (unannounced.length === 0) return [];
  const message = `Tools were added to the domain or taken away under the same version: ${unannounced.join(", ")}.`;
  return [
    { message, advice: "Raise `version` in manifest.yaml, so that clients fetch the catalogue again." },
  ];
}

function doorWarnings({ config, live }: Runtime): StartWarning[] {
  const { host, callers, tls } = config.http;
  if (grantsWithoutFile(config, live.gateway?.domain).length > 0) {
    const message =
      "Every caller on this machine may run the tools of the domain: there is no configuration file.";
    return [{ message, advice: "Say who may run what in a file, and name it with --config." }];
  }
  if (callers === "open") {
    const message = "Callers are open: every program on this machine may call as any agent.";
    return [{ message, advice: "Set http.callers to token to ask for capability tokens." }];
  }
  const { jwks, publicKeys } = config.tokens;
  const isSigned = existsSync(join(keyFolder(config.stateFolder), KEY_FILES.current));
  const warnings: StartWarning[] = [];
  if (!isSigned && jwks === undefined && publicKeys.length === 0) {
    warnings.push({ message: "There is no key to check tokens with.", advice: "sallyport keys init" });
  }
  if (!tls && !isLoopback(host)) {
    const message = "Tokens travel unencrypted.";
    warnings.push({ message, advice: "Set http.tls, or put something that ends TLS in front." });
  }
  return warnings;
}

/** A call as one line for a shell. With tokens it needs one in `$TOKEN`; of a gateway it is a run. */
export function curlLine(
  { tool, operation, input }: SampleCall,
  { url, callers, isGateway = false }: { url: string; callers: "open" | "token"; isGateway?: boolean },
): string {
  const body = isGateway
    ? { input }
    : { tool_id: tool, ...(operation !== undefined && { operation }), parameters: input };
  return [
    `curl -s ${url}/v1/tools/${isGateway ? `${tool}:run` : "invoke"}`,
    ...(callers === "token" ? ['-H "authorization: Bearer $TOKEN"'] : []),
    "-H 'content-type: application/json'",
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(" ");
}

/** For a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
