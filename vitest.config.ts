import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Processes and threads that tests start from source strip its types once for all of them. Without it V8 can crash where
// threads that strip come and go (packages/adapters/src/sqlite/source-thread.ts).
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/sallyport-tests");

// A machine that is slow, busy or cold takes many times what a quiet one takes: 3 s for a process to start is seen. A limit
// here says when something hangs, not how fast it is; nothing waits longer than it must.
const PATIENCE = {
  testTimeout: 60_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...PATIENCE,
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: ["**/*.integration.test.ts", "**/node_modules/**"],
        },
      },
      {
        test: {
          ...PATIENCE,
          name: "integration",
          include: ["packages/*/src/**/*.integration.test.ts"],
          testTimeout: 180_000,
        },
      },
      {
        test: {
          ...PATIENCE,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: ["test/e2e/{tui,chat}/**"],
          testTimeout: 240_000,
        },
      },
      {
        // Apart from the heavy ones: a person's keys and a screen's answer are a matter of time.
        test: {
          ...PATIENCE,
          name: "terminal",
          include: ["test/e2e/{tui,chat}/**/*.test.ts"],
          testTimeout: 240_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: { ...PATIENCE, name: "crash", include: ["test/crash/**/*.test.ts"], testTimeout: 2_400_000 },
      },
      {
        // By itself: it looks at what is left on the machine.
        test: {
          ...PATIENCE,
          name: "soak",
          include: ["test/soak/**/*.test.ts"],
          testTimeout: 240_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // By itself too: limits on time and processors are attacked, and the host is compared before and after.
        test: {
          ...PATIENCE,
          name: "escape",
          include: ["test/escape/**/*.test.ts"],
          testTimeout: 900_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
