export { callEvents, EventBuilder } from "./cloud-event.ts";
export { firstBatches, PartitionLeases } from "./partitions.ts";
export {
  EventPublisher,
  type Publication,
  type PublisherOptions,
  publishPending,
  type SinkProblem,
} from "./publisher.ts";
