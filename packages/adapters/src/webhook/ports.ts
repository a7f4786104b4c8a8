/** Where plain web servers listen below the ports anybody may open. */
const WEB = new Set([80, 443]);
const FIRST_FREE = 1_024;
/**
 * Services above those that take a line of text for a command: the ports browsers refuse (Fetch, "bad port"), and the
 * data stores and caches that a private network has.
 */
const OTHER_SERVICES = new Set([
  1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080, 11211, 27017,
]);

/** Why a webhook does not go to a port: a signed POST must not be a command to something that is no web server. */
export function portProblem(port: number): string | undefined {
  const isWeb = WEB.has(port) || (port >= FIRST_FREE && !OTHER_SERVICES.has(port));
  return isWeb ? undefined : `port ${port} is not one web servers listen on`;
}
