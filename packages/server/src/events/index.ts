export { EventPublisher } from "./event-publisher.ts";
