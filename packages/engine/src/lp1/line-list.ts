/** Every line of a file that no find-block names: equal to none of them, so which it is does not matter. */
const UNNAMED = 0;
const REMOVED = -1;

export interface LineListOptions {
  lines: readonly string[];
  /** How many lines will be put in at most, counting those that go again. */
  inserts: number;
  /** The lines that find-blocks hold, numbered from 1. */
  names: ReadonlyMap<string, number>;
}

/**
 * The lines of a file in a ring of nodes, so that putting in and taking out cost as much as the lines in question and not as
 * much as the file. Node 0 stands before the first line and after the last. For each name the list knows its nodes, in no
 * particular order; most find-blocks hold a rare line, and are found by that.
 */
export class LineList {
  readonly #names: ReadonlyMap<string, number>;
  readonly #texts: string[] = [""];
  readonly #nodesOf: number[][];
  readonly #living: Int32Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #name: Int32Array;
  #size = 0;

  constructor({ lines, inserts, names }: LineListOptions) {
    const capacity = lines.length + inserts + 1;
    this.#names = names;
    this.#nodesOf = Array.from({ length: names.size + 1 }, () => []);
    this.#living = new Int32Array(names.size + 1);
    this.#next = new Int32Array(capacity);
    this.#previous = new Int32Array(capacity);
    this.#name = new Int32Array(capacity);
    this.insertAfter(0, lines);
  }

  get size(): number {
    return this.#size;
  }

  /** The node after; 0 after the last line, the first line's after 0. */
  next(node: number): number {
    return this.#next[node] ?? 0;
  }

  previous(node: number): number {
    return this.#previous[node] ?? 0;
  }

  /** The number of the node's line among the names, or 0. */
  name(node: number): number {
    return this.#name[node] ?? UNNAMED;
  }

  text(node: number): string {
    return this.#texts[node] ?? "";
  }

  /** How many lines of the file have this name. */
  living(name: number): number {
    return this.#living[name] ?? 0;
  }

  /** The nodes of a name. Removed ones are cleared away at the next look, each once. */
  nodesOf(name: number): readonly number[] {
    const nodes = this.#nodesOf[name] ?? [];
    if (nodes.length === this.living(name)) return nodes;
    const left = nodes.filter((node) => this.#next[node] !== REMOVED);
    this.#nodesOf[name] = left;
    return left;
  }

  insertAfter(node: number, lines: readonly string[]): void {
    const behind = this.next(node);
    let last = node;
    for (const line of lines) last = this.#add(last, line);
    this.#next[last] = behind;
    this.#previous[behind] = last;
    this.#size += lines.length;
  }

  /** Takes out `count` lines from `first` on. */
  remove(first: number, count: number): void {
    const before = this.previous(first);
    let node = first;
    for (let removed = 0; removed < count; removed += 1) {
      const after = this.next(node);
      this.#next[node] = REMOVED;
      const name = this.name(node);
      this.#living[name] = this.living(name) - 1;
      node = after;
    }
    this.#next[before] = node;
    this.#previous[node] = before;
    this.#size -= count;
  }

  /** The bare arrays, by node, for a walk through the whole file. Only to be read, and before the next change. */
  arrays(): { next: Int32Array; names: Int32Array } {
    return { next: this.#next, names: this.#name };
  }

  /** All nodes in the order of the file. */
  nodes(): Int32Array {
    const nodes = new Int32Array(this.#size);
    for (let node = this.next(0), index = 0; node !== 0; node = this.next(node), index += 1)
      nodes[index] = node;
    return nodes;
  }

  #add(after: number, line: string): number {
    const node = this.#texts.push(line) - 1;
    const name = this.#names.get(line) ?? UNNAMED;
    this.#name[node] = name;
    this.#living[name] = this.living(name) + 1;
    if (name !== UNNAMED) this.#nodesOf[name]?.push(node);
    this.#next[after] = node;
    this.#previous[node] = after;
    return node;
  }
}
