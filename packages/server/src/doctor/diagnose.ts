import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import {
  createEngine,
  createMemoryStore,
  createThreadRunner,
  grantAuthority,
  type Store,
  verifyChain,
} from "@sallyport/engine";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { shelveTools } from "../compose.ts";
import type { LoadedConfig } from "../config/load.ts";
import { hasStore } from "../has-store.ts";
import { policyFinding, tokenFinding } from "./authority-findings.ts";
import { sandboxFindings } from "./sandbox-findings.ts";

/** One thing looked at. `note` is worth knowing, `problem` stops calls. */
export interface Finding {
  what: string;
  verdict: "good" | "note" | "problem";
  detail: string;
  advice?: string;
}

const OLDEST_NODE = 24;

/** Looks at everything a call depends on, by trying it. Never throws: what goes wrong is a finding. */
export async function diagnose(config: LoadedConfig): Promise<Finding[]> {
  return [
    runtime(),
    configuration(config),
    folder(config),
    await attempt("store", () => store(config)),
    await attempt("tokens", async () => tokenFinding(config)),
    await attempt("policy", async () => policyFinding(config)),
    await attempt("tools", () => tools(config)),
    await attempt("threads", () => threads()),
    trust(config),
    ...(await sandboxFindings(config)),
  ];
}

async function attempt(what: string, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof SallyportError)) return { what, verdict: "problem", detail: String(error) };
    const { code, message, advice } = error.failure;
    return { what, verdict: "problem", detail: `${code} ${message}`, advice };
  }
}

function runtime(): Finding {
  const major = Number(process.versions.node.split(".")[0]);
  const detail = `Node ${process.versions.node} on ${process.platform} ${process.arch}`;
  if (major >= OLDEST_NODE) return { what: "runtime", verdict: "good", detail };
  return { what: "runtime", verdict: "problem", detail, advice: `Use Node ${OLDEST_NODE} or newer.` };
}

function configuration({ file, tools: modules, grants }: LoadedConfig): Finding {
  const what = "configuration";
  if (!file) {
    const advice = "Write a sallyport.yaml with tools and grants; without a grant nothing runs.";
    return { what, verdict: "note", detail: "no file, only defaults", advice };
  }
  const detail = `${file}: ${modules.length} tool modules, ${grants.length} grants`;
  if (grants.length > 0) return { what, verdict: "good", detail };
  return { what, verdict: "note", detail, advice: "Add a grant; without one nothing runs." };
}

function folder({ stateFolder }: LoadedConfig): Finding {
  const what = "state folder";
  const exists = existsSync(stateFolder);
  try {
    accessSync(exists ? stateFolder : dirname(stateFolder), constants.W_OK);
  } catch {
    return {
      what,
      verdict: "problem",
      detail: `${stateFolder} cannot be written`,
      advice: "Choose another with --state-dir.",
    };
  }
  if (!exists) return { what, verdict: "good", detail: `${stateFolder} will be created` };
  const open = (statSync(stateFolder).mode & 0o077) !== 0;
  if (!open) return { what, verdict: "good", detail: `${stateFolder}, private` };
  return {
    what,
    verdict: "note",
    detail: `${stateFolder} can be read by others`,
    advice: `Run: chmod 700 ${stateFolder}`,
  };
}

async function store({ stateFolder, durability }: LoadedConfig): Promise<Finding> {
  const what = "store";
  if (!hasStore(stateFolder)) return { what, verdict: "good", detail: "empty; the first call creates it" };
  const opened = await openSqliteStore({ folder: stateFolder, readOnly: true });
  try {
    const { events, broken } = await verifyAll(opened);
    const detail = `${events} audit events, durability ${durability}`;
    if (broken.length === 0) return { what, verdict: "good", detail: `${detail}, chains intact` };
    const advice = "Run: sallyport audit verify";
    return {
      what,
      verdict: "problem",
      detail: `${detail}, chain of ${broken.join(", ")} is not intact`,
      advice,
    };
  } finally {
    await opened.close();
  }
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

async function tools(config: LoadedConfig): Promise<Finding> {
  const what = "tools";
  const nothingYet = !hasStore(config.stateFolder);
  const store = nothingYet
    ? createMemoryStore()
    : await openSqliteStore({ folder: config.stateFolder, readOnly: true });
  const engine = await createEngine({ store });
  try {
    const problems = await shelveTools(engine, config, { keep: false });
    const names = engine.tools.list().map(({ manifest }) => `${manifest.id}@${manifest.version}`);
    const detail = names.length > 0 ? names.join(", ") : "none";
    if (problems.length === 0) return { what, verdict: names.length > 0 ? "good" : "note", detail };
    const wrong = problems.map(({ code, message }) => `${code} ${message}`).join("; ");
    return { what, verdict: "problem", detail: wrong, advice: problems[0]?.advice ?? "" };
  } finally {
    await engine.close();
    await store.close();
  }
}

/** Runs a real tool in a real thread. */
async function threads(): Promise<Finding> {
  const moduleUrl = new URL(
    import.meta.url.endsWith(".ts") ? "./probe-tool.ts" : "./probe-tool.js",
    import.meta.url,
  ).href;
  const { probe } = (await import(moduleUrl)) as typeof import("./probe-tool.ts");
  const grant = {
    id: "probe",
    tenants: ["*"],
    agents: ["*"],
    tools: ["*"],
    operations: ["*"],
    capabilities: [],
  };
  const runners = { thread: createThreadRunner() };
  const engine = await createEngine({
    store: createMemoryStore(),
    authority: grantAuthority([grant]),
    runners,
  });
  try {
    const shelved = await engine.tools.register(probe.manifest, {
      implementation: { kind: "thread", moduleUrl },
    });
    if (isFailure(shelved)) throw new SallyportError(shelved);
    const caller = { tenant: "doctor", agent: "doctor" };
    const answer = await engine.call({ tool: probe.manifest.id, input: { text: "ping" }, caller });
    if (answer.status !== "success") throw new SallyportError(answer.error);
    return {
      what: "threads",
      verdict: "good",
      detail: `a tool ran in a worker thread in ${answer.usage.durationMs} ms`,
    };
  } finally {
    await engine.close();
  }
}

function trust({ tools: modules }: LoadedConfig): Finding {
  const trusted = modules.filter((entry) => typeof entry === "string" || entry.runner !== "script").length;
  const what = "functions";
  if (trusted === 0) return { what, verdict: "good", detail: "none runs in this process" };
  const detail = `${trusted} module(s) run in threads or inline (LEVEL_0): faults are contained, malice is not`;
  const advice = "Run code you do not trust with `runner: script`, in a sandbox.";
  return { what, verdict: "note", detail, advice };
}
