export { createJobRunner } from "./job-runner.ts";
export type { WorkerReport } from "./worker-health.ts";
export {
  createWorkerRunner,
  type ProbedWorker,
  type WorkerRunner,
  type WorkerRunnerOptions,
} from "./worker-runner.ts";
