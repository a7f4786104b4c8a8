type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined | null> };

/** Leaves out the members without a value: exact optional types and canonical JSON both refuse `undefined`. */
export function defined<T extends object>(members: T): Defined<T> {
  const present: Partial<T> = {};
  for (const name of Object.keys(members) as (keyof T)[]) {
    const value = members[name];
    if (value !== undefined && value !== null) present[name] = value;
  }
  return present as Defined<T>;
}
