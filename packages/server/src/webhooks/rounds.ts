import { timerMs } from "@sallyport/engine/host";
import type { Clock } from "@sallyport/engine/ports";
import { Slots } from "./slots.ts";
import { hostOf } from "./webhook-log.ts";

/** Something to be delivered at its time. */
export interface Due {
  url: string;
  dueAt: number;
}

export interface RoundsOptions<Item extends Due> {
  /** Names an item: of the same name only one is under way. */
  nameOf(item: Item): string;
  /** Due by then, the longest overdue first. */
  due(by: number, limit: number): Promise<Item[]>;
  /** One try. A rejection means that the store is lost for now. */
  deliver(item: Item, signal: AbortSignal): Promise<void>;
  onTrouble(error: unknown): void;
  clock: Clock;
  /** Deliveries at once, in all and to one host. */
  concurrent: number;
  perHost: number;
  /** At the latest after so long it looks again, for what others have put there. */
  pollMs: number;
  /** How long deliveries under way may go on when it is closed. */
  graceMs: number;
}

const WINDOW = 64;
/** When the longest overdue all wait for one slow host, it looks further, up to so many. */
const WIDEST = 16_384;
const WIDER = 4;
/** So many of one host are remembered; more are found by the next look. */
const HELD_PER_HOST = 256;
/** Looking far takes the store's time; of all time it may take this part. */
const FAR_SHARE = 20;

/**
 * Looks for what is due and delivers it, one look at a time: when it is told that there is something (`kick`), when the
 * next item is due, and every `pollMs`. What is due and waits for its host is remembered (`held`): when a delivery ends,
 * the next one is taken from there, and the store is asked only when nothing is held.
 */
export class Rounds<Item extends Due> {
  readonly #options: RoundsOptions<Item>;
  readonly #slots: Slots;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  /** By host: due, and without a place when it was looked for; the longest overdue first. */
  readonly #held = new Map<string, Map<string, Item>>();
  #farAt = 0;
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
    await Promise.all(this.#running.values());
    clearTimeout(grace);
  }

  async #lookUntilQuiet(): Promise<void> {
    const { clock, pollMs, onTrouble } = this.#options;
    let nextAt = clock.now() + pollMs;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        nextAt = await this.#look();
      }
    } catch (error) {
      onTrouble(error);
    }
    this.#lookAt(nextAt);
  }

  #lookAt(at: number): void {
    const { clock, pollMs } = this.#options;
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const waitMs = Math.min(Math.max(at - clock.now(), 0), pollMs);
    this.#timer = setTimeout(() => this.kick(), timerMs(waitMs)).unref();
  }

  /** Begins what is due and finds a place; gives when the next one is due. */
  async #look(): Promise<number> {
    const { clock, pollMs, due } = this.#options;
    const isFar = clock.now() >= this.#farAt;
    const begunAt = clock.now();
    for (let window = WINDOW; ; window *= WIDER) {
      const now = clock.now();
      const found = await due(now + pollMs, window);
      for (const item of found) if (item.dueAt <= now) this.#begin(item);
      const isAll = found.length < window || window >= WIDEST;
      const later = found.find(({ dueAt }) => dueAt > now);
      if (window > WINDOW) this.#farAt = clock.now() + Math.max(pollMs, FAR_SHARE * (clock.now() - begunAt));
      if (isAll || later || !isFar || this.#slots.isFull || this.#closed) return later?.dueAt ?? now + pollMs;
    }
  }

  /** Begins what is held and has a place now. False when nothing was, so that the store has to be asked. */
  #beginHeld(): boolean {
    const before = this.#running.size;
    for (const [host, items] of this.#held) {
      for (const item of items.values()) {
        if (!this.#slots.hasPlace(host)) break;
        this.#begin(item);
      }
    }
    return this.#slots.isFull || this.#running.size > before;
  }

  #begin(item: Item): void {
    const name = this.#options.nameOf(item);
    const host = hostOf(item.url);
    if (this.#closed || this.#running.has(name)) return;
    if (!this.#slots.take(host)) {
      this.#hold(item, { name, host });
      return;
    }
    this.#held.get(host)?.delete(name);
    this.#running.set(name, this.#run(item, { name, host }));
  }

  #hold(item: Item, { name, host }: { name: string; host: string }): void {
    const items = this.#held.get(host) ?? new Map<string, Item>();
    if (items.size < HELD_PER_HOST) items.set(name, item);
    this.#held.set(host, items);
  }

  async #run(item: Item, { name, host }: { name: string; host: string }): Promise<void> {
    const { deliver, onTrouble } = this.#options;
    // Not at once again when the store is lost: the next look is the timer's.
    let quiet = false;
    try {
      await deliver(item, this.#stop.signal);
    } catch (error) {
      quiet = true;
      onTrouble(error);
    }
    this.#running.delete(name);
    this.#slots.free(host);
    if (this.#held.get(host)?.size === 0) this.#held.delete(host);
    if (quiet) this.#held.clear();
    else if (!this.#beginHeld()) this.kick();
  }
}
