import { isUtf8 } from "node:buffer";
import { type Failure, failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import type { FastifyInstance } from "fastify";
import { FIXED_BOUNDS } from "./door-settings.ts";
import { malformed } from "./failure-of.ts";
import { readJsonText } from "./json-text.ts";

const JSON_KIND = /^application\/[\w.!#$&^-]+\+json(?:;|$)/;
const PARAMETERS = /;\s*([\w-]+)\s*=\s*"?([^";]*)"?/g;

/** Makes JSON, strictly read, the one kind of body there is. */
export function takeJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  for (const kind of ["application/json", JSON_KIND]) {
    app.addContentTypeParser(kind, { parseAs: "buffer" }, (request, bytes, done) => {
      const read = readBody(bytes, request.headers["content-type"] ?? "");
      if (read.ok) done(null, read.value);
      else done(new SallyportError(read.failure));
    });
  }
}

type Reading = { ok: true; value: JsonValue } | { ok: false; failure: Failure };

/** The value a body holds; E3903 when it is not JSON in UTF-8, E3932 when it says that it is in something else. */
export function readBody(bytes: string | Buffer, contentType: string): Reading {
  if (!isUnicode(contentType))
    return { ok: false, failure: failure("E3932", { message: "JSON is taken in UTF-8 alone." }) };
  if (typeof bytes === "string") return readJsonText(bytes, FIXED_BOUNDS.json);
  if (!isUtf8(bytes)) return { ok: false, failure: malformed("The body is not UTF-8 text.") };
  return readJsonText(bytes.toString("utf8"), FIXED_BOUNDS.json);
}

function isUnicode(contentType: string): boolean {
  if (!contentType.includes(";")) return true;
  for (const [, name, value] of contentType.matchAll(PARAMETERS))
    if (name?.toLowerCase() === "charset" && !/^utf-?8$/i.test(value ?? "")) return false;
  return true;
}
