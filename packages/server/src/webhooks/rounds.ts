import { timerMs } from "@sallyport/engine/host";
import type { Clock } from "@sallyport/engine/ports";

/** How many deliveries are under way: in all, and to each origin, so that a slow one does not hold up the others. */
export class Slots {
  readonly #most: number;
  readonly #perOrigin: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor({ most, perHost }: { most: number; perHost: number }) {
    this.#most = most;
    this.#perOrigin = perHost;
  }

  get isFull(): boolean {
    return this.#all >= this.#most;
  }

  /** The origins that have no place, as the URLs to them begin. */
  get full(): string[] {
    return [...this.#taken].flatMap(([origin, taken]) => (taken >= this.#perOrigin ? origin : []));
  }

  /** Takes a place for a delivery to this URL. Returns how to give it back, once. */
  take(url: string): () => void {
    const origin = `${URL.parse(url)?.origin ?? url}/`;
    this.#count(origin, 1);
    return () => this.#count(origin, -1);
  }

  #count(origin: string, by: 1 | -1): void {
    const taken = (this.#taken.get(origin) ?? 0) + by;
    if (taken > 0) this.#taken.set(origin, taken);
    else this.#taken.delete(origin);
    this.#all += by;
  }
}

export interface RoundsOptions<Item extends { url: string }> {
  /** Takes what is due and the longest overdue, unless it goes to one of these origins; nobody else has it then. */
  take(full: readonly string[]): Promise<Item | undefined>;
  /** When the next one is due, where that is known. Left out: it may be at any time. */
  nextAt?(): number;
  /** One try. A rejection means that the store is lost for now. */
  deliver(item: Item, signal: AbortSignal): Promise<void>;
  onTrouble(error: unknown): void;
  clock: Clock;
  /** Deliveries at once, in all and to one origin. */
  concurrent: number;
  perHost: number;
  /** At the latest after so long it looks again, for what others have put there. */
  pollMs: number;
  /** How long deliveries under way may go on when it is closed. */
  graceMs: number;
}

/** After a look past what waits for full origins, as many times as long as that took nobody looks past them. */
const REST = 4;

/**
 * Takes what is due, one after the other as long as there are places, and delivers it: when it is told that there is
 * something (`kick`), when a delivery has ended, when the next item is due, and every `pollMs`. What goes to an origin
 * without a place is left where it is. Looking past it takes the store's time, of which it uses a part only.
 */
export class Rounds<Item extends { url: string }> {
  readonly #options: RoundsOptions<Item>;
  readonly #slots: Slots;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #pastFullAt = 0;
  #looking: Promise<void> | undefined;
  #again = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RoundsOptions<Item>) {
    this.#options = options;
    this.#slots = new Slots({ most: options.concurrent, perHost: options.perHost });
  }

  /** There may be something to deliver. */
  kick(): void {
    if (this.#closed) return;
    this.#again = true;
    this.#looking ??= this.#lookUntilQuiet().finally(() => {
      this.#looking = undefined;
      // Somebody may have kicked between the last look and here.
      if (this.#again) this.kick();
    });
  }

  /** Begins nothing more, lets deliveries end within their grace, then ends them. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const grace = setTimeout(() => this.#stop.abort(), timerMs(this.#options.graceMs));
    await Promise.all(this.#running);
    clearTimeout(grace);
  }

  async #lookUntilQuiet(): Promise<void> {
    const { clock, pollMs, nextAt, onTrouble } = this.#options;
    let waitMs = pollMs;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        const restMs = await this.#look();
        waitMs = restMs ?? Math.min(pollMs, (nextAt?.() ?? Infinity) - clock.now());
      }
    } catch (error) {
      onTrouble(error);
    }
    clearTimeout(this.#timer);
    if (!this.#closed) this.#timer = setTimeout(() => this.kick(), timerMs(Math.max(waitMs, 0))).unref();
  }

  /** Begins what is due and finds a place. A number: how long to rest before the next look. */
  async #look(): Promise<number | undefined> {
    while (!this.#slots.isFull && !this.#closed) {
      const { full } = this.#slots;
      const begunAt = performance.now();
      if (full.length > 0 && begunAt < this.#pastFullAt) return this.#pastFullAt - begunAt;
      const item = await this.#options.take(full);
      const now = performance.now();
      if (full.length > 0) this.#pastFullAt = now + REST * (now - begunAt);
      if (!item) return undefined;
      const running: Promise<void> = this.#run(item).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    return undefined;
  }

  async #run(item: Item): Promise<void> {
    const { deliver, onTrouble } = this.#options;
    const free = this.#slots.take(item.url);
    try {
      await deliver(item, this.#stop.signal);
      free();
      this.kick();
    } catch (error) {
      // Not at once again when the store is lost: the next look is the timer's.
      free();
      onTrouble(error);
    }
  }
}
