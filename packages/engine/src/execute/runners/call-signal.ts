/** Why a tool's signal is aborted. */
export type StopReason = "timeout" | "cancelled";

/**
 * A tool's abort signal, made only when the tool looks at it. It is the same object each time, and one first
 * looked at after the abort is born aborted.
 */
export class CallSignal {
  #controller: AbortController | undefined;
  #reason: StopReason | undefined;

  get reason(): StopReason | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(errorFor(this.#reason));
    }
    return this.#controller.signal;
  }

  /** The first reason stays. */
  abort(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(errorFor(reason));
  }
}

function errorFor(reason: StopReason): DOMException {
  return reason === "timeout"
    ? new DOMException("the call's deadline has passed", "TimeoutError")
    : new DOMException("the call was cancelled", "AbortError");
}
