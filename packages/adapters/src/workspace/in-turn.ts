/** Does something with each of many things, some at once. The first error is the answer, once all under way have ended. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const failed: unknown[] = [];
  const worker = async () => {
    for (let next = rest.next(); !next.done && failed.length === 0; next = rest.next()) {
      await work(next.value).catch((error: unknown) => failed.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  if (failed.length > 0) throw failed[0];
}

/** Work that is done one after the other, in the order it came. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    // Whoever asked for the work hears of its error; the next in line must not.
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** Work in folders: what is in one another waits for each other, the rest does not. */
export class FolderTurns {
  readonly #busy = new Set<{ folder: string; done: Promise<void> }>();

  async run<T>(folder: string, work: () => Promise<T>): Promise<T> {
    const before = [...this.#busy].filter((other) => overlap(other.folder, folder)).map(({ done }) => done);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const mine = { folder, done };
    this.#busy.add(mine);
    try {
      await Promise.all(before);
      return await work();
    } finally {
      this.#busy.delete(mine);
      resolve();
    }
  }
}

function overlap(left: string, right: string): boolean {
  return left === right || `${left}/`.startsWith(`${right}/`) || `${right}/`.startsWith(`${left}/`);
}
