import { Writable } from "node:stream";

const MAX_TAIL_BYTES = 4_096;

/**
 * Takes a tool's output away from the host's: stdout is thrown away, of stderr the end is kept, and passed on only
 * when the thread exits, to explain why. (Reading a worker's streams in main instead would keep the host alive for
 * as long as the thread lives, and unread they would fill up.) A tool that writes to file descriptor 1 itself gets
 * around this.
 */
export function quietOutput(): void {
  const passedOn = process.stderr;
  let tail = Buffer.alloc(0);
  replaceStream("stdout", () => {});
  replaceStream("stderr", (chunk) => {
    tail = Buffer.concat([tail, chunk]).subarray(-MAX_TAIL_BYTES);
  });
  process.on("exit", () => {
    if (tail.length > 0) passedOn.write(tail);
  });
}

function replaceStream(name: "stdout" | "stderr", take: (chunk: Buffer) => void): void {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      take(chunk);
      done();
    },
  });
  Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true });
}
