const PAGE = 200;

/** Every item of a stored list, read page by page: `read` gets the id of the last item seen, `idOf` says an item's id. */
export async function* readAll<Item>(
  read: (page: { limit: number; from: string | undefined }) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): AsyncGenerator<Item> {
  let from: string | undefined;
  for (;;) {
    const items = await read({ limit: PAGE, from });
    yield* items;
    const last = items.at(-1);
    if (!last || items.length < PAGE) return;
    from = idOf(last);
  }
}
