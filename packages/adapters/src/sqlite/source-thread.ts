import { fileURLToPath } from "node:url";
import type { WorkerOptions } from "node:worker_threads";

/** Next to the packages that are cached, and as trusted as they are; it may be deleted at any time. */
const CACHE = new URL("../../../../node_modules/.cache/sallyport-threads", import.meta.url);

/**
 * What a thread needs besides when it runs from TypeScript source. Node strips types by WebAssembly, and V8 can crash the
 * whole process when threads that do so come and go (nodejs/node#64500): in its registry of compiled code, by SIGTRAP or
 * SIGSEGV. With a compile cache the first thread strips and all others read what it left, in a third of the time. Built
 * JavaScript needs none of it. Where the cache cannot be written, Node goes on without.
 */
export function sourceThreadOptions(file: URL): Pick<WorkerOptions, "env"> {
  if (!file.pathname.endsWith(".ts")) return {};
  return { env: { NODE_COMPILE_CACHE: fileURLToPath(CACHE), ...process.env } };
}
