import { isDeepStrictEqual } from "node:util";
import type { Engine } from "@sallyport/engine";
import type { Implementation } from "@sallyport/engine/ports";
import { type Failure, failure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import {
  type ConfigReading,
  type LoadedConfig,
  missingConfig,
  readConfig,
  wrongConfig,
} from "../config/load.ts";
import { configuredDomain, domainRefusal, grantsWithoutFile, unannouncedTools } from "../gateway/gateway.ts";
import type { DomainPackage } from "../gateway/read-package.ts";
import type { PolicyFiles } from "../policy/policy-files.ts";
import { type OpenAuthority, openAuthority } from "../runtime/authority.ts";
import { operatorLimitsOf } from "../runtime/operator-limits.ts";
import { changedKeys, inForce } from "./changed-keys.ts";
import type { LiveRuntime } from "./live-runtime.ts";
import { type PlannedTool, planTools, type ToolLookup, type ToolPlan, toolNow } from "./plan-tools.ts";

/** What holds calls back, and the tools themselves, with how to say that there shall be none. */
const SECTIONS = { policy: "{}", agents: "[]", toolLimits: "[]", tools: "[]" } as const;

type Section = keyof typeof SECTIONS;

/**
 * Throws E3919 when the file is gone, or has lost a section that was in force: it may be half written, and then it would
 * take rules away that nobody meant to. Whoever means it writes the section out, empty.
 */
function refuseLostSections(before: LoadedConfig, read: ConfigReading & { ok: true }): void {
  if (before.file !== undefined && read.file === undefined) throw missingConfig(before.file);
  const lost = (Object.keys(SECTIONS) as Section[]).filter((section) => isLost(section, before, read));
  const [first] = lost;
  if (first === undefined) return;
  throw new SallyportError(
    failure("E3919", {
      message: `${read.file} has lost ${lost.join(", ")}; it may be half written.`,
      advice: `If there shall be none, say so: \`${first}: ${SECTIONS[first]}\`. Or start the server again.`,
      issues: lost.map((section) => ({ path: section, reason: "was in force and is not in the file" })),
    }),
  );
}

function isLost(
  section: Section,
  before: LoadedConfig,
  { config, originOf }: ConfigReading & { ok: true },
): boolean {
  return originOf([section]).kind === "default" && !isDeepStrictEqual(before[section], config[section]);
}

/** An open server, as far as a reload concerns it. What it replaces here nobody else may. */
export interface ReloadableRuntime {
  config: LoadedConfig;
  readonly engine: Engine;
  rules?: PolicyFiles;
  readonly live: LiveRuntime;
}

/** What a reload has come to. */
export type ReloadReport =
  | {
      ok: true;
      /** Undefined when everything is a default. */
      file: string | undefined;
      /** Keys that have another value from now on. */
      applied: string[];
      /** Keys that changed and count only from the next start. */
      needsRestart: string[];
      tools: ToolChanges;
      /** Of a gateway: what it serves now. */
      domain: { id: string; version: string } | undefined;
    }
  /** Nothing has changed. */
  | { ok: false; failure: Failure };

/**
 * Reads the configuration, the rules and the tools again and puts them into force all at once; when any of it is wrong,
 * what was in force stays, and the report says what and where. Never rejects for what is in a file.
 */
export function reloadRuntime(runtime: ReloadableRuntime): Promise<ReloadReport> {
  return runtime.live.inTurn(async () => {
    try {
      return await reload(runtime);
    } catch (error) {
      if (error instanceof SallyportError) return { ok: false, failure: error.failure };
      throw error;
    }
  });
}

async function reload(runtime: ReloadableRuntime): Promise<ReloadReport> {
  const read = readAgain(runtime.config);
  const config = inForce(runtime.config, read);
  const { bus, errors } = runtime.live;
  const domain = domainAgain(runtime, config);
  const opened = openAuthority(config, { bus, errors, grants: grantsWithoutFile(config, domain) });
  try {
    const plan = await planned(runtime, { config, domain });
    const refuse = (why: Failure[]) => (domain ? domainRefusal(why, domain) : refusalOf(why));
    if (Array.isArray(plan)) throw refuse(plan);
    const compared = compareTools(plan, runtime.engine.tools);
    const unannounced = domain ? unannouncedTools(domain, runtime.engine.tools.list()) : [];
    const keys = changedKeys(runtime.config, read);
    const refusals = await runtime.engine.tools.exchange({
      load: plan.tools,
      unload: compared.goneVersions,
      together: () => {
        putInForce(runtime, { config, domain, opened, plan, compared });
        if (runtime.live.gateway) runtime.live.gateway.unannounced = unannounced;
      },
    });
    if (refusals.length > 0) throw refuse(refusals);
    return { ok: true, file: read.file, ...keys, tools: changesOf(compared), domain };
  } catch (error) {
    if (runtime.config !== config) opened.drop();
    throw error;
  }
}

function readAgain(before: LoadedConfig): LoadedConfig {
  const read = readConfig(before.place);
  if (!read.ok) throw wrongConfig(read.issues);
  refuseLostSections(before, read);
  return read.config;
}

/** The domain package as it is now. A server cannot become a gateway, or stop being one, while it is open (D-9). */
function domainAgain({ live }: ReloadableRuntime, config: LoadedConfig): DomainPackage | undefined {
  const domain = configuredDomain(config);
  if ((domain === undefined) === (live.gateway === undefined)) return domain;
  throw new SallyportError(
    failure("E3919", {
      message: `\`domain\` was ${domain ? "added" : "taken away"}; what this server was opened as counts until it ends.`,
      advice: "Start the server again.",
    }),
  );
}

async function planned(
  { live, engine }: ReloadableRuntime,
  { config, domain }: Pick<Next, "config" | "domain">,
): Promise<ToolPlan | Failure[]> {
  if (!domain || !live.gateway) return await planTools(config, { live, registered: engine.tools });
  const { tools, refused } = live.gateway.plan(domain);
  return refused.length > 0 ? refused : { tools, modules: new Map() };
}

interface Next {
  config: LoadedConfig;
  /** Of a gateway: what it is to serve. */
  domain: DomainPackage | undefined;
  /** The authority that the new configuration would open with; only its rules are taken over. */
  opened: OpenAuthority;
  plan: ToolPlan;
  compared: ComparedTools;
}

/** From here on nothing can fail, and nobody sees a part of it. */
function putInForce(runtime: ReloadableRuntime, { config, domain, opened, plan, compared }: Next): void {
  const { live, engine } = runtime;
  const { admission, toolRules } = operatorLimitsOf(config, domain);
  const { authority, rules } = opened;
  const gone = goneTools(live.goneTools, { plan, compared });
  live.authority.adopt(authority);
  engine.adjust({
    admission,
    toolRules: (tool) => (gone.has(tool) ? { enabled: false } : toolRules(tool)),
  });
  live.dropPolicies();
  live.dropPolicies = () => opened.drop();
  live.goneTools = gone;
  if (domain) live.gateway?.adopt(domain);
  live.modules = plan.modules;
  runtime.config = config;
  if (rules) runtime.rules = rules;
  else delete runtime.rules;
  live.bus.publish("policy:updates", {});
  live.tell(config);
}

/** Tools that lost their last version by this reload or an earlier one and are not back. */
function goneTools(
  before: ReadonlySet<string>,
  { plan, compared }: Pick<Next, "plan" | "compared">,
): Set<string> {
  const gone = new Set([...before, ...compared.goneVersions.map(({ id }) => id)]);
  for (const { manifest } of plan.tools) gone.delete(manifest.id);
  return gone;
}

/** One failure for all that is wrong. */
function refusalOf(problems: readonly Failure[]): SallyportError {
  const [first = failure("E3920")] = problems;
  if (problems.length === 1) return new SallyportError(first);
  const issues = problems.map(({ code, message }) => ({ path: code, reason: message }));
  return new SallyportError(
    failure(first.code, { message: `${problems.length} tools cannot be loaded.`, issues }),
  );
}

/** What a reload does to the tools, as `id@version`. */
interface ToolChanges {
  added: string[];
  /** Called with other code from now on. */
  changed: string[];
  /** No module has it any more. */
  gone: string[];
}

/** A plan compared with what is there. */
interface ComparedTools {
  added: PlannedTool[];
  changed: PlannedTool[];
  goneVersions: ToolManifest[];
}

/** Finds out what is new, different and gone. */
function compareTools({ tools }: ToolPlan, registered: ToolLookup): ComparedTools {
  const known = new Set(registered.list().map(({ manifest }) => nameOf(manifest)));
  const planned = new Set(tools.map(({ manifest }) => nameOf(manifest)));
  const withCode = registered
    .list()
    .map(({ manifest }) => manifest)
    .filter((manifest) => toolNow(manifest, registered)?.implementation);
  const goneVersions = withCode.filter((manifest) => !planned.has(nameOf(manifest)));
  return {
    added: tools.filter(({ manifest }) => !known.has(nameOf(manifest))),
    changed: tools.filter(
      ({ manifest, implementation }) =>
        known.has(nameOf(manifest)) && !isSame(implementation, toolNow(manifest, registered)?.implementation),
    ),
    goneVersions,
  };
}

function isSame(wanted: Implementation, present: Implementation | undefined): boolean {
  return isDeepStrictEqual(wanted, present);
}

/** What a person is told about it. */
function changesOf({ added, changed, goneVersions }: ComparedTools): ToolChanges {
  const names = (tools: readonly PlannedTool[]) => tools.map(({ manifest }) => nameOf(manifest));
  return { added: names(added), changed: names(changed), gone: goneVersions.map(nameOf) };
}

function nameOf({ id, version }: ToolManifest): string {
  return `${id}@${version}`;
}
