import { isJsonObject, type JsonSchema, type JsonValue } from "@sallyport/protocol";
import { nameOfReference } from "./components.ts";
import { html, Markup, prose } from "./markup.ts";

/** What kind of value a schema asks for, in a few words. */
export function typeText(schema: JsonSchema): Markup {
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
export function partsTable(schema: JsonSchema): Markup {
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
