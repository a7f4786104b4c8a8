import { type Failure, failure } from "@sallyport/protocol";
import type { Method, Route } from "../route.ts";
import { isGiven, pathMatcher } from "./path-pattern.ts";

const SHOWN = 120;

/** Which methods each path has; asked only for requests that fit no route. */
export class KnownPaths {
  readonly #paths = new Map<string, { matcher: RegExp; methods: Set<string> }>();
  readonly #routes: readonly Route[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes;
    for (const { path, method } of routes) {
      const known = this.#paths.get(path) ?? { matcher: pathMatcher(path), methods: new Set() };
      known.methods.add(method);
      if (method === "GET") known.methods.add("HEAD");
      this.#paths.set(path, known);
    }
  }

  /** Which route a request is for whose path the router cannot decode: it is refused in that route's words. */
  meant(method: string, path: string): Route | undefined {
    return this.#routes.find((route) => route.method === method && pathMatcher(route.path).test(path));
  }

  /** The methods of a path, for an Allow header; undefined when there is no such path. */
  allow(path: string): string | undefined {
    if (path === "*") return "GET, HEAD, POST, DELETE, OPTIONS";
    const given = isGiven(path) ? this.#paths.get(path) : undefined;
    const fitting = given ? [given] : [...this.#paths.values()].filter(({ matcher }) => matcher.test(path));
    const methods = fitting.flatMap((known) => [...known.methods]);
    return methods.length === 0 ? undefined : [...new Set(methods), "OPTIONS"].join(", ");
  }
}

/** Paths that are given in full and would be taken for a parameter of another route by these methods. */
export function shadowedPaths(routes: readonly Route[]): { path: string; method: Method }[] {
  return routes
    .filter(({ path }) => isGiven(path))
    .flatMap(({ path }) => {
      const own = new Set(routes.filter((route) => route.path === path).map(({ method }) => method));
      const others = routes.filter((route) => !isGiven(route.path) && pathMatcher(route.path).test(path));
      const methods = new Set(others.map(({ method }) => method).filter((method) => !own.has(method)));
      return [...methods].map((method) => ({ path, method }));
    });
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
