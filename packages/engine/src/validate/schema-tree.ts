import type { JsonObject, JsonValue } from "@sallyport/protocol";

/** One place where a schema stands. */
export interface SchemaNode {
  readonly pointer: string;
  readonly schema: JsonObject | boolean;
  readonly depth: number;
  readonly children: {
    readonly keyword: string;
    readonly key: string | undefined;
    readonly node: SchemaNode;
  }[];
  /** Nodes that this one's references lead to, by keyword. */
  readonly targets: Map<string, SchemaNode>;
}

/** A schema document that was found usable: every reference leads to a node, every pattern runs. */
export interface SchemaTree {
  readonly root: SchemaNode;
  readonly nodes: ReadonlyMap<string, SchemaNode>;
}

export function isSchema(value: JsonValue | undefined): value is JsonObject | boolean {
  return typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value));
}
