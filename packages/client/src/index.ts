export {
  type Client,
  type ClientOptions,
  createClient,
  type RequestOptions,
  type RunSuccess,
} from "./client.ts";
export type { ClientError, Result } from "./client-error.ts";
export type { Fetch } from "./exchange.ts";
