import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter } from "yaml";

/** Finds the line of a place in a YAML document. */
export class YamlPlaces {
  readonly #document: Document;
  readonly #lines: LineCounter;

  constructor(document: Document, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
  }

  lineAt(offset: number): number {
    return this.#lines.linePos(offset).line;
  }

  /** The line of what a JSON Pointer means, or of the nearest thing around it. */
  lineOf(pointer: string): number {
    let node: unknown = this.#document.contents;
    let line = 1;
    for (const token of tokensOf(pointer)) {
      const next = this.#step(node, token);
      if (!next) return line;
      node = next.node;
      if (next.offset !== undefined) line = this.lineAt(next.offset);
    }
    return line;
  }

  #step(from: unknown, token: string): { node: unknown; offset: number | undefined } | undefined {
    const node = isAlias(from) ? from.resolve(this.#document) : from;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === token);
      return pair && { node: pair.value, offset: isNode(pair.key) ? pair.key.range?.[0] : undefined };
    }
    const item = isSeq(node) ? node.items[Number(token)] : undefined;
    return isNode(item) ? { node: item, offset: item.range?.[0] } : undefined;
  }
}

function tokensOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
