import { resolve } from "node:path";
import { createJsonlSink } from "@sallyport/adapters/events";
import type { EventSink } from "@sallyport/engine/ports";
import type { LoadedConfig } from "../config/load.ts";

/** The configured sinks by name; none when nothing is to be published. */
export function openSinks({ events, stateFolder }: LoadedConfig): Map<string, EventSink> {
  const sinks = new Map<string, EventSink>();
  if (events) sinks.set("file", createJsonlSink(resolve(stateFolder, "events.jsonl")));
  return sinks;
}
