import { type Failure, failure } from "@sallyport/protocol";
import type { Route } from "../route.ts";
import { pathMatcher } from "./path-pattern.ts";

const SHOWN = 120;

/** Which methods each path has; asked only for requests that fit no route. */
export class KnownPaths {
  readonly #paths = new Map<string, { matcher: RegExp; methods: Set<string> }>();

  constructor(routes: readonly Route[]) {
    for (const { path, method } of routes) {
      const known = this.#paths.get(path) ?? { matcher: pathMatcher(path), methods: new Set() };
      known.methods.add(method);
      if (method === "GET") known.methods.add("HEAD");
      this.#paths.set(path, known);
    }
  }

  /** The methods of a path, for an Allow header; undefined when there is no such path. */
  allow(path: string): string | undefined {
    if (path === "*") return "GET, HEAD, POST, DELETE, OPTIONS";
    const methods = [...this.#paths.values()]
      .filter(({ matcher }) => matcher.test(path))
      .flatMap((known) => [...known.methods]);
    return methods.length === 0 ? undefined : [...new Set(methods), "OPTIONS"].join(", ");
  }
}

/** E3930, or E3931 where the path has other methods. */
export function missing(method: string, path: string, allow: string | undefined): Failure {
  const shown = path.length > SHOWN ? `${path.slice(0, SHOWN)}…` : path;
  return allow === undefined
    ? failure("E3930", { message: `There is no route ${shown}.` })
    : failure("E3931", { message: `${shown} does not take ${method}.`, details: { allow } });
}

/** The path of a request target, without its query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
