import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  createEngine,
  createMemoryStore,
  createThreadRunner,
  grantAuthority,
  verifyChain,
} from "@sallyport/engine";
import type { EventSink, SandboxOffer, Store } from "@sallyport/engine/ports";
import { backlogsOf } from "@sallyport/engine/publish";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { openSinks } from "../events/index.ts";
import { workerSecretOf } from "../gateway/gateway.ts";
import { configuredKeys, keySharingOf, shareKeys } from "../keys/index.ts";
import { must } from "../must.ts";
import { policyFilesOf } from "../policy/in-force.ts";
import { openPolicyFiles } from "../policy/policy-files.ts";
import { auditArchiveOf } from "../runtime/audit-archive.ts";
import { blobsName, openBlobs, probeBlobs } from "../runtime/blobs.ts";
import { openSandbox, tryIsolation } from "../runtime/isolation.ts";
import { refusedFile } from "../runtime/own-folder.ts";
import { hasStore, readStore, storeName } from "../runtime/store.ts";
import { registerTools, registryRulesOf } from "../runtime/tools.ts";

/** One thing looked at. `note` is worth knowing, `problem` stops calls. */
export interface Finding {
  what: string;
  verdict: "good" | "note" | "problem";
  detail: string;
  advice?: string;
}

/** What a look found; what was looked at is known. */
type Found = Omit<Finding, "what">;

const OLDEST_NODE = 24;

/** Looks at everything a call depends on, by trying it. Never throws: what goes wrong is a finding. */
export async function diagnose(config: LoadedConfig): Promise<Finding[]> {
  return [
    await attempt("runtime", runtime),
    await attempt("configuration", () => configuration(config)),
    await attempt("state folder", () => folder(config)),
    await attempt("store", () => (config.store.postgres ? sharedStore(config) : store(config))),
    ...(config.store.postgres ? [await attempt("keys", () => sharedKeys(config))] : []),
    ...(config.blobs ? [await attempt("blobs", () => blobFinding(config))] : []),
    ...(config.store.postgres ? [await attempt("archive", () => archiveFinding(config))] : []),
    await attempt("events", () => eventFinding(config)),
    await attempt("tokens", () => tokenFinding(config)),
    await attempt("policy", () => policyFinding(config)),
    ...(config.domain === undefined ? [] : [await attempt("workers", () => workerFinding(config))]),
    await attempt("tools", () => tools(config)),
    await attempt("threads", () => threads()),
    await attempt("functions", () => trust(config)),
    ...(await sandboxFindings(config)),
  ];
}

async function attempt(what: string, look: () => Found | Promise<Found>): Promise<Finding> {
  try {
    return { what, ...(await look()) };
  } catch (error) {
    const failed = error instanceof SallyportError ? error.failure : refusedFile(error);
    if (!failed) return { what, verdict: "problem", detail: String(error) };
    const { code, message, advice } = failed;
    return { what, verdict: "problem", detail: `${code} ${message}`, advice };
  }
}

function runtime(): Found {
  const major = Number(process.versions.node.split(".")[0]);
  const detail = `Node ${process.versions.node} on ${process.platform} ${process.arch}`;
  if (major >= OLDEST_NODE) return { verdict: "good", detail };
  return { verdict: "problem", detail, advice: `Use Node ${OLDEST_NODE} or newer.` };
}

function configuration({ file, tools: modules, grants }: LoadedConfig): Found {
  if (!file) {
    const advice = "Write a sallyport.yaml with tools and grants; without a grant nothing runs.";
    return { verdict: "note", detail: "no file, only defaults", advice };
  }
  const detail = `${file}: ${modules.length} tool modules, ${grants.length} grants`;
  if (grants.length > 0) return { verdict: "good", detail };
  return { verdict: "note", detail, advice: "Add a grant; without one nothing runs." };
}

function folder({ stateFolder }: LoadedConfig): Found {
  const exists = existsSync(stateFolder);
  try {
    accessSync(exists ? stateFolder : dirname(stateFolder), constants.W_OK);
  } catch {
    return {
      verdict: "problem",
      detail: `${stateFolder} cannot be written`,
      advice: "Choose another with --state-dir.",
    };
  }
  if (!exists) return { verdict: "good", detail: `${stateFolder} will be created` };
  const open = (statSync(stateFolder).mode & 0o077) !== 0;
  if (!open) return { verdict: "good", detail: `${stateFolder}, private` };
  return {
    verdict: "note",
    detail: `${stateFolder} can be read by others`,
    advice: `Run: chmod 700 ${stateFolder}`,
  };
}

/** Whether the store answers. Its chains are of all processes, and too long to be verified by the way. */
async function sharedStore(config: LoadedConfig): Promise<Found> {
  return await readStore(config, async (opened) => {
    const began = performance.now();
    await opened.probe?.();
    const detail = `${storeName(config)}, answers in ${Math.ceil(performance.now() - began)} ms`;
    return {
      verdict: "good",
      detail,
      advice: "Verify its chains with: sallyport audit verify",
    };
  });
}

/** Whether this process has the keys of the others. Looking takes them, as a start does. */
async function sharedKeys(config: LoadedConfig): Promise<Found> {
  return await readStore(config, async (opened) => {
    const sharing = keySharingOf(config, opened);
    const trouble = sharing && (await shareKeys(sharing));
    if (trouble) throw new SallyportError(trouble);
    const detail = sharing?.sealing
      ? "kept in the store, encrypted"
      : "files; those of the other processes match";
    return { verdict: "good", detail };
  });
}

async function store(config: LoadedConfig): Promise<Found> {
  if (!hasStore(config)) return { verdict: "good", detail: "empty; the first call creates it" };
  return await readStore(config, async (opened) => {
    const { events, broken } = await verifyAll(opened);
    const strays = (await opened.audit.strays?.()) ?? [];
    const detail = `${storeName(config)}, ${events} audit events`;
    if (broken.length === 0 && strays.length === 0)
      return { verdict: "good", detail: `${detail}, chains intact` };
    const advice = "Run: sallyport audit verify";
    return {
      verdict: "problem",
      detail: [detail, ...broken.map((tenant) => `chain of ${tenant} is not intact`), ...strays].join(", "),
      advice,
    };
  });
}

/** Whether large bodies can be kept, by keeping one. */
async function blobFinding(config: LoadedConfig): Promise<Found> {
  const blobs = openBlobs(config);
  if (blobs) await probeBlobs(blobs);
  return {
    verdict: "good",
    detail: `${blobsName(config)}: a blob was written, read and removed`,
  };
}

/** Which months of the audit record wait for the archive, and why one stays. */
async function archiveFinding(config: LoadedConfig): Promise<Found> {
  return await readStore(config, async (opened) => {
    const state = await auditArchiveOf({ config, store: opened })?.state();
    if (!state) return { verdict: "good", detail: "the audit record stays in the database: no `blobs`" };
    const { waiting, last } = state;
    const counts = [
      last ? `${last.month} is the last month in the archive` : "no month is in the archive yet",
      waiting.length === 0 ? "none waits" : `waiting: ${waiting.map(({ month }) => month).join(", ")}`,
    ].join("; ");
    const stays = waiting.filter(({ problem }) => problem !== undefined);
    if (stays.length === 0) return { verdict: "good", detail: counts };
    const why = stays.map(({ month, problem }) => `${month} stays: ${problem}`).join("; ");
    return {
      verdict: "note",
      detail: `${counts}; ${why}`,
      advice: "Then run: sallyport audit archive",
    };
  });
}

async function verifyAll(opened: Store): Promise<{ events: number; broken: string[] }> {
  let events = 0;
  const broken: string[] = [];
  for (const tenant of await opened.audit.tenants()) {
    const report = await verifyChain(opened.audit, tenant);
    events += report.events;
    if (report.findings.length > 0) broken.push(tenant);
  }
  return { events, broken };
}

/** Whether events reach their sinks, and what waits. A sink that is down stops no call. */
async function eventFinding(config: LoadedConfig): Promise<Found> {
  const sinks = openSinks(config);
  return await readStore(config, async (opened) => {
    const backlogs = backlogsOf(await opened.outbox.backlogs(), [...sinks.keys()]);
    const down = await sinksDown(sinks);
    const waiting = backlogs.map(
      ({ sink, batches, isEstimate }) =>
        `${sink}: ${batches === 0 ? "nothing waits" : `${isEstimate ? "about " : ""}${batches} batches wait`}`,
    );
    const detail = [...waiting, ...down].join("; ") || "not published";
    const left = backlogs.find(({ isConfigured }) => !isConfigured);
    if (left) {
      const advice = `The sink ${left.sink} is configured no more. Drop its events with: sallyport events drop ${left.sink}`;
      return { verdict: "note", detail, advice };
    }
    return { verdict: down.length === 0 ? "good" : "note", detail };
  });
}

async function sinksDown(sinks: ReadonlyMap<string, EventSink>): Promise<string[]> {
  const reasons = await Promise.all(
    Array.from(sinks.values(), async (sink) => {
      try {
        await sink.check?.();
        return [];
      } catch (error) {
        return [error instanceof Error ? error.message : String(error)];
      } finally {
        await sink.close?.();
      }
    }),
  );
  return reasons.flat();
}

async function tools(config: LoadedConfig): Promise<Found> {
  return await readStore(config, async (store) => {
    const engine = await createEngine({ store, registry: registryRulesOf(config) });
    try {
      const problems = await registerTools(engine, config, { keep: false });
      const names = engine.tools.list().map(({ manifest }) => `${manifest.id}@${manifest.version}`);
      const detail = names.length > 0 ? names.join(", ") : "none";
      if (problems.length === 0) return { verdict: names.length > 0 ? "good" : "note", detail };
      const wrong = problems.map(({ code, message }) => `${code} ${message}`).join("; ");
      return { verdict: "problem", detail: wrong, advice: problems[0]?.advice ?? "" };
    } finally {
      await engine.close();
    }
  });
}

/** Whether workers can tell this gateway from whoever else reaches their ports. */
function workerFinding({ place }: LoadedConfig): Found {
  if (workerSecretOf(place.environment ?? processEnvironment()) !== undefined)
    return { verdict: "good", detail: "this gateway shows them the secret that they share" };
  const detail = "no WORKER_SECRET: whoever reaches a worker can run its tools past the gateway";
  const advice = "Set WORKER_SECRET or WORKER_SECRET_FILE for the gateway and for its workers.";
  return { verdict: "note", detail, advice };
}

/** Runs a real tool in a real thread. */
async function threads(): Promise<Found> {
  const ending = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const moduleUrl = new URL(`./probe-tool.${ending}`, import.meta.url).href;
  const { probe } = (await import(moduleUrl)) as typeof import("./probe-tool.ts");
  const every = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"] };
  const grant = { id: "probe", ...every, capabilities: [] };
  const runners = [createThreadRunner()];
  const engine = await createEngine({
    store: createMemoryStore(),
    authority: grantAuthority([grant]),
    runners,
  });
  try {
    const implementation = { kind: "thread" as const, moduleUrl };
    must(await engine.tools.register(probe.manifest, { implementation }));
    const caller = { tenant: "doctor", agent: "doctor" };
    const answer = await engine.call({ tool: probe.manifest.id, input: { text: "ping" }, caller });
    if (answer.status !== "success") throw new SallyportError(answer.error);
    return {
      verdict: "good",
      detail: `a tool ran in a worker thread in ${answer.usage.durationMs} ms`,
    };
  } finally {
    await engine.close();
  }
}

function trust({ tools: modules }: LoadedConfig): Found {
  const trusted = modules.filter((entry) => typeof entry === "string" || entry.runner !== "script").length;
  if (trusted === 0) return { verdict: "good", detail: "none runs in this process" };
  const detail = `${trusted} module(s) run in threads or inline (LEVEL_0): faults are contained, malice is not`;
  const advice = "Run code you do not trust with `runner: script`, in a sandbox.";
  return { verdict: "note", detail, advice };
}

/** Whether tokens can be checked here. */
function tokenFinding(config: LoadedConfig): Found {
  const keys = configuredKeys(config);
  if (!keys) {
    const detail = "no keys; a call that brings a token is refused";
    if (!config.tokens.required) return { verdict: "good", detail };
    return { verdict: "problem", detail, advice: "Make keys with: sallyport keys init" };
  }
  if (isFailure(keys)) {
    return { verdict: "problem", detail: `${keys.code} ${keys.message}`, advice: keys.advice };
  }
  const need = config.tokens.required ? "every call needs one" : "checked where a call brings one";
  return { verdict: "good", detail: `${keys.kids.length} keys; ${need}` };
}

/** Which rules decide, and whether they can be used. */
function policyFinding(config: LoadedConfig): Found {
  const rules = openPolicyFiles(policyFilesOf(config));
  if (rules && isFailure(rules)) {
    const places = (rules.issues ?? []).map(({ path, reason }) => `${path} ${reason}`).join("; ");
    return {
      verdict: "problem",
      detail: `${rules.code} ${rules.message} ${places}`,
      advice: "Run: sallyport policy test",
    };
  }
  const { preset, opa, abac } = config.policy;
  const count = rules?.policies.reduce((sum, policy) => sum + policy.rules.length, 0) ?? 0;
  const parts = [
    ...(rules ? [`${count} rules in ${rules.files.length} files, examples hold`] : []),
    ...(preset ? [`preset ${preset.mode}`] : []),
    ...(opa ? [`OPA at ${opa.endpoint}`] : []),
    ...(abac ? [`ABAC at ${abac.baseUrl}`] : []),
  ];
  return { verdict: "good", detail: parts.join("; ") || "none; grants alone decide" };
}

/** What this host offers for tools in processes of their own, found out by running real sandboxes. */
async function sandboxFindings(config: LoadedConfig): Promise<Finding[]> {
  try {
    const offers = await offersOf(config);
    return [
      ...offers.map(offered),
      ...summary(offers),
      ...config.sandbox.weaker.map(weaker),
      ...config.sandbox.sockets.map(givenSockets),
    ];
  } catch (error) {
    const detail = error instanceof SallyportError ? error.failure.message : String(error);
    return [{ what: "sandbox", verdict: "problem", detail }];
  }
}

/** With the folder that calls use, so that doctor and `/readyz` say the same; a state folder that is not there is not made. */
async function offersOf(config: LoadedConfig): Promise<SandboxOffer[]> {
  if (!existsSync(config.stateFolder)) return tryIsolation(config, ({ rules }) => rules.sandbox.offers());
  const sandbox = openSandbox(config, config.stateFolder);
  return sandbox.offers().finally(() => sandbox.close());
}

function offered({ backend, level, available, missing, fix, facts }: SandboxOffer): Finding {
  const what = `sandbox ${backend}`;
  const known = Object.entries(facts).map(([name, value]) => `${name}: ${value}`);
  if (available) return { what, verdict: "good", detail: [level, ...known].join(", ") };
  return {
    what,
    verdict: "note",
    detail: `${level} is not available: ${missing.join("; ")}`,
    ...(fix.length > 0 && { advice: fix.join("\n    → ") }),
  };
}

/** Nothing is broken without it: a tool that needs it is refused, never run weaker. */
function summary(offers: readonly SandboxOffer[]): Finding[] {
  if (offers.some(({ available, level }) => available && level === "LEVEL_2")) return [];
  const detail = "LEVEL_2 is not available on this host; command and script tools are refused (E3101)";
  return [
    { what: "isolation", verdict: "note", detail, advice: "See the sandboxes above for what is missing." },
  ];
}

function givenSockets({ tools, paths, because }: LoadedConfig["sandbox"]["sockets"][number]): Finding {
  const detail = `${tools.join(", ")} may reach ${paths.join(", ")}: ${because}`;
  return { what: "sockets", verdict: "note", detail };
}

function weaker({ tools, level, because }: LoadedConfig["sandbox"]["weaker"][number]): Finding {
  const detail = `${tools.join(", ")} may run in ${level}: ${because}`;
  return { what: "weaker isolation", verdict: "note", detail };
}
