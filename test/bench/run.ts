import { writeFileSync } from "node:fs";
import { printAuthorise } from "./authorise.ts";
import { benchFleet } from "./fleet/bench-fleet.ts";
import { benchGateway, printGateway } from "./gateway/bench-gateway.ts";
import { benchHttp, printHttp } from "./http/bench-http.ts";
import { benchTurn, printTurn } from "./loop/bench-turn.ts";
import { printLp1 } from "./lp1/bench-lp1.ts";
import { benchPassages, printPassages } from "./passages.ts";
import { benchPathSandbox, printPathSandbox } from "./path-sandbox/bench-path-sandbox.ts";
import { benchIsolation } from "./sandbox.ts";
import { printTokens } from "./tokens.ts";
import { benchColdWorker, printColdWorker } from "./worker-cold.ts";

/*
 * Everything in one run on one machine, interleaved in rounds, so that the ratios mean something although the absolute
 * numbers move. Nothing here passes or fails. `npm run bench -- http turns` runs only those sections, `--out=FILE` writes
 * the readings as JSON.
 */

const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3);

/** Measures, prints for people, and gives back what machines read. */
const SECTIONS: Record<string, () => unknown> = {
  // First, while this process is small: the larger it is, the longer the kernel takes to start another from it.
  isolation: () => benchIsolation(),
  rows: () => shown(benchPassages(ROUNDS), printPassages),
  tokens: () => printTokens(),
  authorise: () => printAuthorise(),
  http: () => shown(benchHttp(ROUNDS), printHttp),
  lp1: () => printLp1(),
  paths: () => shown(benchPathSandbox(ROUNDS), printPathSandbox),
  turns: () => shown(benchTurn(ROUNDS), printTurn),
  worker: () => shown(benchColdWorker(ROUNDS), printColdWorker),
  gateway: () => shown(benchGateway(ROUNDS), printGateway),
  fleet: () => benchFleet(),
};

async function shown<Rows>(measured: Promise<Rows>, print: (rows: Rows) => void): Promise<Rows> {
  const rows = await measured;
  print(rows);
  return rows;
}

const given = process.argv.slice(2);
const named = given.filter((argument) => !argument.startsWith("--"));
const readings: Record<string, unknown> = { node: process.versions.node, rounds: ROUNDS };
for (const name of named.length > 0 ? named : Object.keys(SECTIONS)) {
  const section = SECTIONS[name];
  if (!section) throw new Error(`There is no section "${name}", only ${Object.keys(SECTIONS).join(", ")}.`);
  readings[name] = await section();
}
const out = given.find((argument) => argument.startsWith("--out="))?.slice(6);
if (out) writeFileSync(out, `${JSON.stringify(readings, null, 2)}\n`);
else console.log(JSON.stringify(readings));
