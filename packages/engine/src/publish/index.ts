export { backlogsOf, EventBacklogs, type SinkBacklog } from "./backlogs.ts";
export { callEvents, EventBuilder } from "./cloud-event.ts";
export { EVENT_TYPES, eventSchemas } from "./event-schemas.ts";
export { firstBatches, PartitionLeases } from "./partitions.ts";
export {
  EventPublisher,
  type Publication,
  type PublisherClosing,
  type PublisherOptions,
  publishPending,
  type SinkProblem,
} from "./publisher.ts";
