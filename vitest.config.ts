import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type UserWorkspaceConfig } from "vitest/config";
import { reasonToSkip } from "./scripts/services.ts";

// Processes and threads that tests start from source strip its types once for all of them. Without it V8 can crash where
// threads that strip come and go (packages/adapters/src/sqlite/source-thread.ts).
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/sallyport-tests");

const IS_SOAK = process.env.SALLYPORT_SOAK === "1";
// Everything random takes this seed: the same in every ordinary run, another one in every long run.
if (process.env.SALLYPORT_SEED === undefined) {
  process.env.SALLYPORT_SEED = String(IS_SOAK ? randomInt(2 ** 31) : 7420);
  console.error(`SALLYPORT_SEED=${process.env.SALLYPORT_SEED}`);
}
const CORES = Math.max(2, availableParallelism());

const HAS_POSTGRES_STORE = existsSync(
  join(import.meta.dirname, "packages/adapters/src/postgres/open-store.ts"),
);
const withoutPostgres = HAS_POSTGRES_STORE ? reasonToSkip("postgres") : "there is no such store yet";
if (withoutPostgres !== undefined) console.error(`The project fleet is left out: ${withoutPostgres}`);

/** Major versions of PostgreSQL beside Debian's: `npm run soak` uses those that `npm test` leaves out. */
const OTHER_POSTGRES = (IS_SOAK ? ["16", "17"] : ["18"]) satisfies `${number}`[];

/** The projects run one after the other, in this order: vitest mixes only projects that share a group. */
const ORDER = ["unit", "integration", "postgres", "e2e", "fleet", "terminal", "crash", "soak", "escape"];

type ProjectTest = NonNullable<UserWorkspaceConfig["test"]>;

function project(name: string, test: ProjectTest): UserWorkspaceConfig {
  return {
    test: {
      // A limit says when something hangs, not how fast it is: a machine that is slow, busy or cold takes many times what
      // a quiet one takes (3 s were seen for a process to start). Nothing waits longer than it must.
      testTimeout: IS_SOAK ? 14_400_000 : 240_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 20_000 } },
      // A test that fails once in many runs is a bug of the test or of the product.
      retry: 0,
      setupFiles: ["test/configure-properties.ts"],
      ...test,
      name,
      sequence: { groupOrder: ORDER.findIndex((group) => name.startsWith(group)) },
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
      }),
      project("integration", {
        include: ["packages/*/src/**/*.integration.test.ts"],
        maxWorkers: CORES,
      }),
      // The same assertions about the store on servers of other versions.
      ...OTHER_POSTGRES.map((major) =>
        project(`postgres${major}`, {
          include: [
            "packages/adapters/src/postgres/{store,store-*,archive,bus,partitions}.integration.test.ts",
          ],
          env: { SALLYPORT_POSTGRES_MAJOR: major },
          maxWorkers: CORES,
        }),
      ),
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
