import { statfs } from "node:fs/promises";
import type { SandboxOffer } from "@sallyport/engine/ports";
import type { Runtime } from "../runtime/runtime.ts";
import { runnersOf } from "../serve/start-report.ts";
import type { ReadinessCheck } from "./routes/index.ts";

/** Without which no call can be taken, each by the name an operator knows it by. */
export function readinessOf({ engine, store, config }: Runtime): ReadinessCheck[] {
  return [
    storeCheck(store),
    diskCheck(config.stateFolder),
    sandboxCheck(
      () => engine.sandboxes(),
      () => SANDBOXED.some((kind) => (runnersOf({ engine })[kind] ?? 0) > 0),
    ),
    {
      name: "engine",
      check: () => (engine.load().accepting ? undefined : "it is closing"),
    },
  ];
}

/** Whoever asks, and however often, the store is written to once a second at most. */
const PROBE_EVERY_MS = 1_000;

/** A store that can only be read takes no call: each has to be on record before it runs. */
export function storeCheck(
  store: Pick<Runtime["store"], "calls" | "probe">,
  now: () => number = Date.now,
): ReadinessCheck {
  let probe: Promise<void> | undefined;
  let probedAt = Number.NEGATIVE_INFINITY;
  return {
    name: "store",
    check: async () => {
      if (!probe || now() - probedAt >= PROBE_EVERY_MS) {
        probedAt = now();
        probe = store.calls.list({ limit: 1 }).then(() => store.probe?.());
        // Awaited below; one that fails after its question was given up must not end the process.
        probe.catch(() => undefined);
      }
      await probe;
      return undefined;
    },
  };
}

/** Kinds of tools that run in sandboxes. */
const SANDBOXED = ["process", "script", "job_worker"] as const;

/**
 * Tools in sandboxes are refused while their folder cannot be used; a server without such tools is ready all the same.
 * So is a host that offers no sandbox at all: what it can run, it takes. Answers with what the last look found, as a look
 * may take longer than a check.
 */
export function sandboxCheck(
  look: () => Promise<readonly SandboxOffer[]>,
  isNeeded: () => boolean,
): ReadinessCheck {
  let problem: string | undefined;
  let isLooking = false;
  return {
    name: "sandbox",
    check: () => {
      if (!isLooking) {
        isLooking = true;
        void look()
          .then((offers) => {
            const broken = offers.find(({ transient }) => transient);
            problem = broken && isNeeded() ? broken.missing.join("; ") : undefined;
          })
          .catch(() => {
            problem = "no sandbox could be looked at";
          })
          .finally(() => {
            isLooking = false;
          });
      }
      return problem;
    },
  };
}

const LEAST_FREE_MIB = 16;

type Room = { bavail: number; bsize: number };

/** A store on a full disk can be read and not written to: every call would be refused only once it came. */
export function diskCheck(folder: string, look: (folder: string) => Promise<Room> = statfs): ReadinessCheck {
  return {
    name: "disk",
    check: async () => {
      const { bavail, bsize } = await look(folder);
      const isFull = bavail * bsize < LEAST_FREE_MIB * 1024 * 1024;
      return isFull ? `less than ${LEAST_FREE_MIB} MiB are free where state is kept` : undefined;
    },
  };
}
