import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Contender } from "./measure.ts";
import { ADD_INPUT, ADD_OUTPUT, add } from "./subject.ts";

/** Group commit at its barest: what arrives while a batch is being written goes into the next one. */
class FloorLog {
  readonly #writer: Worker;
  #waiting: { body: string; done: () => void }[] = [];
  #writing: (() => void)[] = [];

  constructor(folder: string) {
    this.#writer = new Worker(new URL("./floor-writer.ts", import.meta.url), {
      workerData: join(folder, "floor.db"),
    });
    this.#writer.on("message", () => {
      const written = this.#writing;
      this.#writing = [];
      for (const done of written) done();
      this.#send();
    });
  }

  append(body: string): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ body, done });
      if (this.#waiting.length === 1 && this.#writing.length === 0) process.nextTick(() => this.#send());
    });
  }

  async close(): Promise<void> {
    this.#writer.postMessage("close");
    await new Promise((resolve) => this.#writer.once("exit", resolve));
  }

  #send(): void {
    if (this.#writing.length > 0 || this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#writing = batch.map(({ done }) => done);
    this.#writer.postMessage(batch.map(({ body }) => body));
  }
}

/** Schema in and out, and one synced write of as many bytes as a guarded call leaves behind. */
export function floorContender(folder: string, bytes: number): Contender {
  const ajv = new Ajv2020();
  const [input, output] = [ajv.compile(ADD_INPUT), ajv.compile(ADD_OUTPUT)];
  const log = new FloorLog(folder);
  const body = "x".repeat(bytes);
  return {
    name: `floor: Ajv + one synced write of ${bytes} B`,
    async call() {
      const given = { a: 2, b: 3 };
      if (!input(given)) throw new Error("input");
      const result = add(given);
      if (!output(result)) throw new Error("output");
      await log.append(body);
    },
    calls: { one: 1_500, many: 60_000 },
    close: () => log.close(),
  };
}
