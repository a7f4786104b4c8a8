import { hash } from "node:crypto";
import { canonicalJson, type JsonObject, NotJsonError } from "@sallyport/protocol";
import type { Bus } from "../../ports/bus.ts";
import type { Policy, PolicyRequest, PolicyVerdict } from "../../ports/policy.ts";

const DEFAULT_TTL_MS = 300_000;
const DEFAULT_ENTRIES = 10_000;
/** A question that has been under way for longer may never be answered: the next one is asked anew. */
const JOIN_MS = 500;

export interface CacheOptions {
  /** How long a verdict that does not say so itself is remembered; five minutes when left out (L3-PRM-3). */
  ttlMs?: number;
  /** The least recently used go first; 10 000 when left out. */
  maxEntries?: number;
  /** Where `policy:updates` is heard. */
  bus?: Bus;
  now?: () => number;
}

/** A policy that remembers what it was told. */
export interface CachedPolicy extends Policy {
  /** Forgets everything, and what is being asked now is not remembered either. */
  forget(): void;
  /** Stops listening to the bus. */
  close(): void;
}

/** Whose call of what: by this a message on the bus says which verdicts to forget. */
interface Subject {
  agent: string;
  tool: string;
}

interface Entry extends Subject {
  verdict: PolicyVerdict;
  until: number;
}

interface Flight extends Subject {
  answer: Promise<PolicyVerdict>;
  since: number;
}

/**
 * Remembers the verdicts of a slow policy by everything they can depend on. A refusal because the policy could not be
 * asked (E3206) and a verdict that says `cacheMs: 0` are not remembered; neither is an answer that was under way when
 * the rules changed. The same question asked twice at once is asked once.
 */
export function cachedPolicy(policy: Policy, options: CacheOptions = {}): CachedPolicy {
  const cache = new DecisionCache(policy, options);
  const stop = options.bus?.subscribe("policy:updates", (message) => cache.invalidate(message));
  return {
    name: policy.name,
    decide: (request) => cache.decide(request),
    forget: () => cache.invalidate({}),
    close: () => stop?.(),
  };
}

class DecisionCache {
  readonly #policy: Policy;
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  readonly #flights = new Map<string, Flight>();

  constructor(
    policy: Policy,
    { ttlMs = DEFAULT_TTL_MS, maxEntries = DEFAULT_ENTRIES, now = Date.now }: CacheOptions,
  ) {
    this.#policy = policy;
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  decide(request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
    const key = keyOf(request);
    if (key === undefined) return this.#policy.decide(request);
    const known = this.#recall(key);
    if (known) return known;
    const flight = this.#flights.get(key);
    if (flight && this.#now() - flight.since < JOIN_MS) return flight.answer.then(copied);
    return this.#ask(key, request);
  }

  invalidate(message: JsonObject): void {
    const concerns = concernedBy(message);
    for (const held of [this.#entries, this.#flights]) {
      for (const [key, subject] of held) if (concerns(subject)) held.delete(key);
    }
  }

  #recall(key: string): PolicyVerdict | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (this.#now() >= entry.until) return undefined;
    this.#entries.set(key, entry);
    return copied(entry.verdict);
  }

  #ask(key: string, request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
    const subject = { agent: request.caller.agent, tool: request.tool };
    const answer = this.#policy.decide(request);
    if (!(answer instanceof Promise)) return this.#remember(key, answer, subject);
    const flight: Flight = { ...subject, since: this.#now(), answer };
    this.#flights.set(key, flight);
    return this.#land(key, flight);
  }

  /** An invalidation takes the flight off the list, and with it the right to be remembered. */
  async #land(key: string, flight: Flight): Promise<PolicyVerdict> {
    try {
      const verdict = await flight.answer;
      return this.#flights.get(key) === flight ? this.#remember(key, verdict, flight) : verdict;
    } finally {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    }
  }

  #remember(key: string, verdict: PolicyVerdict, { agent, tool }: Subject): PolicyVerdict {
    const life = verdict.cacheMs ?? this.#ttlMs;
    if (verdict.code === "E3206" || !(life > 0)) return verdict;
    this.#entries.set(key, { verdict: copied(verdict), until: this.#now() + life, agent, tool });
    if (this.#entries.size > this.#maxEntries) this.#dropOldest();
    return verdict;
  }

  #dropOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#entries.delete(key);
      return;
    }
  }
}

/** Nobody can change a verdict for the next one who asks. */
function copied(verdict: PolicyVerdict): PolicyVerdict {
  return { ...verdict, rules: [...verdict.rules] };
}

/** Everything but the time; undefined for a call that has no JSON text, which is then asked every time. */
function keyOf({ at: _at, caller, permissions, ...rest }: PolicyRequest): string | undefined {
  const { tenant, agent, user = null, session = null } = caller;
  const { filesystem, network, credentials } = permissions;
  const whole = {
    ...rest,
    caller: { tenant, agent, user, session },
    tags: [...rest.tags],
    requiredCapabilities: [...rest.requiredCapabilities],
    filesystem: filesystem.map(({ path, mode }) => ({ path, mode })),
    network: network.map(({ host, port = null }) => ({ host, port })),
    credentials,
  };
  try {
    return hash("sha256", canonicalJson(whole));
  } catch (error) {
    if (error instanceof NotJsonError) return undefined;
    throw error;
  }
}

/** A message that names neither agent nor tool, or is not understood, concerns everything. */
function concernedBy(message: JsonObject): (subject: Subject) => boolean {
  const agent = message.agent ?? message.agent_did;
  const tool = message.tool ?? message.tool_id;
  const about = [agent, tool].filter((name) => name !== undefined);
  if (about.length === 0 || !about.every((name) => typeof name === "string")) return () => true;
  return (subject) =>
    (agent === undefined || subject.agent === agent) && (tool === undefined || subject.tool === tool);
}
