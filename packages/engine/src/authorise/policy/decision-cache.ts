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
interface CachedPolicy extends Policy {
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

/** A verdict, or the promise of one while the policy is asked. */
interface Entry extends Subject {
  answer: PolicyVerdict | Promise<PolicyVerdict>;
  until: number;
}

/**
 * Caches the verdicts of a slow policy under everything they can depend on. A deny because the policy could not be asked
 * (E3206) and a verdict with `cacheMs: 0` are not kept; neither is an answer that was pending when the rules changed.
 * Equal requests at the same time share one question to the policy.
 */
export function cachedPolicy(policy: Policy, options: CacheOptions = {}): CachedPolicy {
  const { ttlMs = DEFAULT_TTL_MS, maxEntries = DEFAULT_ENTRIES, now = Date.now, bus } = options;
  const entries = new LruMap<string, Entry>(maxEntries);
  const stop = bus?.subscribe("policy:updates", forget);
  return {
    name: policy.name,
    decide: (request) => {
      const key = keyOf(request);
      if (key === undefined) return policy.decide(request);
      const entry = entries.get(key);
      if (!entry || now() >= entry.until) return ask(key, request);
      return entry.answer instanceof Promise ? entry.answer.then(copied) : copied(entry.answer);
    },
    forget: () => forget({}),
    close: () => stop?.(),
  };

  function ask(key: string, request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
    const subject = { agent: request.caller.agent, tool: request.tool };
    const answer = policy.decide(request);
    if (!(answer instanceof Promise)) return remember(key, answer, subject);
    const pending = { ...subject, answer, until: now() + JOIN_MS };
    entries.set(key, pending);
    return settle(key, pending, answer);
  }

  /** An answer whose entry was dropped or replaced meanwhile is given and not kept. */
  async function settle(key: string, pending: Entry, answer: Promise<PolicyVerdict>): Promise<PolicyVerdict> {
    const isCurrent = () => entries.get(key) === pending;
    try {
      const verdict = await answer;
      return isCurrent() ? remember(key, verdict, pending) : verdict;
    } finally {
      if (isCurrent()) entries.delete(key);
    }
  }

  function remember(key: string, verdict: PolicyVerdict, { agent, tool }: Subject): PolicyVerdict {
    const life = verdict.cacheMs ?? ttlMs;
    if (verdict.code !== "E3206" && life > 0)
      entries.set(key, { answer: copied(verdict), until: now() + life, agent, tool });
    return verdict;
  }

  function forget(message: JsonObject): void {
    const concerns = concernedBy(message);
    for (const [key, subject] of entries) if (concerns(subject)) entries.delete(key);
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
