import { get, type HostileCase, hostile, invoke, post } from "./hostile-case.ts";

const GOOD = '{"tool_id":"echo","parameters":{}}';
const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const soon = () => Math.floor(Date.now() / 1_000) + 600;

const claims = (more: object = {}) => ({
  iss: "sallyport",
  sub: "did:agent:1",
  agent_did: "did:agent:1",
  tenant_id: "local",
  tool_id: "echo",
  tool_version: "*",
  allowed_operations: ["execute"],
  iat: soon() - 660,
  exp: soon(),
  jti: "j-1",
  ...more,
});

function token(header: object, payload: object, signature = ""): string {
  return `${segment(header)}.${segment(payload)}.${signature}`;
}

const FAKE = Buffer.alloc(64, 7).toString("base64url");

const tokens: [name: string, token: string][] = [
  ["garbage", "garbage"],
  ["two dots", ".."],
  ["three empty parts", "e30.e30."],
  ["alg none", token({ alg: "none", typ: "JWT" }, claims())],
  ["alg None", token({ alg: "None", typ: "JWT" }, claims())],
  ["alg none with a signature", token({ alg: "none" }, claims(), FAKE)],
  ["alg HS256", token({ alg: "HS256", typ: "JWT" }, claims(), FAKE)],
  ["alg RS256 without a signature", token({ alg: "RS256", typ: "JWT" }, claims())],
  ["a forged signature", token({ alg: "EdDSA", typ: "JWT" }, claims(), FAKE)],
  ["a key of its own", token({ alg: "EdDSA", jwk: { kty: "OKP", crv: "Ed25519", x: "AA" } }, claims(), FAKE)],
  ["a key from elsewhere", token({ alg: "EdDSA", jku: "http://evil.example/jwks" }, claims(), FAKE)],
  ["a key from a file", token({ alg: "EdDSA", kid: "../../../../dev/null" }, claims(), FAKE)],
  ["a key id with SQL in it", token({ alg: "EdDSA", kid: "' OR 1=1--" }, claims(), FAKE)],
  ["an expired one", token({ alg: "EdDSA" }, claims({ exp: 1 }), FAKE)],
  [
    "an approval nobody gave",
    token({ alg: "RS256", typ: "JWT" }, claims({ iss: "sallyport-approvals", approval_id: "a" }), FAKE),
  ],
  ["a header that is no JSON", `x.${segment(claims())}.${FAKE}`],
  ["a payload that is a list", token({ alg: "EdDSA" }, [], FAKE)],
  [
    "a payload with __proto__",
    `${segment({ alg: "EdDSA" })}.${Buffer.from('{"__proto__":{"iss":"sallyport"}}').toString("base64url")}.${FAKE}`,
  ],
  ["10 KiB of it", "e".repeat(10_240)],
  ["a token that begins like ours", `ey${"J".repeat(40)}`],
  ["dots without end", ".".repeat(5_000)],
  ["letters beyond ASCII", "\xe4\xf6"],
];

const headers: [name: string, ...headers: string[]][] = [
  ["Basic", "Authorization: Basic b3A6a2V5"],
  ["an empty one", "Authorization: "],
  ["Bearer alone", "Authorization: Bearer"],
  ["Bearer and two words", "Authorization: Bearer a b"],
  ["a colon", "Authorization: Bearer: a"],
  ["no scheme", "Authorization: abc"],
  ["Digest", 'Authorization: Digest username="a"'],
  ["a session that never was", `Authorization: Bearer sps_${"a".repeat(43)}`],
  ["a session of nothing", "Authorization: Bearer sps_"],
  ["a cookie that never was", `Cookie: sallyport_session=sps_${"a".repeat(43)}`],
  ["a cookie with strange bytes", "Cookie: sallyport_session=\xff\xfe\x80"],
  ["an empty cookie", "Cookie: sallyport_session="],
  ["two session cookies", "Cookie: sallyport_session=a; sallyport_session=b"],
  ["a cookie of 10 KiB", `Cookie: sallyport_session=${"a".repeat(10_240)}`],
];

const management = [
  "/v1/approvals",
  "/v1/grants",
  "/v1/audit",
  "/v1/audit:verify",
  "/v1/approvals/x",
  "/v1/grants/x",
];

/** Credentials that are none, and routes that ask for one. */
export const CREDENTIALS: HostileCase[] = [
  ...tokens.map(([name, text]) =>
    hostile(`token: ${name}`, invoke(GOOD, `Authorization: Bearer ${text}`), 401),
  ),
  ...tokens
    .slice(0, 6)
    .map(([name, text]) =>
      hostile(
        `token: ${name}, in the body`,
        invoke(JSON.stringify({ ...JSON.parse(GOOD), capability_token: text })),
        401,
      ),
    ),
  ...headers.map(([name, ...lines]) =>
    hostile(`credential: ${name}`, get("/v1/tools", ...lines), 401, "E3939"),
  ),
  ...management.map((path) => hostile(`credential: none for ${path}`, get(path), 401, "E3938")),
  hostile("credential: none for a session", post("/v1/sessions", "{}"), 401, "E3938"),
  hostile("credential: none for a reload", post("/v1/config:reload", ""), 401, "E3938"),
  hostile(
    "credential: none for a revocation",
    post("/v1/tokens:revoke", '{"jti":"a","reason":"b"}'),
    401,
    "E3938",
  ),
  hostile(
    "credential: two",
    get("/v1/tools", "Authorization: Bearer a", "Authorization: Bearer b"),
    400,
    "E3903",
  ),
  hostile("credential: another site's cookies", get("/v1/tools", "Cookie: a=\x80\xff; b; =; ;;;"), 200),
  hostile(
    "header: two content types",
    invoke(GOOD, "Content-Type: application/json", "Content-Type: text/plain"),
    400,
    "E3903",
  ),
  hostile(
    "header: two idempotency keys",
    invoke(GOOD, "Idempotency-Key: a", "Idempotency-Key: b"),
    400,
    "E3903",
  ),
  hostile(
    "header: the same idempotency key twice",
    invoke(GOOD, "Idempotency-Key: a", "Idempotency-Key: a"),
    400,
    "E3903",
  ),
  hostile("header: an empty idempotency key", invoke(GOOD, "Idempotency-Key: "), 400, "E3903"),
  hostile(
    "header: an idempotency key of nothing in quotes",
    invoke(GOOD, 'Idempotency-Key: ""'),
    400,
    "E3903",
  ),
  hostile(
    "header: an idempotency key of 300 characters",
    invoke(GOOD, `Idempotency-Key: ${"k".repeat(300)}`),
    400,
    "E3903",
  ),
  hostile(
    "header: a key in the header, another in the body",
    invoke(
      '{"tool_id":"echo","parameters":{},"execution_options":{"idempotency_key":"a"}}',
      "Idempotency-Key: b",
    ),
    400,
    "E3903",
  ),
  hostile(
    "header: a request id with a line of a log in it",
    get("/none", "X-Request-Id: a level=error"),
    404,
    "E3930",
  ),
  hostile(
    "header: a trace context that is none",
    get("/none", "Traceparent: 00-00-00-00", "Tracestate: ,,,"),
    404,
    "E3930",
  ),
];
