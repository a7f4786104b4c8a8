export { createJsonlSink } from "./jsonl-sink.ts";
