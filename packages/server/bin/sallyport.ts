#!/usr/bin/env node
// Only what an old Node understands stands before this check; everything else is imported after it.
const OLDEST_NODE = 24;
if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
  process.stderr.write(
    `Sallyport needs Node ${OLDEST_NODE} or newer; this is Node ${process.versions.node}.\n`,
  );
  process.exit(70);
}
const { main } = await import("../src/cli/main.ts");
const { containUncaught } = await import("../src/contain-uncaught.ts");

containUncaught();

const streams = [process.stdout, process.stderr];

// Whoever reads the output may stop before its end (`| head`), and a terminal may be closed; that is no error of ours.
for (const stream of streams) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || error.code === "EIO") return;
    process.exitCode = 70;
    if (stream === process.stdout)
      process.stderr.write(`The output could not be written (${error.code}); what was done is on record.\n`);
  });
}

const code = await main(process.argv.slice(2));
// Everything is said and kept; what a tool's module left running must not hold the command.
await Promise.all(streams.map((stream) => new Promise((resolve) => stream.write("", resolve))));
process.exit(process.exitCode ?? code);
