import type { LoopEvent } from "@sallyport/loop";
import { CleanBorder } from "./state/clean-event.ts";
import { screenState } from "./state/reduce.ts";
import type { ScreenEvent, ScreenState } from "./state/screen-state.ts";

/** Between two paintings at least: 20 a second. */
const PAINT_MS = 50;
/** Characters of output that are taken in between two paintings before the tool has to wait. */
const BETWEEN_PAINTINGS = 1_000_000;

type Follower = (event: ScreenEvent, state: ScreenState) => void;

/** Holds the state of the screen. Events change it at once; watchers are told at most 20 times a second. */
export class ScreenStore {
  #state: ScreenState;
  readonly #watchers = new Set<() => void>();
  readonly #border = new CleanBorder();
  readonly #followers = new Set<Follower>();
  #timer: NodeJS.Timeout | undefined;
  #paintedAt = 0;
  #taken = 0;
  #waiting: (() => void)[] = [];

  constructor(state: ScreenState) {
    this.#state = state;
  }

  get state(): ScreenState {
    return this.#state;
  }

  /** Told when there is something new to paint. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Told of every clean event at once, with the state after it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Something happened; every string of it is cleaned here. */
  take(event: ScreenEvent): void {
    const clean = this.#border.clean(event);
    this.#state = screenState(this.#state, clean);
    for (const follower of this.#followers) follower(clean, this.#state);
    this.#paintSoon();
  }

  /** The conversation's listener. Gives a promise only when output comes in faster than it can be shown. */
  readonly listen = (event: LoopEvent): void | Promise<void> => {
    this.take(event);
    if (event.kind !== "stdout" && event.kind !== "stderr") return;
    this.#taken += event.chunk.length;
    if (this.#taken < BETWEEN_PAINTINGS) return;
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  /** Nothing is painted any more; nobody is left waiting. */
  close(): void {
    clearTimeout(this.#timer);
    this.#watchers.clear();
    this.#paint();
  }

  #paintSoon(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#paintedAt + PAINT_MS - Date.now());
    this.#timer = setTimeout(() => this.#paint(), wait);
  }

  #paint(): void {
    this.#timer = undefined;
    this.#paintedAt = Date.now();
    this.#taken = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const watcher of this.#watchers) watcher();
    for (const resolve of waiting) resolve();
  }
}
