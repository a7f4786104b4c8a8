import type { Store } from "@sallyport/engine/ports";

/** The part of a store that documents need. */
export type DocumentStore = Pick<Store, "commit" | "records">;

/** A document as it was read. */
export interface Document<Body> {
  id: string;
  body: Body;
  revision: number;
}

/** Records belong to no tenant, and writing one leaves nothing in an audit chain. */
const NO_TENANT = "sallyport";

/** The JSON documents of one kind in the store, which every process on it sees. Methods reject when the store is lost. */
export class Documents<Body> {
  readonly #store: DocumentStore;
  readonly #kind: string;

  constructor(store: DocumentStore, kind: string) {
    this.#store = store;
    this.#kind = kind;
  }

  async get(id: string): Promise<Document<Body> | undefined> {
    const found = await this.#store.records.get(this.#kind, id);
    return found && { id, body: JSON.parse(found.body), revision: found.revision };
  }

  async list(limit: number): Promise<Document<Body>[]> {
    const found = await this.#store.records.list(this.#kind, { limit });
    return found.map(({ id, body, revision }) => ({ id, body: JSON.parse(body), revision }));
  }

  /** False when `expect` is given and the document has another revision (0: there is none). Nothing was written then. */
  async put(id: string, body: Body, options: { expect?: number; expiresAt?: number } = {}): Promise<boolean> {
    return await this.#write({ id, body: JSON.stringify(body), ...options });
  }

  /** Safe to repeat. */
  async delete(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#write({ id, body: null });
  }

  async #write(write: {
    id: string;
    body: string | null;
    expect?: number;
    expiresAt?: number;
  }): Promise<boolean> {
    const { ok } = await this.#store.commit({
      tenant: NO_TENANT,
      records: [{ kind: this.#kind, ...write }],
    });
    return ok;
  }
}
