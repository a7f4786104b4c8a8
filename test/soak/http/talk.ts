import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  JsonObject,
  ToolCancelResponse,
  ToolInvokeRequest,
  ToolInvokeResponse,
  ToolStatusResponse,
} from "@sallyport/protocol";
import { type Answer, Client } from "./ask.ts";
import type { ServerFolder } from "./server-folder.ts";

/** One wish, in short. */
export interface Wish {
  tool: string;
  input?: JsonObject;
  agent?: string;
  id?: string;
  options?: NonNullable<ToolInvokeRequest["execution_options"]>;
}

/** Talks to a server the way a client does. */
export class Talk implements Disposable {
  readonly client: Client;

  constructor(server: ServerFolder) {
    this.client = new Client(server.port, { connections: 64 });
  }

  invoke({ tool, input = {}, agent = "a", id, options }: Wish): Promise<Answer<ToolInvokeResponse>> {
    const body: ToolInvokeRequest = {
      tool_id: tool,
      parameters: input,
      agent_context: { tenant_id: "load", agent_did: agent },
      ...(id !== undefined && { invocation_id: id }),
      ...(options && { execution_options: options }),
    };
    return this.client.ask<ToolInvokeResponse>({ path: "/v1/tools/invoke", body });
  }

  /** Makes a call that nobody waits for; gives back its id. */
  async accept(wish: Wish): Promise<string> {
    const { status, body } = await this.invoke({ ...wish, options: { ...wish.options, async_mode: true } });
    if (status !== 202) throw new Error(`not accepted: ${JSON.stringify(body)}`);
    return body.invocation_id;
  }

  /** Makes a call and waits for it; its id is known at once, so that it can be watched. */
  begin(wish: Wish): { id: string; answer: Promise<Answer<ToolInvokeResponse>> } {
    const id = randomUUID();
    const answer = this.invoke({ ...wish, id });
    // It may end while nobody looks.
    answer.catch(() => undefined);
    return { id, answer };
  }

  cancel(id: string): Promise<Answer<ToolCancelResponse>> {
    return this.client.ask<ToolCancelResponse>({ method: "POST", path: `/v1/invocations/${id}:cancel` });
  }

  async status(id: string): Promise<ToolStatusResponse | undefined> {
    const { status, body } = await this.client.ask<ToolStatusResponse>({ path: `/v1/invocations/${id}` });
    return status === 200 ? body : undefined;
  }

  /** Resolves once the call's tool is at work. */
  async untilRunning(id: string): Promise<void> {
    await this.#until(id, ({ current_phase }) => current_phase !== undefined);
  }

  async untilEnded(id: string): Promise<ToolStatusResponse> {
    return await this.#until(id, ({ completed_at }) => completed_at !== undefined);
  }

  async #until(id: string, isSo: (standing: ToolStatusResponse) => boolean): Promise<ToolStatusResponse> {
    for (;;) {
      const standing = await this.status(id);
      if (standing && isSo(standing)) return standing;
      await sleep(20);
    }
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }
}
