import { readFileSync } from "node:fs";
import type { WorkerReport, WorkerRunner } from "@sallyport/adapters/worker";
import type { ConfiguredGrant, Engine } from "@sallyport/engine";
import type { Implementation, Runner, ToolRecord } from "@sallyport/engine/ports";
import {
  defined,
  type Failure,
  failure,
  isFailure,
  SallyportError,
  type ToolManifest,
  WORKER_SECRET,
} from "@sallyport/protocol";
import { type Environment, processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type DomainPackage, readDomainPackage } from "./read-package.ts";
import { probedWorker } from "./tool-manifest.ts";

/** Reads the domain package of a configuration; undefined where it names none, E3919 with every fault of it. */
export function readConfiguredDomain({ domain, place }: LoadedConfig): DomainPackage | Failure | undefined {
  if (domain === undefined) return undefined;
  const { DOMAIN_ID: expectedId, WORKER_ADDRESSES: addresses } = place.environment ?? processEnvironment();
  return readDomainPackage(domain, { expectedId, addresses });
}

/** The same for whoever cannot go on without it: throws the failure. */
export function configuredDomain(config: LoadedConfig): DomainPackage | undefined {
  const read = readConfiguredDomain(config);
  if (read && isFailure(read)) throw new SallyportError(read);
  return read;
}

/**
 * What the workers know their gateway by: WORKER_SECRET, or the contents of the file that WORKER_SECRET_FILE names;
 * undefined when neither is set. Throws E3301, without a word of what was read, when it cannot be used.
 */
export function workerSecretOf({
  WORKER_SECRET: text,
  WORKER_SECRET_FILE: file,
}: Environment): string | undefined {
  const secret = text ?? (file === undefined ? undefined : contentsOf(file));
  if (secret === undefined || WORKER_SECRET.test(secret.trim())) return secret?.trim();
  const place = text === undefined ? `The file ${file}` : "The variable WORKER_SECRET";
  const message = `${place} holds no secret for workers: 16 to 1000 characters without spaces.`;
  throw new SallyportError(
    failure("E3301", { message, advice: "Make one, such as with: openssl rand -hex 32" }),
  );
}

function contentsOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const message = `The file ${file} of WORKER_SECRET_FILE cannot be read.`;
    throw new SallyportError(failure("E3301", { message }), { cause: error });
  }
}

/**
 * Without a configuration file nobody has said who may call what: then whoever reaches the door, which listens on loopback,
 * may run exactly the tools of the domain. A file is deny by default, as ever.
 */
export function grantsWithoutFile(
  config: LoadedConfig,
  domain: DomainPackage | undefined,
): ConfiguredGrant[] {
  if (!domain || config.file !== undefined || config.grants.length > 0) return [];
  if (config.http.callers !== "open") return [];
  const tools = domain.tools.map(({ id }) => id);
  return [{ id: "domain-tools", tools, operations: ["*"], agents: ["*"], tenants: ["*"], capabilities: [] }];
}

/** Throws E3921 where a command would run something else than the workers of a domain (D-9, AX-INV-1). */
export function refuseInGateway({ domain }: LoadedConfig, what: string): void {
  if (domain === undefined) return;
  throw new SallyportError(
    failure("E3921", {
      message: `${what} is not for a gateway: this configuration has a domain, and then only its workers run tools.`,
      advice: "Use another folder or --config with a configuration without `domain`.",
    }),
  );
}

/** A tool and how its worker is reached. */
interface PlannedTool {
  manifest: ToolManifest;
  implementation: Implementation;
}

/** What runs the tools of a domain. */
export interface DomainRunners {
  services: WorkerRunner;
  jobs: Runner;
}

/**
 * The domain that this process serves: one at a time (AX-INV-4). Only what it holds gets code, whatever the store knows of
 * earlier domains or of other processes.
 */
export class Gateway {
  /** The only ones that its engine may have (AX-INV-1). */
  readonly runners: readonly Runner[];
  /** What clients that have the catalogue of this version do not know of. */
  unannounced: readonly string[] = [];
  readonly #services: WorkerRunner;
  readonly #jobs: Runner;
  #domain: DomainPackage;

  constructor(domain: DomainPackage, { services, jobs }: DomainRunners) {
    this.#domain = domain;
    this.#services = services;
    this.#jobs = withPackageFolder(jobs, () => this.#domain.folder);
    this.runners = [this.#gated(services), this.#gated(this.#jobs)];
    this.adopt(domain);
  }

  get domain(): DomainPackage {
    return this.#domain;
  }

  /** The tool as the domain has it now; undefined when it has none of that id. */
  tool(id: string): ToolManifest | undefined {
    return this.#domain.tools.find((tool) => tool.id === id);
  }

  /** From here on this is the domain. Calls under way finish with what they began with. */
  adopt(domain: DomainPackage): void {
    this.#domain = domain;
    this.#services.watch(domain.tools.flatMap((tool) => probedWorker(tool) ?? []));
  }

  /** Asks every worker how it is; never rejects. It decides nothing: calls are sent to a worker that was down too. */
  async probe(): Promise<void> {
    await this.#services.probe();
  }

  /** How the worker of each tool stands; undefined for one that is started for each run. */
  health(): (tool: ToolManifest) => WorkerReport | undefined {
    const reports = new Map(this.#services.health().map((report) => [report.baseUrl, report]));
    return (tool) => {
      const worker = probedWorker(tool);
      return worker && (reports.get(worker.baseUrl) ?? { baseUrl: worker.baseUrl, state: "unknown" });
    };
  }

  /** Every service of the domain, with its tools and how it stands. */
  workers(): (WorkerReport & { tools: string[] })[] {
    const health = this.health();
    const workers = new Map<string, WorkerReport & { tools: string[] }>();
    for (const tool of this.#domain.tools) {
      const report = health(tool);
      if (!report) continue;
      const known = workers.get(report.baseUrl);
      if (known) known.tools.push(tool.id);
      else workers.set(report.baseUrl, { ...report, tools: [tool.id] });
    }
    return [...workers.values()];
  }

  /** Every tool of a domain with its worker, and every reason why not. */
  plan({ tools }: DomainPackage): { tools: PlannedTool[]; refused: Failure[] } {
    const planned: PlannedTool[] = [];
    const wrong: Failure[] = [];
    for (const manifest of tools) {
      const implementation = this.#services.bind?.(manifest) ?? this.#jobs.bind?.(manifest);
      if (implementation && !isFailure(implementation)) planned.push({ manifest, implementation });
      else wrong.push(implementation ?? failure("E3920", { message: `${manifest.id} is no worker.` }));
    }
    return { tools: planned, refused: wrong };
  }

  /** Registers the tools at the start. Throws what there is against it. */
  async register({ tools }: Pick<Engine, "tools">): Promise<void> {
    this.unannounced = unannouncedTools(this.#domain, tools.list());
    const { tools: load, refused: unbound } = this.plan(this.#domain);
    const refused = unbound.length > 0 ? unbound : await tools.exchange({ load, unload: [] });
    if (refused.length > 0) throw domainRefusal(refused, this.#domain);
  }

  /** The same runner, which finds code for the tools of the domain alone. */
  #gated(workers: Runner): Runner {
    return changed(workers, {
      bind: (manifest) => {
        const isOwn = this.tool(manifest.id)?.version === manifest.version;
        return isOwn ? workers.bind?.(manifest) : undefined;
      },
    });
  }
}

/** A job's command starts in the folder of its package, which it may read. */
function withPackageFolder(jobs: Runner, folder: () => string): Runner {
  return changed(jobs, {
    prepare: (call, rules) => {
      const { permissions } = call.tool;
      const filesystem = [{ path: folder(), mode: "ro" as const }, ...permissions.filesystem];
      const tool = { ...call.tool, permissions: { ...permissions, filesystem } };
      return jobs.prepare?.({ ...call, tool }, rules) ?? {};
    },
  });
}

/** A runner with some of its methods replaced. */
function changed(runner: Runner, methods: Partial<Runner>): Runner {
  const { kind, isolation, enforcement, isSandboxed } = runner;
  return {
    kind,
    isolation,
    ...defined({ enforcement, isSandboxed }),
    ...(runner.bind && { bind: (manifest) => runner.bind?.(manifest) }),
    ...(runner.prepare && { prepare: (call, rules) => runner.prepare?.(call, rules) ?? {} }),
    run: (job) => runner.run(job),
    close: () => runner.close(),
    ...methods,
  };
}

/** One failure for all that the registry says against the tools of a domain. */
export function domainRefusal(refused: readonly Failure[], domain: DomainPackage): SallyportError {
  const { id, version, folder } = domain;
  const [first = failure("E3920")] = refused;
  const isAll = (code: Failure["code"]) => refused.every((one) => one.code === code);
  const issues = refused.flatMap(({ code, message, issues: own = [] }) => [
    { path: code, reason: message },
    ...own,
  ]);
  const [message, advice] = isAll("E3011")
    ? [`Tools of the domain ${id} have changed, and its version is still "${version}".`, "Raise `version`"]
    : isAll("E3009")
      ? [`Tools of the domain ${id} break their callers in version "${version}".`, RAISE_FIRST]
      : [`The domain package ${folder} cannot be taken.`, undefined];
  const where = `in ${folder}/manifest.yaml.`;
  return new SallyportError(
    failure(first.code, { message, ...(advice && { advice: `${advice} ${where}` }), issues }),
  );
}

const RAISE_FIRST = "Raise the first number of `version` (below 1.0 the second)";

/**
 * Tools that were added or taken away since a domain was registered in this very version: clients that have its catalogue
 * do not look again.
 */
export function unannouncedTools(
  { id, version, tools }: DomainPackage,
  known: readonly Pick<ToolRecord, "manifest">[],
): string[] {
  const before = known
    .map(({ manifest }) => manifest)
    .filter(({ source: { metadata } }) => metadata?.domain_id === id && metadata.domain_version === version)
    .map((manifest) => manifest.id);
  if (before.length === 0) return [];
  const now = tools.map((tool) => tool.id);
  return [
    ...now.filter((one) => !before.includes(one)),
    ...before.filter((one) => !now.includes(one)),
  ].sort();
}
