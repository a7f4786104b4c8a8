/*
 * Loaded before a replica. Each SIGUSR2 steps its wall clock by as many milliseconds as the file CLOCK_FILE says. A line in
 * the file STALLS_FILE says when the machine did not let the process run, as after a SIGSTOP.
 */
import { appendFileSync, readFileSync } from "node:fs";

const RealDate = Date;
let offset = 0;

class SteppedDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + offset] : given) as [number]));
  }

  static override now(): number {
    return RealDate.now() + offset;
  }
}

globalThis.Date = SteppedDate as DateConstructor;
process.on("SIGUSR2", () => {
  offset = Number(readFileSync(process.env.CLOCK_FILE ?? "", "utf8"));
});

const BEAT_MS = 50;
const STALL_MS = 300;
let last = RealDate.now();
setInterval(() => {
  const from = last;
  last = RealDate.now();
  const line = `${JSON.stringify({ from, to: last })}\n`;
  if (last - from > STALL_MS) appendFileSync(process.env.STALLS_FILE ?? "", line);
}, BEAT_MS).unref();
