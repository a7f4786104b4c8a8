import {
  absentOr,
  described,
  exactRecord,
  type Field,
  fieldOf,
  flag,
  listOf,
  matching,
  nameText,
  oneOf,
  reject,
  simple,
  textUpTo,
  wholeNumber,
} from "./fields.ts";
import type { JsonSchema } from "./json.ts";

const DAY_MS = 86_400_000;

/** At least `minimum`; 1 when left out, because a limit of nothing limits everything. */
export function atLeast(minimum = 1): Field<number> {
  return simple(
    `a whole number of at least ${minimum}`,
    { type: "integer", minimum },
    (value): value is number => Number.isInteger(value) && Number(value) >= minimum,
  );
}

/** A list of texts in which none occurs twice. */
export function setOf(item: Field<string>): Field<string[]> {
  const list = listOf(item);
  return fieldOf({ ...list.schema, uniqueItems: true }, (value, path, issues): value is string[] => {
    if (!list(value, path, issues)) return false;
    return new Set(value).size === value.length || reject(issues, path, "must not name anything twice");
  });
}

/** Wide enough for every dialect's ids, `mcp:server:tool` included; never a path or a space. */
export const toolIdField = described(
  matching(/^[A-Za-z][A-Za-z0-9_.:-]{0,254}$/, "the id of a tool"),
  "Unique id of the tool.",
);

const NUMBER = "(?:0|[1-9][0-9]*)";
const PRERELEASE = `(?:${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
/** SemVer without build metadata: two versions that differ only there would have no order. */
const VERSION = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRERELEASE}(?:\\.${PRERELEASE})*)?$`);

export const versionField = described(
  simple(
    "a SemVer version",
    { type: "string", maxLength: 256, pattern: VERSION.source },
    (value): value is string => typeof value === "string" && value.length <= 256 && VERSION.test(value),
  ),
  "SemVer version; a registered one never changes.",
);

/** At most a day, which every timer can hold. */
export const timeoutField = described(
  wholeNumber("milliseconds, at most a day", { minimum: 1, maximum: DAY_MS }),
  "Wall-clock milliseconds one execution may take.",
);

export const percentField = described(
  simple(
    "a number from 0 to 100",
    { type: "number", minimum: 0, maximum: 100 },
    (value): value is number => typeof value === "number" && value >= 0 && value <= 100,
  ),
  "Percent of failures at which the breaker opens.",
);

export const capabilitiesField = described(
  setOf(described(nameText, "A capability id.")),
  "Capabilities the caller must be granted.",
);

export const attemptsField = wholeNumber("a number of attempts", { minimum: 1, maximum: 10 });
export const errorNamesField = setOf(described(textUpTo(64), "An error code or kind."));
export const tagsField = described(setOf(described(textUpTo(64), "One tag.")), "Words to find the tool by.");
export const deterministicField = described(flag, "The same input and state always give the same result.");
export const idempotentField = described(flag, "Running it twice has the effect of running it once.");

/** The permissions of a tool; `mode` may be left out only where the dialect has a default for it. */
export function permissionsField<Mode>(mode: Field<Mode>) {
  const path = exactRecord({ path: described(textUpTo(4096), "Path the tool may use."), mode });
  const host = exactRecord({
    host: described(nameText, "Host name or address."),
    port: absentOr(wholeNumber("a port", { minimum: 1, maximum: 65_535 }), "Port; any when left out."),
  });
  return described(
    exactRecord({
      filesystem: absentOr(listOf(described(path, "One folder or file.")), "Paths the tool may use."),
      network: absentOr(listOf(described(host, "One host.")), "Hosts the tool may connect to."),
      credentials: absentOr(
        setOf(described(nameText, "Name of a stored secret.")),
        "Secrets the tool may use, by name.",
      ),
    }),
    "What the tool may touch while it runs; nothing unless listed.",
  );
}

export const accessModeField = described(oneOf(["ro", "rw"]), "Read only, or read and write.");

/** A published schema: a field's schema with an id and a title. */
export function publishedSchema(id: string, title: string, field: Field<unknown>): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `https://sallyport.dev/schemas/${id}.json`,
    title,
    ...field.schema,
  };
}

/** Seconds in milliseconds; undefined and null stay undefined. */
export function seconds(value: number | null | undefined): number | undefined {
  return typeof value === "number" ? value * 1000 : undefined;
}

/** Megabytes in bytes; undefined and null stay undefined. */
export function megabytes(value: number | null | undefined): number | undefined {
  return typeof value === "number" ? value * 1024 * 1024 : undefined;
}
