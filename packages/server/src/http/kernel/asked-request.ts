import { exactRecord, type Failure, type Field, failure, type Issue, optional } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import type { Asked, Route } from "../route.ts";
import type { Exchange } from "./exchange.ts";

/** The parts of a request as they came. */
export interface Parts {
  params: unknown;
  query: unknown;
  body: unknown;
}

/** What a handler gets. Costly parts are made when it looks at them. */
class AskedRequest implements Asked {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly origin: string;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange, { params, query, body }: Parts, origin: string) {
    this.#exchange = exchange;
    this.params = params;
    this.query = query;
    this.body = body;
    this.origin = origin;
  }

  get principal(): Principal {
    return this.#exchange.principal;
  }

  get requestId(): string {
    return this.#exchange.requestId;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get headers(): Asked["headers"] {
    return this.#exchange.headers;
  }
}

/** What a route takes that reads no body: something ignored here may have been meant as a limit. */
const NO_BODY: Field<unknown> = optional(exactRecord<Record<never, never>>({}));

/** The request as the route promised it to its handler; E3903 with every wrong place when it is not like that. */
export function askedOf(
  route: Route,
  exchange: Exchange,
  given: Parts & { origin: string },
): Asked | Failure {
  const issues: Issue[] = [];
  const fitsPath = fieldFits(route.params, given.params, { at: "path", issues });
  const fitsQuery = fieldFits(route.query, given.query, { at: "query", issues });
  const fitsBody = fieldFits(route.body ?? NO_BODY, given.body, { at: "", issues });
  if (fitsPath && fitsQuery && fitsBody) return new AskedRequest(exchange, given, given.origin);
  const places = issues.slice(0, 5).map(({ path, reason }) => `${path || "the body"} ${reason}`);
  const rest = issues.length > 5 ? `; and ${issues.length - 5} more` : "";
  return failure("E3903", { message: `Malformed request: ${places.join("; ")}${rest}`, issues });
}

function fieldFits(
  field: Field<unknown> | undefined,
  value: unknown,
  { at, issues }: { at: string; issues: Issue[] },
): boolean {
  return field === undefined || field(value, at, issues);
}
