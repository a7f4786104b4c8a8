import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type UserWorkspaceConfig } from "vitest/config";
import { reasonToSkip } from "./scripts/services.ts";

// Processes and threads that tests start from source strip its types once for all of them. Without it V8 can crash where
// threads that strip come and go (packages/adapters/src/sqlite/source-thread.ts).
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/sallyport-tests");

// Everything random takes this seed, another one in every run; the same seed repeats a failure.
if (process.env.SALLYPORT_SEED === undefined) {
  process.env.SALLYPORT_SEED = String(randomInt(2 ** 31));
  console.error(`SALLYPORT_SEED=${process.env.SALLYPORT_SEED}`);
}

const IS_SOAK = process.env.SALLYPORT_SOAK === "1";
/**
 * How often a test that drives processes, terminals or kernels is tried again when it fails. The summary names each that
 * passed only then: it is a bug of the test or of the product.
 */
const SECOND_TRIES = IS_SOAK ? 0 : 1;
const CORES = Math.max(2, availableParallelism());

const HAS_POSTGRES_STORE = existsSync(
  join(import.meta.dirname, "packages/adapters/src/postgres/open-store.ts"),
);
const withoutPostgres = HAS_POSTGRES_STORE ? reasonToSkip("postgres") : "there is no such store yet";
if (withoutPostgres !== undefined) console.error(`The project fleet is left out: ${withoutPostgres}`);

/** The projects run one after the other, in this order: vitest mixes only projects that share a group. */
const ORDER = ["unit", "integration", "e2e", "fleet", "terminal", "crash", "soak", "escape"] as const;

type ProjectTest = NonNullable<UserWorkspaceConfig["test"]>;

function project(name: (typeof ORDER)[number], test: ProjectTest): UserWorkspaceConfig {
  return {
    test: {
      // A limit says when something hangs, not how fast it is: a machine that is slow, busy or cold takes many times what
      // a quiet one takes (3 s were seen for a process to start). Nothing waits longer than it must.
      testTimeout: IS_SOAK ? 14_400_000 : 240_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 20_000 } },
      retry: name === "unit" ? 0 : SECOND_TRIES,
      ...test,
      name,
      sequence: { groupOrder: ORDER.indexOf(name) },
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      project("unit", {
        include: ["{packages,workers}/*/src/**/*.test.ts", "scripts/**/*.test.ts", "test/*.test.ts"],
        exclude: ["**/*.integration.test.ts", "**/node_modules/**"],
        maxWorkers: CORES,
        // Files share a process and its modules: a unit test may rely on no state of a module.
        isolate: false,
        setupFiles: ["test/configure-properties.ts"],
      }),
      project("integration", {
        include: ["packages/*/src/**/*.integration.test.ts"],
        maxWorkers: CORES,
        setupFiles: ["test/configure-properties.ts"],
      }),
      // Commands and terminals mostly wait for each other, so more of them run than there are cores.
      project("e2e", {
        include: ["test/e2e/**/*.test.ts"],
        exclude: ["test/e2e/{tui,chat}/**"],
        maxWorkers: CORES + 1,
      }),
      // The same assertions once more, through a balancer, with two servers on one PostgreSQL.
      ...(withoutPostgres === undefined
        ? [
            project("fleet", {
              include: [
                "test/e2e/http/{approvals,async,events,idempotency,invoke,tokens,tools-and-status,webhooks}.test.ts",
              ],
              globalSetup: ["test/fixtures/postgres-setup.ts"],
              maxWorkers: CORES,
            }),
          ]
        : []),
      project("terminal", { include: ["test/e2e/{tui,chat}/**/*.test.ts"], maxWorkers: 2 * CORES }),
      project("crash", { include: ["test/crash/**/*.test.ts"], maxWorkers: CORES }),
      // They look for what is left of their own folders and processes, so that two of them do not disturb each other.
      project("soak", { include: ["test/soak/**/*.test.ts"], maxWorkers: IS_SOAK ? 1 : CORES }),
      // One file at a time: limits on time and processors are attacked, and the host is compared before and after.
      project("escape", { include: ["test/escape/**/*.test.ts"], maxWorkers: 1 }),
    ],
  },
});
