import { type Contender, measureFor } from "../measure.ts";

/*
 * One contender in a process of its own: `node contender-process.ts MODULE PLACE`. The module exports `open(place)`. The
 * parent sends how many callers make calls for how long and gets the reading; it ends the process by disconnecting.
 */

/** What a contender is asked to do. */
export interface Round {
  callers: number;
  ms: number;
}

/** What a module of a contender exports; `place` says where its server is. */
export interface ContenderModule {
  open(place: Record<string, string>): Promise<Contender>;
}

const [, , module = "", place = "{}"] = process.argv;
const { open }: ContenderModule = await import(module);
const contender = await open(JSON.parse(place));

process.on("message", async ({ callers, ms }: Round) => {
  const [before, started] = [process.cpuUsage(), performance.now()];
  const reading = await measureFor(contender, callers, ms);
  const { user, system } = process.cpuUsage(before);
  const calls = (reading.perSecond * (performance.now() - started)) / 1_000;
  process.send?.({ ...reading, cpuUs: (user + system) / calls });
});
process.once("disconnect", () => void contender.close?.());
process.send?.({ name: contender.name });
