import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openEgress } from "@sallyport/adapters/egress";
import { createSandbox } from "@sallyport/adapters/sandbox";
import { nodeRuntime } from "@sallyport/adapters/sandbox-runners";
import { DEFAULT_DENIED, openWorkspaces } from "@sallyport/adapters/workspace";
import { createProcessRunner, createScriptRunner } from "@sallyport/engine";
import type { HostCredential, IsolationRules, Runner, Sandbox } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { referencesIn } from "../config/secret-schema.ts";
import { configuredSecrets } from "./configured-secrets.ts";

/** Everything it takes to run tools in processes of their own, and to change files. */
export interface OpenIsolation {
  rules: IsolationRules;
  runners: Runner[];
  /** Hides what a changed configuration refers to, too; what was hidden stays so. */
  hide(config: LoadedConfig): void;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;

/** Makes ready, in a folder of this process alone; whether a sandbox is available is found out when the first one is needed. */
export async function openIsolation(config: LoadedConfig, ownFolder: string): Promise<OpenIsolation> {
  const { sandbox: settings, effects } = config;
  const root = workspaceRoot(config);
  const hidden = hiddenPaths(config);
  const sandbox = openSandbox(config, ownFolder, hidden);
  const workspaces = await openWorkspaces({
    folder: join(ownFolder, "files"),
    keepMs: effects.undoDays * DAY_MS,
    keepBytes: effects.undoBytes,
    copyLimitBytes: effects.copyBytes,
    ...(settings.user && { sandboxUser: settings.user }),
  });
  const { perTool, total, idleSeconds } = settings.warm;
  const runners = [
    createProcessRunner({ sandbox }),
    createScriptRunner({
      sandbox,
      ...nodeRuntime(config.folder),
      pool: { perKey: perTool, total, idleMs: idleSeconds * 1_000 },
    }),
  ];
  const rules: IsolationRules = {
    sandbox,
    workspaces,
    root,
    hidden,
    denied: deniedPatterns(config),
    weaker: settings.weaker,
    sockets: settings.sockets,
    credentials: credentialsOf(config),
    privateHosts: settings.privateHosts,
    maxCopyBytes: effects.copyBytes,
  };
  return {
    rules,
    runners,
    hide: (changed) => {
      for (const path of hiddenPaths(changed)) if (!hidden.includes(path)) hidden.push(path);
    },
    close: () => sandbox.close(),
  };
}

/**
 * The sandbox that the configuration asks for, with what it keeps in a folder of this process alone. It reads `hidden` at
 * each run.
 */
export function openSandbox(
  config: LoadedConfig,
  ownFolder: string,
  hidden: readonly string[] = hiddenPaths(config),
): Sandbox {
  const { sandbox: settings } = config;
  return createSandbox({
    runtimeFolder: join(ownFolder, "run"),
    backends: settings.backends,
    ociRuntime: settings.ociRuntime,
    hidden,
    secrets: configuredSecrets(config),
    openEgress,
    ...(settings.user && { user: settings.user }),
  });
}

/** The same for those who only look: what it keeps is in a folder of its own, and gone afterwards. */
export async function tryIsolation<Result>(
  config: LoadedConfig,
  use: (isolation: OpenIsolation) => Promise<Result>,
): Promise<Result> {
  const stateFolder = mkdtempSync(join(tmpdir(), "sallyport-try-"));
  try {
    const isolation = await openIsolation({ ...config, stateFolder }, stateFolder);
    try {
      return await use(isolation);
    } finally {
      await Promise.all(isolation.runners.map((runner) => runner.close()));
      await isolation.close();
    }
  } finally {
    rmSync(stateFolder, { recursive: true, force: true });
  }
}

function workspaceRoot(config: LoadedConfig): string {
  const path = resolve(config.folder, config.workspace);
  try {
    return realpathSync(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SallyportError(failure("E3919", { message: `The workspace ${path} cannot be used: ${why}.` }));
  }
}

/** What no call may read or change, from its workspace on. */
export function deniedPatterns({ sandbox }: Pick<LoadedConfig, "sandbox">): string[] {
  return [...DEFAULT_DENIED, ...sandbox.denied];
}

/** What no tool may see: everything that is kept, what decides, and every file that the configuration refers to. */
export function hiddenPaths({ place, ...config }: LoadedConfig): string[] {
  const { state, stateFolder, folder, sandbox, policy, blobs, tokens, http } = config;
  const kept = blobs?.folder === undefined ? [] : [blobs.folder];
  const keys = [
    ...tokens.publicKeys,
    ...(tokens.jwks ? [tokens.jwks] : []),
    ...Object.values(http.tls ?? {}),
  ];
  const given = [
    // The usual state folder too, where another one was named for this process.
    ...[state, ...sandbox.hidden, ...policy.files, ...kept, ...keys],
    // Secrets wherever they are referred to, the file of events, and the configuration itself.
    ...referencesIn(config, "file"),
    ...brokerKeys(config),
  ].map((path) => resolve(folder, path));
  const { WORKER_SECRET_FILE: ofWorkers } = place.environment ?? processEnvironment();
  if (ofWorkers !== undefined) given.push(resolve(ofWorkers));
  return [...new Set([stateFolder, ...given])].map(canonical);
}

function brokerKeys({ events }: Pick<LoadedConfig, "events">): string[] {
  const sinks = typeof events === "object" ? events.sinks : [];
  return sinks.flatMap(({ kafka }) =>
    typeof kafka?.tls === "object" ? [kafka.tls.ca, kafka.tls.cert, kafka.tls.key].filter(isGiven) : [],
  );
}

const isGiven = (path: string | undefined): path is string => path !== undefined;

/** Where a path really is; one that does not exist yet is taken as it is written. */
function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function credentialsOf({ credentials }: LoadedConfig): Record<string, HostCredential> {
  return Object.fromEntries(
    Object.entries(credentials).map(
      ([name, { host, port, header, value, basicUser, intercept, plainHttp, ranges }]) => [
        name,
        {
          host,
          ...(port !== undefined && { port }),
          secret: name,
          as: basicUser === undefined ? { header, value } : { basic: { user: basicUser } },
          intercept,
          plainHttp,
          ranges,
        },
      ],
    ),
  );
}
