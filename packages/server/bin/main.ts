import { main } from "../src/cli/main.ts";
import { containUncaught } from "../src/contain-uncaught.ts";

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
