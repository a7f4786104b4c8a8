import { get, type HostileCase, hostile } from "./hostile-case.ts";
import { OPERATOR } from "./shapes.ts";

const tools = [
  "page=-1",
  "page=0",
  "page=1e9",
  "page=1.5",
  "page=0x1",
  "page=%201",
  "page=",
  "page=1000001",
  "page=99999999999999999999",
  "page=one",
  "page=null",
  "page[]=1",
  "page=1&page=2",
  "page_size=0",
  "page_size=201",
  "page_size=1e9",
  "page_size=-0",
  "page_size=٣",
  "tags=",
  "tags=,",
  "tags=a,,b",
  "tags=a&tags=b",
  "category=",
  "category=everything",
  "category=computation&category=computation",
  "capability_query=",
  `capability_query=${"a".repeat(513)}`,
  "sort=name",
  "__proto__=1",
  "__proto__[a]=1",
  "constructor=1",
  "constructor[prototype][a]=1",
  "PAGE=1",
  "page%00=1",
  "=1",
  "a",
  "page=%00",
];
const calls = [
  "limit=0",
  "limit=201",
  "limit=-5",
  "limit=1e2",
  "limit=",
  "cursor=",
  `cursor=${"c".repeat(600)}`,
  "cursor=a&cursor=b",
  "status=done",
  "status=success&status=error",
  "status[]=success",
  "tenant=",
  `agent=${"a".repeat(256)}`,
  "tool=",
  "order=desc",
  "limit=50;cursor=x",
];
const managed: [path: string, ...queries: string[]][] = [
  ["/v1/approvals", "state=closed", "limit=0", "limit=1000", "cursor=", "tenant=", "x=1"],
  ["/v1/grants", "kind=all", "state=open", "x=1", "kind=standing&kind=standing"],
  ["/v1/audit", "after=-1", "after=1e3", "after=9007199254740993", "limit=0", "limit=1001", "tenant=", "x=1"],
  ["/v1/audit:verify", "tenant=", "deep=true"],
];

const refused = (path: string, queries: readonly string[], ...headers: string[]) =>
  queries.map((query) =>
    hostile(
      `query: ${path}?${query.slice(0, 60)}`,
      get(`${path}?${encoded(query)}`, ...headers),
      400,
      "E3903",
    ),
  );

/** Questions that cannot be meant. */
export const QUERIES: HostileCase[] = [
  ...refused("/v1/tools", tools),
  ...refused("/v1/invocations", calls),
  ...managed.flatMap(([path, ...queries]) => refused(path, queries, OPERATOR)),
  hostile("query: a cursor that nobody gave out", get("/v1/invocations?cursor=..%2f..%2fetc"), 400),
  hostile("query: a cursor with quotes", get("/v1/invocations?cursor=%27%20OR%201=1--"), 400),
  hostile("query: words with patterns in them", get("/v1/tools?capability_query=(a%2B)%2B%24%25*"), 200),
  hostile("query: an empty one", get("/v1/tools?"), 200),
  hostile(
    "query: a thousand parameters",
    get(`/v1/tools?${Array.from({ length: 900 }, (_, n) => `p${n}=1`).join("&")}`),
    400,
    "E3903",
  ),
];

function encoded(query: string): string {
  return query.replaceAll("٣", "%D9%A3");
}
