import {
  type Field,
  invocationEventFields,
  isJsonObject,
  type JsonSchema,
  type JsonValue,
  problemField,
} from "@sallyport/protocol";
import type { Access, Route } from "../route.ts";
import { Components, nameOfReference } from "./components.ts";
import { type BodyExamples, curlExample } from "./curl-example.ts";
import { tagsOf } from "./document.ts";
import { html, Markup, prose } from "./markup.ts";
import { oneLine } from "./operation.ts";
import { pageOf } from "./page-frame.ts";
import { accessOf } from "./security.ts";

const INTRO = html`<p>Requests and answers are JSON. What is refused is answered as a
<a href="#shape-Problem">problem</a> (RFC 9457) with a code of the <a href="/docs/errors">error catalogue</a>.
For programs: <a href="/openapi.json">OpenAPI 3.1</a>.</p>`;

const WHO: Record<Access, string> = {
  public: "Anybody who can reach the server.",
  caller: "Callers: with a capability token as bearer token, unless http.callers is open; operators.",
  operator: "Operators: with the operator key or a session.",
  approver: "Operators, or the person whom the approval's token names.",
};

interface LineOptions {
  /** Where the lines ask. */
  origin: string;
  examples?: BodyExamples;
}

interface PageOptions extends LineOptions {
  version: string;
}

/** The readable description of the API: every operation with its shapes and a line to try it with. */
export function operationsPage(routes: readonly Route[], { version, ...lines }: PageOptions): string {
  const components = new Components();
  const groups = tagsOf(routes).map(({ name, description }) => {
    const own = routes.filter(({ tag }) => tag === name);
    return html`<h2>${name}</h2><p>${description}</p>${own.map((route) => operation(route, components, lines))}`;
  });
  for (const field of [problemField, ...Object.values(invocationEventFields)]) components.use(field.schema);
  const body = html`<h1>Sallyport <span class="quiet">${version}</span></h1>${INTRO}
<nav><ul>${routes.map(entry)}</ul></nav>
${groups}
<h2 id="shapes">Shapes</h2>
${Object.entries(components.all()).map(shape)}`;
  return pageOf({ title: "Sallyport: the HTTP API", body });
}

function entry({ id, method, path }: Route): Markup {
  return html`<li><a href="#${id}"><code>${method} ${path}</code></a></li>`;
}

function operation(route: Route, components: Components, { origin, examples }: LineOptions): Markup {
  const { id, method, path, summary, description } = route;
  return html`<section id="${id}"><h3><code><span class="method">${method}</span> ${path}</code></h3>
<p><strong>${summary}.</strong> ${description === undefined ? html`` : prose(oneLine(description))}</p>
<p class="quiet">${WHO[accessOf(route)]}</p>
${part("In the path", route.params, components)}
${part("In the query", route.query, components)}
${headers(route.headers)}
${body(route.body, components)}
${answers(route, components)}
<pre>${curlExample(route, origin, examples)}</pre>
</section>`;
}

function part(title: string, field: Field<unknown> | undefined, components: Components): Markup {
  if (!isJsonObject(field?.schema.properties)) return html``;
  return html`<p>${title}:</p>${partsTable(components.use(field.schema))}`;
}

function headers(named: Route["headers"]): Markup {
  const rows = Object.entries(named ?? {}).map(
    ([name, meaning]) => html`<tr><td><code>${name}</code></td><td>${prose(meaning)}</td></tr>`,
  );
  return rows.length === 0 ? html`` : html`<p>Headers:</p><table>${rows}</table>`;
}

function body(field: Field<unknown> | undefined, components: Components): Markup {
  return field ? html`<p>Body: ${typeText(components.use(field.schema))}</p>` : html``;
}

function answers(route: Route, components: Components): Markup {
  const rows = new Map<string, { statuses: string[]; rest: Markup }>();
  for (const [status, { description, schema, content }] of Object.entries(route.answers)) {
    const kind = schema ? typeText(components.use(schema.schema)) : html`${content ?? ""}`;
    const rest = html`<td>${kind}</td><td>${prose(description)}</td>`;
    const { statuses } = rows.get(rest.text) ?? { statuses: [] };
    rows.set(rest.text, { statuses: [...statuses, status], rest });
  }
  const shown = [...rows.values()].map(
    ({ statuses, rest }) => html`<tr><td>${statuses.join(", ")}</td>${rest}</tr>`,
  );
  return html`<p>Answers:</p><table>${shown}</table>`;
}

function shape([name, schema]: [string, JsonSchema]): Markup {
  return html`<section id="shape-${name}"><h3>${name}</h3>${partsTable(schema)}</section>`;
}

/** What kind of value a schema asks for, in a few words. */
function typeText(schema: JsonSchema): Markup {
  const name = nameOfReference(schema);
  if (name !== undefined) return html`<a href="#shape-${name}">${name}</a>`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return joined(choices.map(typeOf), " or ");
  if (Array.isArray(schema.enum))
    return joined(
      schema.enum.map((word) => html`<code>${String(word)}</code>`),
      " | ",
    );
  if (schema.type === "array") return html`list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "object" && isJsonObject(schema.additionalProperties))
    return html`object of ${typeText(schema.additionalProperties)}`;
  return html`${plainText(schema)}`;
}

function typeOf(value: JsonValue): Markup {
  return isJsonObject(value) ? typeText(value) : html`anything`;
}

function plainText({ type, minimum, maximum, maxLength, format }: JsonSchema): string {
  const kind = Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "anything";
  const isBounded = typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER;
  const bounds = isBounded ? ` ${minimum} to ${maximum}` : "";
  const length = typeof maxLength === "number" ? `, at most ${maxLength} characters` : "";
  return `${kind}${typeof format === "string" ? ` (${format})` : ""}${bounds}${length}`;
}

function joined(parts: readonly Markup[], between: string): Markup {
  return new Markup(parts.map(({ text }) => text).join(between));
}

/** The parts of an object, a row each; parts within parts are shown below them. */
function partsTable(schema: JsonSchema): Markup {
  const rows = rowsOf(schema, "");
  return rows.length === 0 ? html`<p>${typeText(schema)}</p>` : html`<table>${rows}</table>`;
}

function rowsOf(schema: JsonSchema, prefix: string): Markup[] {
  const { properties } = schema;
  if (!isJsonObject(properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).flatMap(([name, part]) => {
    if (!isJsonObject(part)) return [];
    const path = `${prefix}${name}`;
    const row = html`<tr><td><code>${path}</code>${needed(required.includes(name))}</td><td>${typeText(part)}</td><td>${said(part)}</td></tr>`;
    return [row, ...rowsOf(inner(part), `${path}${part.type === "array" ? "[]" : ""}.`)];
  });
}

function inner(part: JsonSchema): JsonSchema {
  return part.type === "array" && isJsonObject(part.items) ? part.items : part;
}

function needed(isRequired: boolean): Markup {
  return isRequired ? html` <span class="quiet">required</span>` : html``;
}

function said({ description }: JsonSchema): Markup {
  return typeof description === "string" ? prose(description) : html``;
}
