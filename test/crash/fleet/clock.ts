/* Loaded before a replica: each SIGUSR2 steps its wall clock by as many milliseconds as the file CLOCK_FILE says. */
import { readFileSync } from "node:fs";

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
