import { Readable, Writable } from "node:stream";
import { CallServer } from "./call-server.ts";
import { FrameReader } from "./wire.ts";

// The program of a sandboxed tool process. Its stdin and stdout are the way to the host, so they are taken away before
// any of the tool's code runs: the tool finds an empty stdin, and what it prints goes to stderr, where the host reads it
// and keeps the end. A tool that writes to file descriptor 1 itself only garbles its own call: the host reads whatever
// comes out as hostile, and all the tool could forge is its own result.

const { stdin, stdout, stderr } = process;
const { cpuUsage, memoryUsage, exit } = process;

replace("stdin", Readable.from([]));
replace(
  "stdout",
  new Writable({
    write: (chunk, encoding, done) => {
      if (stderr.write(chunk, encoding)) done();
      else stderr.once("drain", () => done());
    },
  }),
);

const write = stdout.write.bind(stdout);
const server = new CallServer({
  // Writing to a pipe is synchronous: what was said is out, also when the process ends right after.
  post: (frame) => void write(`${frame}\n`),
  readUsage: () => {
    const { user, system } = cpuUsage();
    return { threadCpuMs: (user + system) / 1_000, memoryBytes: memoryUsage.rss() };
  },
});
const reader = new FrameReader({ onFrame: (frame) => server.take(frame) });
stdin.on("data", (chunk: Buffer) => reader.take(chunk));
process.on("uncaughtException", (error) => server.fail(error));
// The host is gone: nobody is left to work for.
stdin.on("end", () => exit());

function replace(name: "stdin" | "stdout", stream: Readable | Writable): void {
  Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true });
}
