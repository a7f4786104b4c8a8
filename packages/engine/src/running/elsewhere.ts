import { defined, type JsonObject } from "@sallyport/protocol";
import type { CallIdentity, CallRecord } from "../ports/calls.ts";
import type { Bus } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { LiveFeed, type LiveFeeds, type NumberedNews } from "./live-feed.ts";
import { type RunningCalls, type RunningNow, runningNow, type ToolProgress } from "./running-calls.ts";

/*
 * Calls that other processes on the same store execute. The store says which process has a call; what only that process
 * knows, it is asked for through the bus:
 *
 *   asker: { ask: callId, … } ──► the process that has the call ──► { told: callId, … }
 *
 * Whoever gets no answer in time goes by the store alone, and asks again where it waits for something.
 */

const CHANNEL = "calls:updates";
/** How long the answer to a question may take that is answered at once. */
const ANSWER_MS = 250;
/** How long a question for news waits for some, before it is answered without. */
const HOLD_MS = 1_000;
/** How long the answer to such a question may take. */
const NEWS_MS = 2 * HOLD_MS;
/** So many questions in a row that nobody answers make a feed useless. */
const MOST_SILENCES = 2;
/** A message of PostgreSQL holds 8,000 bytes. An item of output is within them, in base64. */
const MOST_BYTES = 6_500;
const PHASE_CHARS = 200;
/** Of so many calls that others have asked for, the end is told to them. */
const MOST_ASKED = 10_000;

/** What is asked about a call. */
interface Wish {
  /** The process that has it by the store; left out: whoever has it answers. */
  owner?: string;
  /** Its news beyond that number. */
  after?: number;
  /** That it ends, and why. */
  cancel?: string;
}

/** What the process says that has the call; nothing but its name: the call has ended. Null: it has none of that. */
interface Told {
  from: string;
  running?: CalledNow | null;
  /** Whether the call has taken the abort. */
  cancelled?: boolean;
  /** Those beyond `after`. */
  news?: SentNews[] | null;
  after?: number;
}

/** A call under way, as the process that has it describes it. */
export interface CalledNow {
  of: Pick<CallIdentity, "tenant" | "agent" | "tool">;
  now: RunningNow;
  progress?: ToolProgress;
}

/** News on its way: the bytes of output in base64. */
type SentNews = JsonObject & { number: number };

interface Parts {
  store: Pick<Store, "isShared" | "calls" | "instances">;
  bus: Bus;
  /** This process. */
  owner: string;
  inFlight: RunningCalls;
  feeds: LiveFeeds;
}

export class CallsElsewhere {
  readonly #parts: Parts;
  readonly #listeners = new Map<string, Set<(told: Told) => void>>();
  /** Questions that wait for an answer, so that the same one is asked once at a time. */
  readonly #asking = new Map<string, Promise<Told | undefined>>();
  /** Calls of this process that others have asked about. */
  readonly #asked = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Answers other processes and hears what they say. Returns how to stop. */
  listen(): () => void {
    const { bus, store, owner } = this.#parts;
    if (!store.isShared) return () => undefined;
    return bus.subscribe(CHANNEL, (message) => {
      const { ask, told, from } = message;
      if (from === owner) return;
      if (typeof ask === "string") void this.#answer(ask, message);
      if (typeof told === "string")
        for (const listener of [...(this.#listeners.get(told) ?? [])]) listener(readTold(message));
    });
  }

  /** Whether another process has the call by the record, so that its end comes from there. */
  has({ phase, owner }: Pick<CallRecord, "phase" | "owner">): boolean {
    return this.#parts.store.isShared && phase === "executing" && owner !== this.#parts.owner;
  }

  /** How the call stands in the process that has it; undefined when none says so in time. */
  async describe(callId: string, owner?: string): Promise<CalledNow | undefined> {
    return (await this.#ask(callId, defined({ owner })))?.running ?? undefined;
  }

  /** Asks the process that has the call to end it; true when it says that the call can no longer succeed. */
  async cancel(callId: string, reason: string, owner?: string): Promise<boolean> {
    const told = await this.#ask(callId, { cancel: reason, ...defined({ owner }) });
    return told?.cancelled === true;
  }

  /** Calls back when the process that has the call says that it has ended; returns how to stop that. */
  onEnd(callId: string, wake: () => void): () => void {
    if (!this.#parts.store.isShared) return () => undefined;
    const stop = this.#listen(callId, ({ running, cancelled, news }) => {
      if (running === undefined && cancelled === undefined && news === undefined) wake();
    });
    this.#send({ ask: callId });
    return stop;
  }

  /** The call has ended here. */
  ended(callId: string): void {
    if (this.#asked.delete(callId)) this.#send({ told: callId });
  }

  /**
   * The news of a call: of this process, or of the one that has the call. Undefined when there is none to be had. Given
   * `current`, the same one as long as it is good.
   */
  async watch(callId: string, current?: unknown): Promise<LiveFeed | undefined> {
    const { feeds, inFlight, store } = this.#parts;
    const own = feeds.get(callId) ?? (inFlight.get(callId) ? feeds.open(callId) : undefined);
    if (!store.isShared || own?.ended) return own;
    if (own && own === current && inFlight.get(callId)) return own;
    if (current instanceof MirroredFeed) return current.isLost ? undefined : current;
    const record = await store.calls.get(callId);
    const isOpen = !record?.closing && record?.phase !== "unknown";
    if (own && isOpen && !(record && this.has(record))) return own;
    const first = await this.#ask(callId, { after: 0, ...defined({ owner: record?.owner }) });
    if (!first?.news) return undefined;
    const { from, news } = first;
    const pull = async (after: number) => (await this.#ask(callId, { owner: from, after }))?.news;
    return new MirroredFeed({ from, news, pull });
  }

  async #ask(callId: string, wish: Wish): Promise<Told | undefined> {
    if (!(await this.#isThere(wish.owner))) return undefined;
    const key = JSON.stringify([callId, wish]);
    const asked = this.#asking.get(key) ?? this.#tell(callId, wish).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return await asked;
  }

  /** Whether there is anybody to ask. */
  async #isThere(other: string | undefined): Promise<boolean> {
    const { store, owner } = this.#parts;
    if (!store.isShared || other === owner) return false;
    if (other !== undefined) return await store.instances.isLive(other);
    return (await store.instances.list()).some(({ instance }) => instance !== owner);
  }

  #tell(callId: string, wish: Wish): Promise<Told | undefined> {
    const { promise, resolve } = Promise.withResolvers<Told | undefined>();
    const stop = this.#listen(callId, (told) => {
      if (wish.owner !== undefined && told.from !== wish.owner) return;
      if (isAnswerTo(wish, told)) resolve(told);
    });
    const timer = setTimeout(() => resolve(undefined), wish.after === undefined ? ANSWER_MS : NEWS_MS);
    this.#send({ ask: callId, ...defined(wish) });
    return promise.finally(() => {
      clearTimeout(timer);
      stop();
    });
  }

  #listen(callId: string, listener: (told: Told) => void): () => void {
    const listeners = this.#listeners.get(callId) ?? new Set();
    this.#listeners.set(callId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(callId) === listeners) this.#listeners.delete(callId);
    };
  }

  async #answer(callId: string, { owner, after, cancel }: JsonObject): Promise<void> {
    if (owner !== undefined && owner !== this.#parts.owner) return;
    const { inFlight, feeds } = this.#parts;
    const running = inFlight.get(callId);
    if (running && this.#asked.size < MOST_ASKED) this.#asked.add(callId);
    if (typeof after === "number") {
      const feed = feeds.get(callId) ?? (running && feeds.open(callId));
      await feed?.next(after, AbortSignal.timeout(HOLD_MS));
      if (feed || owner !== undefined)
        this.#send({ told: callId, after, news: feed ? sent(feed.after(after)) : null });
      return;
    }
    // Where nobody knows who has the call, those that do not have it are silent.
    if (!running && owner === undefined) return;
    if (typeof cancel === "string") this.#send({ told: callId, cancelled: inFlight.cancel(callId, cancel) });
    else this.#send({ told: callId, running: running ? describe(running) : null });
  }

  #send(message: JsonObject): void {
    this.#parts.bus.publish(CHANNEL, { ...message, from: this.#parts.owner });
  }
}

/** Whoever can connect can speak on the bus, and a newer version may say more: what is no news is passed over. */
function readTold({ news, ...message }: JsonObject): Told {
  const isNews = (item: unknown): item is SentNews => typeof Object(item).number === "number";
  const read = news === undefined ? {} : { news: Array.isArray(news) ? news.filter(isNews) : null };
  return { ...message, ...read } as unknown as Told;
}

function isAnswerTo({ after, cancel }: Wish, told: Told): boolean {
  // The answer to another question may begin later and leave a gap, or have nothing new.
  if (after !== undefined) return told.news !== undefined && told.after === after;
  return (cancel === undefined ? told.running : told.cancelled) !== undefined;
}

function describe(running: NonNullable<ReturnType<Parts["inFlight"]["get"]>>): JsonObject {
  const { tenant, agent, tool, progress } = running;
  const percent = progress?.percent;
  return {
    of: { tenant, agent, tool },
    now: { ...runningNow(running) },
    ...(percent !== undefined && { progress: { percent, ...defined({ phase: cut(progress?.phase) }) } }),
  };
}

/** As many as go into one message, oldest first. */
function sent(news: readonly NumberedNews[]): JsonObject[] {
  const items: JsonObject[] = [];
  let bytes = 0;
  for (const item of news) {
    const one = encode(item);
    bytes += Buffer.byteLength(JSON.stringify(one));
    if (items.length > 0 && bytes > MOST_BYTES) break;
    items.push(one);
  }
  return items;
}

function encode(item: NumberedNews): JsonObject {
  if (item.kind === "output") return { ...item, chunk: Buffer.from(item.chunk).toString("base64") };
  return item.kind === "progress" ? { ...item, ...defined({ phase: cut(item.phase) }) } : { ...item };
}

function decode(item: SentNews): NumberedNews {
  const { chunk } = item;
  return (
    typeof chunk === "string" ? { ...item, chunk: Buffer.from(chunk, "base64") } : item
  ) as NumberedNews;
}

function cut(phase: string | undefined): string | undefined {
  return phase?.slice(0, PHASE_CHARS).toWellFormed();
}

interface Mirrored {
  from: string;
  news: readonly SentNews[];
  /** Asks for news beyond that number; undefined when nobody answers, null when there is none to be had any more. */
  pull(after: number): Promise<readonly SentNews[] | null | undefined>;
}

/** The news of a call in another process, under the numbers that they have there. It is fetched while somebody waits for it. */
class MirroredFeed extends LiveFeed {
  readonly #pull: Mirrored["pull"];
  #isPulling = false;
  #silences = 0;

  constructor({ from, news, pull }: Mirrored) {
    super(from);
    this.#pull = pull;
    for (const item of news) this.take(decode(item));
  }

  /** The other process does not say any more what happens. */
  get isLost(): boolean {
    return this.#silences >= MOST_SILENCES;
  }

  override next(number: number, signal: AbortSignal): Promise<void> {
    const news = super.next(number, signal);
    void this.#fetch();
    return news;
  }

  async #fetch(): Promise<void> {
    if (this.#isPulling) return;
    this.#isPulling = true;
    while (this.isAwaited && !this.isLost && !this.ended) {
      // A store that cannot be asked who is there is one more silence.
      const news = await this.#pull(this.last).catch(() => undefined);
      if (news === null) this.#silences = MOST_SILENCES;
      else this.#silences = news ? 0 : this.#silences + 1;
      for (const item of news ?? []) this.take(decode(item));
    }
    this.#isPulling = false;
    if (this.isLost) this.wake();
  }
}
