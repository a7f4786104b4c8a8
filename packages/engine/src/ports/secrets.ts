/** Where secrets come from, by name. What it gives is used at once and never kept, logged or passed to a tool. */
export interface SecretSource {
  /** Undefined when there is none of that name. Rejects when it cannot be asked (E3301). */
  get(name: string): Promise<string | undefined>;
}
