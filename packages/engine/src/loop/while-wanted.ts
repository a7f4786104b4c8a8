/** The items of a stream until it ends or nobody wants them any more, whether or not the stream itself notices. */
export async function* whileWanted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  const unwanted = Promise.withResolvers<undefined>();
  const stop = () => unwanted.resolve(undefined);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), unwanted.promise]);
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Not awaited: a stream that hangs would hang this too. What it says after it was left concerns nobody.
    iterator.return?.().then(undefined, () => undefined);
  }
}
