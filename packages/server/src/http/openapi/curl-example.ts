import { isJsonObject, type JsonSchema, type JsonValue } from "@sallyport/protocol";
import type { Access, Route } from "../route.ts";
import { accessOf } from "./security.ts";

const CREDENTIALS: Partial<Record<Access, string>> = {
  operator: "$OPERATOR_KEY",
  approver: "$APPROVAL_TOKEN",
};

/** Better bodies for some operations, by their ids, made of the one their shape gives. */
export type BodyExamples = Readonly<Record<string, (usual: JsonValue) => JsonValue>>;

/** A line to paste into a shell. Names in capitals are to be filled in. */
export function curlExample(route: Route, origin: string, examples: BodyExamples = {}): string {
  const address = `${origin}${route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => name.toUpperCase())}`;
  const usual = route.body && exampleOf(route.body.schema);
  const example = usual === undefined ? undefined : (examples[route.id]?.(usual) ?? usual);
  const isStream = Object.values(route.answers).some(({ content }) => content === "text/event-stream");
  return [
    isStream ? "curl -sN" : "curl -s",
    ...(route.method === "GET" || example !== undefined ? [] : [`-X ${route.method}`]),
    quoted(address),
    ...credential(accessOf(route)),
    ...(example === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(example))}`]),
  ].join(" \\\n  ");
}

function credential(access: Access): string[] {
  const shown = CREDENTIALS[access];
  return shown === undefined ? [] : [`-H "authorization: Bearer ${shown}"`];
}

/** For a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The example a body's schema gives, wherever in it that stands. */
function exampleOf(schema: JsonSchema): JsonValue | undefined {
  if (Array.isArray(schema.examples)) return schema.examples[0];
  const [first] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  return isJsonObject(first) ? exampleOf(first) : undefined;
}
