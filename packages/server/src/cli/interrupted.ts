import type { Writable } from "node:stream";

/** A signal that Ctrl-C, an order to end, or the end of whoever reads `output` aborts; `done` stops listening. */
export function interrupted(output?: Writable): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController();
  const interrupt = () => controller.abort("interrupted");
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  output?.once("close", interrupt).once("error", interrupt);
  const done = () => {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
    output?.off("close", interrupt).off("error", interrupt);
  };
  return { signal: controller.signal, done };
}
