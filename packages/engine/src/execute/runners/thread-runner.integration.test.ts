import { runnerContract } from "./fixtures/runner-contract.ts";
import { createThreadRunner } from "./thread-runner.ts";

runnerContract("thread", () => ({
  runner: createThreadRunner(),
  implementation: { kind: "thread", moduleUrl: new URL("./fixtures/contract-tool.ts", import.meta.url).href },
}));
