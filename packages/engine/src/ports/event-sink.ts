import type { JsonObject } from "@sallyport/protocol";

/** A CloudEvents 1.0 event. */
export interface CloudEvent {
  specversion: "1.0";
  id: string;
  type: string;
  source: string;
  time: string;
  datacontenttype: "application/json";
  /** Partition: events of a tenant stay in order. */
  partitionkey: string;
  data: JsonObject;
}

/** Where published events go. `send` resolves once they are kept there; a rejection keeps them in the outbox. */
export interface EventSink {
  send(events: CloudEvent[]): Promise<void>;
}
