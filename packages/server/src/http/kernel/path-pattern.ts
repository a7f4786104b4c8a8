const PARAMETER = /^\{(\w+)\}(:[\w-]+)?$/;

/** Whether a path has no parameter in it. */
export function isGiven(path: string): boolean {
  return !path.includes("{");
}

/** A path as in OpenAPI, in the router's words. Throws on a shape no route has, at start-up. */
export function routerPath(path: string): string {
  return path.split("/").map(routerSegment).join("/");
}

function routerSegment(segment: string): string {
  if (!segment.includes("{")) return segment.replaceAll(":", "::");
  const [, name, verb] = parameterOf(segment);
  // Without a pattern the router would take the verb for a part of the parameter's name.
  return verb === undefined ? `:${name}` : `:${name}(.+):${verb}`;
}

/** Matches what the router takes for this path, to say which methods it has. */
export function pathMatcher(path: string): RegExp {
  const segments = path.split("/").map((segment) => {
    if (!segment.includes("{")) return escaped(segment);
    const [, , verb = ""] = parameterOf(segment);
    return `[^/]+${escaped(verb)}`;
  });
  return new RegExp(`^${segments.join("/")}$`);
}

function parameterOf(segment: string): RegExpExecArray {
  const found = PARAMETER.exec(segment);
  if (!found) throw new TypeError(`A route's path cannot have the part ${segment}`);
  return found;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
