const PAGE = 200;

/** Every item of a stored list, read page by page: `read` gets the place of the last item seen, as `placeOf` says it. */
export async function* readAll<Item, Place>(
  read: (page: { limit: number; from: Place | undefined }) => Promise<readonly Item[]>,
  placeOf: (item: Item) => Place,
): AsyncGenerator<Item> {
  let from: Place | undefined;
  for (;;) {
    const items = await read({ limit: PAGE, from });
    yield* items;
    const last = items.at(-1);
    if (!last || items.length < PAGE) return;
    from = placeOf(last);
  }
}
