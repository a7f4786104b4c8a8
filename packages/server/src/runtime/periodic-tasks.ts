import { setTimeout as sleep } from "node:timers/promises";
import { timerMs } from "@sallyport/engine/host";

/** Something a process that stays does again and again. */
export interface PeriodicTask {
  name: string;
  everyMs: number;
  /** The signal comes when the tasks are stopped: what can be gone on with another time ends. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** Tasks under way; stopping waits for the one that is being done. */
export interface RunningTasks {
  stop(): Promise<void>;
}

/**
 * Runs each task by its own clock, never twice at a time. A failure is reported once, until the task has worked again; the
 * task is tried at its next turn.
 */
export function startTasks(
  tasks: readonly PeriodicTask[],
  onProblem: (task: string, error: unknown) => void,
): RunningTasks {
  const stopping = new AbortController();
  const loops = tasks.map((task) => repeat(task, stopping.signal, onProblem));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function repeat(
  { name, everyMs, run }: PeriodicTask,
  signal: AbortSignal,
  onProblem: (task: string, error: unknown) => void,
): Promise<void> {
  let isFailing = false;
  while (!signal.aborted) {
    await sleep(timerMs(everyMs), undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await run(signal);
      isFailing = false;
    } catch (error) {
      if (!isFailing) onProblem(name, error);
      isFailing = true;
    }
  }
}
