/** Why a test is skipped; a machine that has to have a sandbox must not pass by skipping. */
export function noSandbox(): string {
  const why = "no LEVEL_2 sandbox here";
  if (process.env.CI || process.env.SALLYPORT_REQUIRE_SERVICES) throw new Error(why);
  return why;
}
