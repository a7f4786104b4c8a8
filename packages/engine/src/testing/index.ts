export { blobsContract, type OpenBlobs } from "./blobs-contract.ts";
export { busContract, type OpenBuses } from "./bus-contract.ts";
export { eventSinkContract, type OpenSink, outgoing, sampleEvent } from "./event-sink-contract.ts";
export { type FaultAction, FaultPlan, type FaultPoint, type FaultRule, withFaults } from "./faults.ts";
export { FaultyBus, type MessageFate } from "./faulty-bus.ts";
export { type FixtureTool, fixtureEngine } from "./fixture-engine.ts";
export { storeContract } from "./store-contract.ts";
export * from "./store-samples.ts";
