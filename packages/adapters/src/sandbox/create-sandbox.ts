import { chmod, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  Sandbox,
  SandboxOffer,
  SandboxOrder,
  SandboxProcess,
  WorkspaceView,
} from "@sallyport/engine/ports";
import {
  failure,
  ISOLATION_LEVELS,
  type Isolation,
  type IsolationLevel,
  SallyportError,
} from "@sallyport/protocol";
import { openEgress } from "../egress/index.ts";
import { bubblewrapBackend } from "./bubblewrap/bubblewrap-backend.ts";
import { closeHost, openHost, type SandboxHost } from "./host/sandbox-host.ts";
import { defaultRuntime, ociBackend } from "./oci/oci-backend.ts";
import { BACKENDS, type BackendName, type SandboxOptions } from "./options.ts";
import { type ResolvedOrder, resolveOrder } from "./plan/resolve-order.ts";
import { probeBackend } from "./probe/probe-backend.ts";
import { probeOrder } from "./probe/probe-order.ts";
import { NO_BACKEND, type PlainBackend, PROCESS_BACKEND } from "./process/process-backend.ts";
import { type Backend, isolationOf } from "./run/backend.ts";
import { prepareRun, type RunContext } from "./run/prepare-run.ts";
import { runSandbox } from "./run/run-sandbox.ts";

/** Makes sandboxes on this host. Nothing is looked at or made before the first use. */
export function createSandbox(options: SandboxOptions): Sandbox {
  return new HostSandbox(options);
}

type AnyBackend = Backend | PlainBackend;

class HostSandbox implements Sandbox {
  readonly #options: RunContext["options"];
  readonly #backends: readonly AnyBackend[];
  readonly #offers = new Map<AnyBackend, Promise<SandboxOffer>>();
  readonly #running = new Set<SandboxProcess>();
  #host: Promise<SandboxHost> | undefined;
  #isClosed = false;

  constructor(options: SandboxOptions) {
    this.#options = { openEgress, ...options };
    this.#backends = (options.backends ?? BACKENDS).map((name) => makeBackend(name, options));
  }

  async isolationFor(level: IsolationLevel): Promise<Isolation> {
    return isolationOf(await this.#backendFor(level));
  }

  async start(order: SandboxOrder): Promise<SandboxProcess> {
    const resolved = resolveOrder(order, this.#options.hidden ?? []);
    return this.#start(resolved, await this.#backendFor(order.level));
  }

  async offers(): Promise<SandboxOffer[]> {
    return Promise.all(this.#backends.map((backend) => this.#offer(backend)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running];
    for (const process of running) process.kill();
    await Promise.all(running.map((process) => process.ended));
    const host = await this.#host?.catch(() => undefined);
    if (host) await closeHost(host);
    this.#host = undefined;
  }

  async #start(resolved: ResolvedOrder, backend: AnyBackend): Promise<SandboxProcess> {
    if (this.#isClosed) throw unavailable("The sandbox was closed.", []);
    const host = await this.#openHost();
    const prepared = await prepareRun(resolved, backend, { host, options: this.#options }).catch(asRefusal);
    const sockets = resolved.mounts.flatMap(({ socket, source }) => (socket ? [source] : []));
    const process = runSandbox({
      order: resolved.order,
      isolation: { ...isolationOf(backend), ...(sockets.length > 0 && { sockets }) },
      prepared,
      tell: (event) => this.#options.onEvent?.(event),
    });
    this.#running.add(process);
    void process.ended.then(() => this.#running.delete(process));
    return process;
  }

  #openHost(): Promise<SandboxHost> {
    this.#host ??= openHost(this.#options).catch((error: unknown) => {
      this.#host = undefined;
      throw error;
    });
    return this.#host;
  }

  /** The strongest that offers at least this; nothing at all is only for those who ask for nothing. */
  async #backendFor(level: IsolationLevel): Promise<AnyBackend> {
    if (level === "LEVEL_0") return NO_BACKEND;
    const refused: SandboxOffer[] = [];
    for (const backend of this.#backends.filter((one) => rank(one.level) >= rank(level))) {
      const offer = await this.#offer(backend);
      if (offer.available) return backend;
      refused.push(offer);
    }
    throw cannotBeHad(level, refused);
  }

  /** Probed once per process; a refusal is probed again when somebody asks later, as its cause may be gone. */
  #offer(backend: AnyBackend): Promise<SandboxOffer> {
    const known = this.#offers.get(backend);
    if (known) return known;
    const offer = this.#probe(backend);
    this.#offers.set(backend, offer);
    void offer.then(({ available }) => {
      if (!available) setTimeout(() => this.#offers.delete(backend), REFUSAL_MS).unref();
    });
    return offer;
  }

  async #probe(backend: AnyBackend): Promise<SandboxOffer> {
    try {
      await this.#openHost();
    } catch (error) {
      return notOpened(backend, error);
    }
    return inProbeWorkspace((view) => {
      const order = () => resolveOrder(probeOrder(backend.level, view), this.#options.hidden ?? []);
      return probeBackend(backend, async () => this.#start(order(), backend));
    });
  }
}

/** How long a refusal is good for: longer than a burst of calls, shorter than somebody's patience. */
const REFUSAL_MS = 1000;

/** Without the launcher or its folders no backend is available. */
function notOpened({ name, level }: AnyBackend, error: unknown): SandboxOffer {
  if (!(error instanceof SallyportError)) throw error;
  const { message, advice, retryable } = error.failure;
  return {
    backend: name,
    level,
    available: false,
    missing: [message],
    fix: advice === undefined ? [] : [advice],
    facts: {},
    ...(retryable && { transient: true }),
  };
}

async function inProbeWorkspace<T>(probe: (view: WorkspaceView) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "sallyport-probe-")));
  try {
    const view = { root: join(folder, "workspace"), copy: join(folder, "copy") };
    for (const path of [folder, ...Object.values(view)]) {
      await mkdir(path, { recursive: true });
      await chmod(path, 0o755);
    }
    return await probe({ kind: "copy", ...view });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function makeBackend(name: BackendName, options: SandboxOptions): AnyBackend {
  switch (name) {
    case "bubblewrap":
      return bubblewrapBackend();
    case "oci":
      return ociBackend(options.ociRuntime ?? defaultRuntime());
    case "process":
      return PROCESS_BACKEND;
  }
}

function rank(level: IsolationLevel): number {
  return ISOLATION_LEVELS.indexOf(level);
}

function cannotBeHad(level: IsolationLevel, refused: readonly SandboxOffer[]): SallyportError {
  const reasons = refused.map(
    ({ backend, missing }) => `${backend}: ${missing.join(", ").replace(/\.+$/, "")}`,
  );
  const why = reasons.length > 0 ? reasons.join("; ") : "no backend that is switched on offers it";
  return unavailable(
    `${level} isolation is not available on this host. ${why}.`,
    refused.flatMap(({ fix }) => fix),
  );
}

function unavailable(message: string, fix: readonly string[]): SallyportError {
  const steps = fix.map((step) => step.replace(/\.+$/, ""));
  const advice = steps.length > 0 ? `Try, in this order: ${steps.join("; ")}.` : undefined;
  return new SallyportError(failure("E3101", { message, ...(advice !== undefined && { advice }) }));
}

/** Whatever stands in the way of a run is a sandbox that could not be made, unless it says more itself. */
function asRefusal(error: unknown): never {
  if (error instanceof SallyportError) throw error;
  const message = `The sandbox could not be made: ${error instanceof Error ? error.message : String(error)}.`;
  throw new SallyportError(failure("E3101", { message }), { cause: error });
}
