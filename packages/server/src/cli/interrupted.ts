/** A signal that Ctrl-C, or an order to end, aborts; `done` stops listening for them. */
export function interrupted(): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController();
  const interrupt = () => controller.abort("interrupted");
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  const done = () => {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  };
  return { signal: controller.signal, done };
}
