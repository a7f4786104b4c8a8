import { BROKEN_OFF, PIPELINED, SILENT } from "./broken-off.ts";
import { CREDENTIALS } from "./credentials.ts";
import type { HostileCase } from "./hostile-case.ts";
import { JSON_TEXTS } from "./json-texts.ts";
import { MEDIA_TYPES } from "./media-types.ts";
import { METHODS } from "./methods.ts";
import { NAMES } from "./names.ts";
import { ORIGINS } from "./origins.ts";
import { PATHS } from "./paths.ts";
import { QUERIES } from "./queries.ts";
import { SHAPES } from "./shapes.ts";
import { SIZES } from "./sizes.ts";
import { SMUGGLING } from "./smuggling.ts";

export type { HostileCase } from "./hostile-case.ts";
export { BODY_BYTES } from "./sizes.ts";
export { SILENT };

/** Everything a stranger sends, by kind; each is answered at once, or not at all. */
export const CORPUS: Readonly<Record<string, readonly HostileCase[]>> = {
  "texts that are no JSON": JSON_TEXTS,
  "names that mean something else": NAMES,
  "bodies of another shape": SHAPES,
  "sizes beyond bounds": SIZES,
  "media types": MEDIA_TYPES,
  smuggling: SMUGGLING,
  "hosts and origins": ORIGINS,
  paths: PATHS,
  "methods and protocols": METHODS,
  queries: QUERIES,
  credentials: CREDENTIALS,
  "requests that break off": BROKEN_OFF,
  pipelines: PIPELINED,
};
