export { createHttpSink, type HttpSinkOptions } from "./http-sink.ts";
export { createJsonlSink } from "./jsonl-sink.ts";
export { createKafkaSink, type KafkaSinkOptions } from "./kafka-sink.ts";
