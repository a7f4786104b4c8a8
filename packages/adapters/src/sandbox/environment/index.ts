export { baseEnvironment, isIntercepted, PROXY_PORT, proxyEnvironment } from "./base.ts";
export { type SanitiseOptions, SECRET_NAMES, sanitiseEnvironment, TRICK_NAMES } from "./sanitise.ts";
