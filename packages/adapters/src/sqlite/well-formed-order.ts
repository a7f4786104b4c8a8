/** SQLite keeps UTF-8: an order it cannot hold would come back as another one than was meant, so it is refused. */
export function wellFormedOrder(order: string): string {
  if (order.isWellFormed()) return order;
  throw new RangeError("The order of a call is not well-formed text.");
}
