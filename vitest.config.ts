import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Processes and threads that tests start from source strip its types once for all of them. Without it V8 can crash where
// threads that strip come and go (packages/adapters/src/sqlite/source-thread.ts).
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/sallyport-tests");

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: ["**/*.integration.test.ts", "**/node_modules/**"],
        },
      },
      {
        test: {
          name: "integration",
          include: ["packages/*/src/**/*.integration.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: ["test/e2e/{tui,chat}/**"],
          testTimeout: 120_000,
        },
      },
      {
        // Apart from the heavy ones: a person's keys and a screen's answer are a matter of time.
        test: {
          name: "terminal",
          include: ["test/e2e/{tui,chat}/**/*.test.ts"],
          testTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: { name: "crash", include: ["test/crash/**/*.test.ts"], testTimeout: 900_000 },
      },
      {
        // By itself: it looks at what is left on the machine.
        test: {
          name: "soak",
          include: ["test/soak/**/*.test.ts"],
          testTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // By itself too: limits on time and processors are attacked, and the host is compared before and after.
        test: {
          name: "escape",
          include: ["test/escape/**/*.test.ts"],
          testTimeout: 300_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
