import { hash } from "node:crypto";
import { canonicalJson, type JsonObject, NotJsonError } from "@sallyport/protocol";
import { LruMap } from "../../lru-map.ts";
import type { Policy, PolicyRequest, PolicyVerdict } from "../../ports/authority.ts";
import type { Bus } from "../../ports/platform.ts";

const DEFAULT_TTL_MS = 300_000;
const DEFAULT_ENTRIES = 10_000;
/** A request that is pending for longer may never be answered: the next one asks the policy again. */
const JOIN_MS = 500;

export interface CacheOptions {
  /** Lifetime of a verdict without `cacheMs`; five minutes when left out (L3-PRM-3). */
  ttlMs?: number;
  /** The least recently used go first; 10 000 when left out. */
  maxEntries?: number;
  /** Carries `policy:updates`, which drop verdicts. */
  bus?: Bus;
  now?: () => number;
}

/** A policy with a cache of its verdicts. */
export interface CachedPolicy extends Policy {
  /** Drops all verdicts; pending answers are not kept either. */
  forget(): void;
  /** Stops listening to the bus. */
  close(): void;
}

/** What a message on the bus can name to drop verdicts. */
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
 * Caches the verdicts of a slow policy under everything they can depend on. A deny because the policy could not be asked
 * (E3206) and a verdict with `cacheMs: 0` are not kept; neither is an answer that was pending when the rules changed.
 * Equal requests at the same time share one question to the policy.
 */
export function cachedPolicy(policy: Policy, options: CacheOptions = {}): CachedPolicy {
  const { ttlMs = DEFAULT_TTL_MS, maxEntries = DEFAULT_ENTRIES, now = Date.now, bus } = options;
  const entries = new LruMap<string, Entry>(maxEntries);
  const flights = new Map<string, Flight>();
  const stop = bus?.subscribe("policy:updates", forget);
  return {
    name: policy.name,
    decide: (request) => {
      const key = keyOf(request);
      if (key === undefined) return policy.decide(request);
      const entry = entries.get(key);
      if (entry && now() < entry.until) return copied(entry.verdict);
      const flight = flights.get(key);
      if (flight && now() - flight.since < JOIN_MS) return flight.answer.then(copied);
      return ask(key, request);
    },
    forget: () => forget({}),
    close: () => stop?.(),
  };

  function ask(key: string, request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
    const subject = { agent: request.caller.agent, tool: request.tool };
    const answer = policy.decide(request);
    if (!(answer instanceof Promise)) return remember(key, answer, subject);
    const flight: Flight = { ...subject, since: now(), answer };
    flights.set(key, flight);
    return land(key, flight);
  }

  /** A flight that `forget` removed is answered but not kept. */
  async function land(key: string, flight: Flight): Promise<PolicyVerdict> {
    try {
      const verdict = await flight.answer;
      return flights.get(key) === flight ? remember(key, verdict, flight) : verdict;
    } finally {
      if (flights.get(key) === flight) flights.delete(key);
    }
  }

  function remember(key: string, verdict: PolicyVerdict, { agent, tool }: Subject): PolicyVerdict {
    const life = verdict.cacheMs ?? ttlMs;
    if (verdict.code !== "E3206" && life > 0)
      entries.set(key, { verdict: copied(verdict), until: now() + life, agent, tool });
    return verdict;
  }

  function forget(message: JsonObject): void {
    const concerns = concernedBy(message);
    for (const [key, subject] of entries) if (concerns(subject)) entries.delete(key);
    for (const [key, subject] of flights) if (concerns(subject)) flights.delete(key);
  }
}

/** Callers get copies, so that none can change a kept verdict. */
function copied(verdict: PolicyVerdict): PolicyVerdict {
  return { ...verdict, rules: [...verdict.rules] };
}

/** Hash of everything but the time; undefined for a request that is not JSON, which is then never cached. */
function keyOf({ at: _at, caller, permissions, ...rest }: PolicyRequest): string | undefined {
  const { tenant, agent, user = null, session = null } = caller;
  const { filesystem, network, credentials } = permissions;
  const whole = {
    ...rest,
    caller: { tenant, agent, user, session },
    tags: [...rest.tags],
    unheldLimits: [...(rest.unheldLimits ?? [])],
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

/** A message without a known agent or tool drops everything. */
function concernedBy(message: JsonObject): (subject: Subject) => boolean {
  const agent = message.agent ?? message.agent_did;
  const tool = message.tool ?? message.tool_id;
  const about = [agent, tool].filter((name) => name !== undefined);
  if (about.length === 0 || !about.every((name) => typeof name === "string")) return () => true;
  return (subject) =>
    (agent === undefined || subject.agent === agent) && (tool === undefined || subject.tool === tool);
}
