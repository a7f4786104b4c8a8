import type { SandboxOrder } from "@sallyport/engine/ports";
import { GUEST } from "../plan/guest-paths.ts";

/** Where the forwarder listens inside, in front of the egress proxy. */
export const PROXY_PORT = 3128;

/** What a process finds in its environment unless the order says otherwise. */
export function baseEnvironment(order: Pick<SandboxOrder, "egress">): Record<string, string> {
  return { ...PLAIN, ...proxyEnvironment(order) };
}

const PLAIN = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/tmp",
  TMPDIR: "/tmp",
  USER: "sandbox",
  LOGNAME: "sandbox",
  SHELL: "/bin/sh",
  LANG: "C.UTF-8",
} as const;

/** How programs find the egress proxy; empty when the order has no network at all. */
export function proxyEnvironment(order: Pick<SandboxOrder, "egress">): Record<string, string> {
  if (order.egress.length === 0) return {};
  const proxy = `http://127.0.0.1:${PROXY_PORT}`;
  return {
    ...both("HTTP_PROXY", proxy),
    ...both("HTTPS_PROXY", proxy),
    ...both("ALL_PROXY", `socks5h://127.0.0.1:${PROXY_PORT}`),
    ...both("NO_PROXY", ""),
    NODE_USE_ENV_PROXY: "1",
    ...(isIntercepted(order) ? CERTIFICATES : {}),
  };
}

/** True when the proxy ends TLS for some host, so that its certificate must be trusted inside. */
export function isIntercepted(order: Pick<SandboxOrder, "egress">): boolean {
  return order.egress.some((rule) => rule.credential?.intercept === true);
}

const CERTIFICATES = {
  SSL_CERT_FILE: GUEST.certificate,
  NODE_EXTRA_CA_CERTS: GUEST.certificate,
  CURL_CA_BUNDLE: GUEST.certificate,
  REQUESTS_CA_BUNDLE: GUEST.certificate,
  GIT_SSL_CAINFO: GUEST.certificate,
};

/** curl and others read only the small letters, some only the capitals. */
function both(name: string, value: string): Record<string, string> {
  return { [name]: value, [name.toLowerCase()]: value };
}
