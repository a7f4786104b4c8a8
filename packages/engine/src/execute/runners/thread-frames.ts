import type { MessagePort } from "node:worker_threads";
import type { CallFacts, RunFault } from "../../ports/runner.ts";
import type { HostMethod } from "./tool-context.ts";

// A frame is one string: a JSON head, a newline, a JSON body (or nothing). A string crosses a port faster than
// an object, carries no ports, buffers or prototypes, and its size is known before anything is parsed.

/** The first and only message over the public port: where to talk, and which tool to load. */
export interface Handover {
  port: MessagePort;
  moduleUrl: string;
  tool: string;
  version: string;
}

/** Main to thread. `run` carries the input as its body, `answer` the host's value. */
export type Order =
  | { kind: "run"; call: number; operation: string; facts: CallFacts; deadlineAt: number; maxBytes: number }
  | { kind: "abort"; call: number }
  | { kind: "answer"; call: number; question: number; error?: HostError };

/** Thread to main. `done` carries the output as its body, `ask` what is to be done with its subject. */
export type Report =
  | { kind: "ready"; threadCpuMs: number }
  | { kind: "unusable"; fault: RunFault }
  | ({ kind: "done"; call: number } & Reading)
  | ({ kind: "failed"; call: number; fault: RunFault } & Reading)
  | { kind: "ask"; call: number; question: number; method: HostMethod; subject: string }
  | { kind: "progress"; call: number; percent: number; phase?: string };

/** A report about a call, rather than about the thread. */
export type CallReport = Extract<Report, { call: number }>;

/** What a thread has used: processor time since it was born, and memory at this moment (heap and buffers). */
export interface Reading {
  threadCpuMs: number;
  memoryBytes: number;
}

/** What is left of a host's error on the way to the tool. */
export interface HostError {
  name: string;
  message: string;
  code?: string;
}

const { stringify, parse } = JSON;

/** One string for the port. */
export function encodeFrame(head: Order | Report, body = ""): string {
  return `${stringify(head)}\n${body}`;
}

/** Throws when the text is not a frame. JSON heads never contain a raw newline, so the first one ends the head. */
export function decodeFrame(text: string): { head: unknown; body: string } {
  const end = text.indexOf("\n");
  return { head: parse(text.slice(0, end)), body: text.slice(end + 1) };
}

/** Milliseconds on a clock that every thread of the process shares and nobody can set. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
