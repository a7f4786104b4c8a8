type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined | null> };

/** Leaves out the members without a value: exact optional types and canonical JSON both refuse `undefined`. */
export function defined<T extends object>(members: T): Defined<T> {
  const present = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(present) as Defined<T>;
}
