import { defineWorker } from "@sallyport/worker";
import { countWords } from "./tool.ts";

const worker = defineWorker({ tools: { "example-worker": countWords } });
const { url } = await worker.serve();
console.log(`POST ${url}/run`);
