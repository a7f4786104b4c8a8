import {
  type Field,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  problemField,
} from "@sallyport/protocol";
import type { AnswerShape, Route } from "../route.ts";
import type { Components } from "./components.ts";
import { securityOf } from "./security.ts";

const JSON_TYPE = "application/json";
const PROBLEM_TYPE = "application/problem+json";

/** One route in OpenAPI's words. */
export function operationOf(route: Route, components: Components): JsonObject {
  const parameters = parametersOf(route, components);
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description !== undefined && { description: oneLine(route.description) }),
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && { requestBody: bodyOf(route.body, components) }),
    responses: responsesOf(route, components),
  };
}

/** Line breaks of the source are none of the text. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ");
}

function bodyOf(field: Field<unknown>, components: Components): JsonObject {
  const content = { [JSON_TYPE]: { schema: components.use(plainBody(field.schema)) } };
  return field.mayBeAbsent ? { content } : { required: true, content };
}

/** A body that need not be there is not described as one that may be null. */
function plainBody(schema: JsonSchema): JsonSchema {
  const [first, second] = Array.isArray(schema.anyOf) ? schema.anyOf : [];
  const isOrNull = isJsonObject(first) && isJsonObject(second) && second.type === "null";
  return isOrNull ? first : schema;
}

function parametersOf({ params, query, headers }: Route, components: Components): JsonObject[] {
  return [
    ...placed(params, "path", components),
    ...placed(query, "query", components),
    ...Object.entries(headers ?? {}).map(([name, description]) => ({
      name,
      in: "header",
      description,
      schema: { type: "string" },
    })),
  ];
}

function placed(
  field: Field<unknown> | undefined,
  place: "path" | "query",
  components: Components,
): JsonObject[] {
  const properties = field?.schema.properties;
  if (!isJsonObject(properties)) return [];
  const required = Array.isArray(field?.schema.required) ? field.schema.required : [];
  return Object.entries(properties).map(([name, part]) => {
    const { description, ...schema } = isJsonObject(part) ? part : {};
    return {
      name,
      in: place,
      ...(description !== undefined && { description }),
      ...(required.includes(name) && { required: true }),
      // A list is one word with commas in it.
      ...(schema.type === "array" && { style: "form", explode: false }),
      schema: components.use(schema),
    };
  });
}

function responsesOf({ answers, refusal }: Route, components: Components): JsonObject {
  const problem = { [PROBLEM_TYPE]: { schema: components.use(problemField.schema) } };
  const listed = Object.entries(answers).map(([status, answer]) => {
    // A route that refuses in words of its own says in `answers` which.
    const content = { ...contentOf(answer, components), ...(Number(status) >= 400 && !refusal && problem) };
    return [status, responseOf(answer, content)] as const;
  });
  return {
    ...Object.fromEntries(listed),
    default: { description: "What is wrong with the request, or with the runtime.", content: problem },
  };
}

function responseOf({ description, headers }: AnswerShape, content: JsonObject): JsonObject {
  const described = Object.entries(headers ?? {}).map(([name, meaning]) => [
    name,
    { description: meaning, schema: { type: "string" } },
  ]);
  return {
    description,
    ...(described.length > 0 && { headers: Object.fromEntries(described) }),
    ...(Object.keys(content).length > 0 && { content }),
  };
}

function contentOf({ schema, content }: AnswerShape, components: Components): JsonObject {
  if (content !== undefined) return { [content]: { schema: { type: "string" } } };
  return schema ? { [JSON_TYPE]: { schema: components.use(schema.schema) } } : {};
}
