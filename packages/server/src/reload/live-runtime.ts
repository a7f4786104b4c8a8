import type { ConfiguredAuthority } from "@sallyport/engine";
import type { Bus, ErrorHandler, Sandbox } from "@sallyport/engine/ports";
import type { LoadedConfig } from "../config/load.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** Where a module's code is had from, and which code that was. */
export interface KnownModule {
  signature: string;
  url: string;
}

interface LiveParts {
  authority: ConfiguredAuthority;
  bus: Bus;
  errors?: ErrorHandler | undefined;
  dropPolicies: () => void;
  sandbox: Sandbox;
  gateway?: Gateway | undefined;
}

/** What of an open server can be exchanged while it stays open. */
export class LiveRuntime {
  readonly authority: ConfiguredAuthority;
  readonly bus: Bus;
  readonly errors: ErrorHandler | undefined;
  /** Where the manifests of sandboxed modules are read. */
  readonly sandbox: Sandbox;
  /** What a gateway serves; undefined where tools come from modules. */
  readonly gateway: Gateway | undefined;
  /** Files that changed later than this are not the ones that were loaded. */
  readonly openedAt = Date.now();
  /** What the last reload found, by the module's path. */
  modules: ReadonlyMap<string, KnownModule> = new Map();
  /** Ids of tools that no module has any more since a reload. */
  goneTools: ReadonlySet<string> = new Set();
  /** Ends what the policies in force listen to. */
  dropPolicies: () => void;
  readonly #followers = new Set<(config: LoadedConfig) => void>();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ authority, bus, errors, dropPolicies, sandbox, gateway }: LiveParts) {
    this.authority = authority;
    this.bus = bus;
    this.errors = errors;
    this.sandbox = sandbox;
    this.gateway = gateway;
    this.dropPolicies = dropPolicies;
  }

  /** Tells of every configuration that has come into force; returns how to stop. */
  follow(follower: (config: LoadedConfig) => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** To be called once a new configuration is in force. */
  tell(config: LoadedConfig): void {
    for (const follower of this.#followers) follower(config);
  }

  /** One after the other: two changes at once would be a mixture of both. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
