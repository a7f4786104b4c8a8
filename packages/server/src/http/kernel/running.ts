import { entryOf, type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { Guard } from "../guard/index.ts";
import type { Asked, Reply, Route } from "../route.ts";
import type { Answering } from "./answering.ts";
import { askedOf, type Parts } from "./asked-request.ts";
import type { DoorLog } from "./door-log.ts";
import type { DoorSettings } from "./door-settings.ts";
import type { Exchange } from "./exchange.ts";
import { failureOf } from "./failure-of.ts";
import { Together } from "./together.ts";

/** Takes a request that was let in through its handler to its answer. Never throws, never rejects. */
export class Running {
  readonly #guard: Guard;
  readonly #answering: Answering;
  readonly #log: DoorLog;
  readonly #publicUrl: string | undefined;
  readonly #scheme: string;
  readonly #together = new Together();

  constructor(parts: { guard: Guard; answering: Answering; log: DoorLog; settings: DoorSettings }) {
    this.#guard = parts.guard;
    this.#answering = parts.answering;
    this.#log = parts.log;
    this.#publicUrl = parts.settings.publicUrl?.replace(/\/+$/, "");
    this.#scheme = parts.settings.tls ? "https" : "http";
  }

  run(route: Route, exchange: Exchange, parts: Parts): void {
    this.#together.start(() => this.#begin(route, exchange, parts));
  }

  #begin(route: Route, exchange: Exchange, { params, query, body }: Parts): void {
    try {
      const origin = this.#publicUrl ?? `${this.#scheme}://${exchange.request.headers.host}`;
      const asked = askedOf(route, exchange, { params, query, body, origin });
      const refusal = isFailure(asked) ? asked : this.#lateRefusal(route, exchange, body);
      if (refusal) this.refuse(exchange, refusal);
      else if (!isFailure(asked)) this.#handle(route, exchange, asked);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** For what Fastify gave up on while it read the body. */
  unreadable(exchange: Exchange, error: unknown): void {
    const failed = failureOf(error);
    if (failed) this.refuse(exchange, failed);
    else this.#answering.defect(exchange, error);
  }

  refuse(exchange: Exchange, failed: Failure): void {
    this.#answering.problem(exchange, failed);
  }

  /** Who showed nothing in the headers may have put a token into the body. */
  #lateRefusal(route: Route, exchange: Exchange, body: unknown): Failure | undefined {
    if (exchange.principal.kind !== "anyone" || !route.tokenInBody) return undefined;
    const token = route.tokenInBody(body);
    if (token) {
      const principal = this.#guard.recognise(token);
      if (isFailure(principal)) return principal;
      exchange.principal = principal;
    }
    return this.#guard.refuse(exchange.principal, route.access);
  }

  #handle(route: Route, exchange: Exchange, asked: Asked): void {
    const reply = route.handle(asked);
    if (reply instanceof Promise)
      reply.then(
        (late) => this.#answer(exchange, late),
        (error: unknown) => this.#fail(exchange, error),
      );
    else this.#answer(exchange, reply);
  }

  #answer(exchange: Exchange, reply: Reply): void {
    try {
      this.#answering.reply(exchange, reply);
    } catch (error) {
      this.#answering.defect(exchange, error);
    }
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (!(error instanceof SallyportError)) {
      this.#answering.defect(exchange, error);
      return;
    }
    const { requestId, route } = exchange;
    if (entryOf(error.failure).http >= 500)
      this.#log.error({ err: error, requestId, route: route?.id }, "A request failed");
    this.refuse(exchange, error.failure);
  }
}
