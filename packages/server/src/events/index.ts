export { openSinks, sinkNames } from "./open-sinks.ts";
export { EventPublishers, type SinkStatus } from "./publishers.ts";
