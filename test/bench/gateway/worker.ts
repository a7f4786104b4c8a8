import { defineWorker } from "@sallyport/worker";

/* The tool of all benches, behind the SDK. */

const run = ({ a, b }: Record<string, unknown>) => ({ result: Number(a) + Number(b) });
const { url } = await defineWorker({ tools: { "bench.add": { run } } }).serve({ port: 0 });
console.log(JSON.stringify({ url }));
