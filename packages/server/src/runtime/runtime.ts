import { createJobRunner, createWorkerRunner } from "@sallyport/adapters/worker";
import {
  type ConfiguredGrant,
  createEngine,
  createThreadRunner,
  DEFAULT_LIMITS,
  type Engine,
  type LeaseRules,
  type RecoveryVerdict,
  type TokenChecker,
} from "@sallyport/engine";
import type { Bus, ErrorHandler, Hook, Meter, Policy, Tracer } from "@sallyport/engine/ports";
import { type Failure, SallyportError } from "@sallyport/protocol";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { EventPublishers, openSinks, type SinkStatus } from "../events/index.ts";
import {
  configuredDomain,
  type DomainRunners,
  Gateway,
  grantsWithoutFile,
  workerSecretOf,
} from "../gateway/gateway.ts";
import { keySharingOf, shareKeys } from "../keys/index.ts";
import type { PolicyFiles } from "../policy/policy-files.ts";
import { LiveRuntime } from "../reload/live-runtime.ts";
import { approvalRulesOf, openAuthority } from "./authority.ts";
import { type OpenIsolation, openIsolation } from "./isolation.ts";
import { operatorLimitsOf } from "./operator-limits.ts";

import { type RunningServices, type ServiceOptions, startServices } from "./services.ts";
import { openPersistence, type Persistence } from "./store.ts";
import { registerTools, registryRulesOf } from "./tools.ts";

/** A way in: it is open once it is made, takes no more requests after `stopAccepting`, and holds no rule of its own. */
export interface Door {
  readonly url: string;
  stopAccepting(): void;
  /** Ends every connection; answers that are being written get so long. */
  close(options: { withinMs: number }): Promise<void>;
}

/** A Sallyport that is open for calls, with or without doors. */
export interface Runtime {
  readonly config: LoadedConfig;
  readonly engine: Engine;
  readonly store: Persistence["store"];
  readonly bus: Bus;
  /** For files of this process alone; the state folder, unless another process has it. */
  readonly ownFolder: string;
  /** What can be exchanged without a restart. */
  readonly live: LiveRuntime;
  /** Checks tokens; undefined where none could ever be checked. */
  readonly tokens: TokenChecker | undefined;
  /** What calls of an earlier process that ended too soon have come to. */
  readonly recovered: RecoveryVerdict[];
  /** Tools that could not be had, each with its reason. */
  readonly problems: Failure[];
  /** Of every configured sink, and of others that events still wait for. */
  sinks(): Promise<SinkStatus[]>;
  /** The rules files, to be read again without a restart; absent when there are none. */
  readonly rules?: PolicyFiles;
  /**
   * Starts what a process that stays does by itself: queue, webhooks, publishing, expiry, housekeeping. A one-shot command
   * does without. Throws E3227 when there is no secret to sign webhooks with.
   */
  startServices(options: ServiceOptions): Promise<void>;
  /**
   * Stops the services, publishes for some seconds what waits in the outbox, and closes everything; resolves with why
   * events still wait, if they do. With the signal calls and sending end at once.
   */
  close(signal?: AbortSignal): Promise<string | undefined>;
}

interface OpenOptions {
  config: LoadedConfig;
  /** In addition to the configured ones: what the person at the command line lets happen this once. */
  grants?: readonly ConfiguredGrant[];
  /** In addition to the configured ones; the strictest counts. */
  policies?: readonly Policy[];
  /** The folder that is worked in, which standing grants may be bound to; the configuration's when left out. */
  project?: string;
  hooks?: Hook[];
  errors?: ErrorHandler;
  meter?: Meter;
  tracer?: Tracer;
  /** Names this process in measurements. */
  instance?: string;
  /** It needs the state folder itself, also on a store that others share: E3915 when another process has it. */
  needsStateFolder?: boolean;
}

/** Opens the store, recovers, loads the tools and wires the engine. Throws with a code when any of it fails. */
export async function openRuntime({ config, ...options }: OpenOptions): Promise<Runtime> {
  const { grants, policies, project, hooks, errors, meter, tracer, instance, needsStateFolder } = options;
  // Before anything is opened: a gateway with a fault in its domain does not start.
  const domain = configuredDomain(config);
  const persistence = await openPersistence(config, {
    needsStateFolder,
    onBusProblem: (reason) =>
      errors?.report({
        error: new Error(`The bus is not connected: ${reason}`),
        code: "E3914",
        stage: "bus",
      }),
  });
  const { store, bus, ownFolder } = persistence;
  // Closed again, the last one first, when a later step fails.
  const opened: (() => Promise<unknown>)[] = [() => persistence.close()];
  try {
    const keySharing = keySharingOf(config, store);
    const keyTrouble = keySharing && (await shareKeys(keySharing));
    if (keyTrouble) throw new SallyportError(keyTrouble);
    const {
      rules,
      tokens,
      drop: dropPolicies,
      ...authority
    } = openAuthority(config, {
      bus,
      errors,
      grants: [...(grants ?? []), ...grantsWithoutFile(config, domain)],
      policies,
      project,
    });
    const isolation = await openIsolation(config, ownFolder);
    opened.push(() => isolation.close());
    const gateway = domain && new Gateway(domain, runnersOf(config, isolation));
    const events = new EventPublishers(store.outbox, openSinks(config));
    const engine = await createEngine({
      store,
      bus,
      ...authority,
      approvals: approvalRulesOf(config),
      ...operatorLimitsOf(config, domain),
      ...(gateway
        ? { runners: gateway.runners, onlyGivenRunners: true }
        : { runners: [createThreadRunner({ maxThreads: config.limits.threads }), ...isolation.runners] }),
      isolation: isolation.rules,
      sinks: events.names,
      onEvents: () => events.wake(),
      registry: registryRulesOf(config),
      limits: {
        input: { ...DEFAULT_LIMITS.input, maxBytes: config.limits.inputBytes },
        maxOutputBytes: config.limits.outputBytes,
        queued: config.limits.queuedCalls,
      },
      ...(hooks && { hooks }),
      ...(errors && { errors }),
      ...(meter && { meter }),
      ...(tracer && { tracer }),
      ...(instance !== undefined && { instance }),
      lease: leaseOf(config),
    });
    opened.push(() => engine.close());
    const recovered = await engine.recover();
    await isolation.rules.workspaces.expire();
    await engine.approvals.expireDue();
    const problems = gateway
      ? await gateway.register(engine).then(() => [])
      : await registerTools(engine, config, { keep: true, sandbox: isolation.rules.sandbox });
    const { workspaces } = isolation.rules;
    let services: RunningServices | undefined;
    const live = new LiveRuntime({
      ...{ authority: authority.authority, bus, errors, dropPolicies, sandbox: isolation.rules.sandbox },
      gateway,
    });
    live.follow((changed) => isolation.hide(changed));
    return {
      config,
      engine,
      store,
      bus,
      ownFolder,
      live,
      tokens,
      recovered,
      problems,
      sinks: () => events.status(),
      ...(rules && { rules }),
      startServices: async (options) => {
        services ??= await startServices(
          { config, engine, store, bus, workspaces, events, keySharing, gateway },
          options,
        );
      },
      close: (signal) => closeRuntime({ config, engine, persistence, isolation, events, services }, signal),
    };
  } catch (error) {
    for (const close of opened.reverse())
      await close().catch((problem) => errors?.report({ error: problem, code: "E3900", stage: "close" }));
    throw error;
  }
}

/** All that a gateway runs tools with. */
function runnersOf(config: LoadedConfig, { rules }: OpenIsolation): DomainRunners {
  const secret = workerSecretOf(config.place.environment ?? processEnvironment());
  return { services: createWorkerRunner({ secret }), jobs: createJobRunner({ sandbox: rules.sandbox }) };
}

function leaseOf({ store: { leaseSeconds } }: LoadedConfig): LeaseRules {
  return { leaseMs: leaseSeconds * 1_000, renewMs: (leaseSeconds * 1_000) / 3 };
}

interface Closing {
  config: LoadedConfig;
  engine: Engine;
  persistence: Persistence;
  isolation: OpenIsolation;
  events: EventPublishers;
  services: RunningServices | undefined;
}

async function closeRuntime(
  { config, engine, persistence, isolation, events, services }: Closing,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (services) {
    // Queued calls that this process took up may finish; nobody else would give them an end.
    await engine.drain({ withinMs: signal?.aborted ? 0 : config.http.shutdownSeconds * 1_000 });
    await services.stop();
  }
  await engine.close();
  await isolation.close();
  try {
    // What cannot be sent is safe in the outbox and goes out next time; the calls themselves are done and on record.
    // On a shared store the servers publish: a command that asked for partitions would keep them from these for a while.
    const sendsRest = services !== undefined || !persistence.store.isShared;
    return await events.close({ sendsRest, signal });
  } finally {
    await persistence.close();
  }
}
