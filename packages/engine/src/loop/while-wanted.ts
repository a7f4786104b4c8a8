/** The items of a stream until it ends or nobody wants them any more, whether or not the stream itself notices. */
export async function* whileWanted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await orAborted(iterator.next(), signal);
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a stream that hangs would hang this too. What it says after it was left concerns nobody.
    iterator.return?.().then(undefined, () => undefined);
  }
}

/** What comes first: the value, or undefined once the signal aborts. */
export async function orAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  if (!(value instanceof Promise)) return value;
  const aborted = Promise.withResolvers<undefined>();
  const stop = () => aborted.resolve(undefined);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([value, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
