/** What is used of autocannon here, which brings no types. */
declare module "autocannon" {
  import type { EventEmitter } from "node:events";

  interface Client {
    setHeadersAndBody(headers: Record<string, string>, body: string): void;
  }

  interface Options {
    url: string;
    method: "POST";
    connections: number;
    /** In seconds; `amount` goes before it. */
    duration?: number;
    amount?: number;
    /** Between two looks at the counters, in milliseconds. */
    sampleInt: number;
    setupClient(client: Client): void;
    verifyBody(body: string): boolean;
  }

  export interface Result {
    /** In seconds. */
    duration: number;
    requests: { total: number };
    errors: number;
    non2xx: number;
    mismatches: number;
  }

  export default function autocannon(
    options: Options,
    done: (error: Error | null, result: Result) => void,
  ): EventEmitter;
}
