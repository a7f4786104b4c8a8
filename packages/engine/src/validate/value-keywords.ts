import { canonicalJson, type JsonValue } from "@sallyport/protocol";
import { _, type Code, type CodeKeywordDefinition, type KeywordCxt } from "ajv/dist/2020.js";
import type { Work } from "./work.ts";

/**
 * `enum`, `const` and `uniqueItems` by canonical text and hash sets: linear where comparing each with each is
 * quadratic, and without calling methods that the data might shadow (`valueOf`, `constructor`).
 */
export function valueKeywords(work: Work): CodeKeywordDefinition[] {
  return [
    membership("enum", "array", (schema: JsonValue[]) => memberOf(schema, work)),
    membership("const", undefined, (schema: JsonValue) => memberOf([schema], work)),
    uniqueItems(work),
  ];
}

type Test = (value: JsonValue) => boolean;

function membership<Schema>(
  keyword: string,
  schemaType: "array" | undefined,
  compile: (schema: Schema) => Test,
): CodeKeywordDefinition {
  return {
    keyword,
    ...(schemaType && { schemaType }),
    error: { message: `must match ${keyword}` },
    code(cxt: KeywordCxt) {
      const test = cxt.gen.scopeValue("func", { ref: compile(cxt.schema) });
      cxt.fail(_`!${test}(${cxt.data})`);
    },
  };
}

function memberOf(values: JsonValue[], work: Work): Test {
  const scalars = new Set(values.filter(isScalar));
  const texts = new Set(values.filter((value) => !isScalar(value)).map(canonicalJson));
  return (value) => {
    if (isScalar(value)) return scalars.has(value);
    return texts.size > 0 && texts.has(paidText(value, work));
  };
}

function uniqueItems(work: Work): CodeKeywordDefinition {
  const findRepeated = (items: JsonValue[]) => firstRepeated(items, work);
  return {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must not have equal items", params: ({ params }) => pair(params.pair) },
    code(cxt: KeywordCxt) {
      if (cxt.schema !== true) return;
      const find = cxt.gen.scopeValue("func", { ref: findRepeated });
      const found = cxt.gen.const("pair", _`${find}(${cxt.data})`);
      cxt.setParams({ pair: found });
      cxt.fail(_`${found} !== undefined`);
    },
  };
}

function pair(found: Code | string | number | undefined): Code {
  return _`{i: ${found}[0], j: ${found}[1]}`;
}

function firstRepeated(items: JsonValue[], work: Work): [number, number] | undefined {
  work.spend(items.length >> 3);
  const scalars = new Map<JsonValue, number>();
  const texts = new Map<JsonValue, number>();
  for (const [index, item] of items.entries()) {
    const [seen, key] = isScalar(item) ? [scalars, item] : [texts, paidText(item, work)];
    const earlier = seen.get(key);
    if (earlier !== undefined) return [earlier, index];
    seen.set(key, index);
  }
  return undefined;
}

function paidText(value: JsonValue, work: Work): string {
  const text = canonicalJson(value);
  work.spend(4 + (text.length >> 3));
  return text;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}
