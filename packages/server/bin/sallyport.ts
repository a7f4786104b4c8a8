#!/usr/bin/env node
import { main } from "../src/cli/main.ts";

// Whoever reads the output may stop before its end (`| head`); that is no error of ours.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

process.exitCode = await main(process.argv.slice(2));
