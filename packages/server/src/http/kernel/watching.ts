import type { ErrorCode } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import type { Route } from "../route.ts";
import type { DoorLog } from "./door-log.ts";
import type { Exchange } from "./exchange.ts";
import type { TraceContext } from "./trace-context.ts";

/** A request as telemetry sees it. Holds no header and no body. */
export interface SeenRequest {
  requestId: string;
  method: string;
  /** Undefined when there is none for it. */
  route: Route | undefined;
  /** What the sender said about its trace. */
  trace: TraceContext | undefined;
}

/** How a request ended. */
export interface SeenAnswer extends SeenRequest {
  status: number;
  durationMs: number;
  principal: Principal["kind"];
  /** Why the door refused it, if it did. */
  code: ErrorCode | undefined;
  /** Where the request came from. */
  address?: string | undefined;
  /** The client was gone before it had its answer. */
  aborted: boolean;
}

export interface DoorHooks {
  /**
   * Told of each request before its handler runs. A trace context it gives back takes the place of the sender's, so
   * that what the handler starts hangs below the door's own span.
   */
  onRequest?: ((request: SeenRequest) => TraceContext | undefined) | undefined;
  /** Told once of each answer, also of those to what never became a request. */
  onAnswer?: ((answer: SeenAnswer) => void) | undefined;
}

/** Tells those who watch; what they throw is logged and changes nothing. */
export class Watching {
  readonly #hooks: DoorHooks;
  readonly #log: DoorLog;

  constructor(hooks: DoorHooks, log: DoorLog) {
    this.#hooks = hooks;
    this.#log = log;
  }

  request(exchange: Exchange): void {
    const { onRequest } = this.#hooks;
    if (!onRequest) return;
    this.#safely(() => {
      exchange.trace = onRequest(seen(exchange)) ?? exchange.trace;
    });
  }

  answer(exchange: Exchange): void {
    const { onAnswer } = this.#hooks;
    if (!onAnswer) return;
    const { response, startedAt, principal, code } = exchange;
    this.#safely(() =>
      onAnswer({
        ...seen(exchange),
        status: exchange.status,
        durationMs: performance.now() - startedAt,
        principal: principal.kind,
        code,
        address: exchange.request.socket.remoteAddress,
        aborted: !response.writableFinished,
      }),
    );
  }

  /** An answer to what never became a request. */
  wire(refusal: { requestId: string; status: number; code: ErrorCode }): void {
    const { onAnswer } = this.#hooks;
    const unknown = { method: "", route: undefined, trace: undefined, principal: "anyone" } as const;
    this.#safely(() => onAnswer?.({ ...unknown, ...refusal, durationMs: 0, aborted: false }));
  }

  #safely(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#log.error({ err: error }, "A watcher of the HTTP door failed");
    }
  }
}

function seen({ requestId, request, route, trace }: Exchange): SeenRequest {
  return { requestId, method: request.method ?? "", route, trace };
}
