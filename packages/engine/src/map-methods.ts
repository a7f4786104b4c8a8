/** A method of a port, whatever it takes and gives. */
export type Method = (...args: unknown[]) => unknown;

type MethodMap = (method: Method, path: string) => Method;

/**
 * The same port with every method replaced by what `map` makes of it, in nested objects too (`calls.get`). Methods keep
 * their `this`; a method that is left out stays left out; everything else is taken over as it is now. All members are the
 * result's own, those of classes too, so that it can be spread.
 */
export function mapMethods<Port extends object>(port: Port, map: MethodMap, prefix = ""): Port {
  const mapped: Port = Object.create(null);
  for (const name of membersOf(port)) {
    const member: unknown = Reflect.get(port, name);
    const path = `${prefix}${name}`;
    Reflect.set(mapped, name, mapMember(member, { owner: port, map, path }));
  }
  return mapped;
}

function mapMember(member: unknown, at: { owner: object; map: MethodMap; path: string }): unknown {
  if (isMethod(member)) return at.map((...args) => Reflect.apply(member, at.owner, args), at.path);
  return isNested(member) ? mapMethods(member, at.map, `${at.path}.`) : member;
}

/** The names of an object's members, those of its classes included. */
function membersOf(target: object): Set<string> {
  const names = new Set<string>();
  for (let at = target; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  names.delete("constructor");
  return names;
}

function isMethod(value: unknown): value is Method {
  return typeof value === "function";
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
