/** How a group above runs is made, changed and removed. */
export interface SharedGroupSteps<Limits> {
  make(limits: Limits): Promise<void>;
  change(limits: Limits): Promise<void>;
  remove(): Promise<void>;
}

/**
 * A group that several runs use: made by the first, removed by the last. Steps follow each other, so that a run that
 * starts while the last one ends finds the group either still there or made again.
 */
export class SharedGroup<Limits> {
  readonly #steps: SharedGroupSteps<Limits>;
  #users = 0;
  #limits: string | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(steps: SharedGroupSteps<Limits>) {
    this.#steps = steps;
  }

  get isUsed(): boolean {
    return this.#users > 0;
  }

  /** Rejects when it cannot be made; the user then does not count. */
  async use(limits: Limits): Promise<void> {
    this.#users++;
    try {
      await this.#next(() => this.#bring(limits));
    } catch (error) {
      this.#users--;
      throw error;
    }
  }

  async release(): Promise<void> {
    this.#users--;
    await this.#next(async () => {
      if (this.#users > 0 || this.#limits === undefined) return;
      this.#limits = undefined;
      await this.#steps.remove();
    });
  }

  async #bring(limits: Limits): Promise<void> {
    const wanted = JSON.stringify(limits);
    if (this.#limits === wanted) return;
    await (this.#limits === undefined ? this.#steps.make(limits) : this.#steps.change(limits));
    this.#limits = wanted;
  }

  /** One step's failure is its caller's; the next step starts from what is true then. */
  #next(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
