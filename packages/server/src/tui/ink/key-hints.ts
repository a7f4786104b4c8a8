import { Text } from "ink";
import { Fragment } from "react";
import { h, useLook } from "./element.ts";

/** Keys and what they do, in one text. */
export function KeyHints({ keys }: { keys: readonly (readonly [string, string])[] }) {
  const { paint } = useLook();
  return h(
    Text,
    null,
    ...keys.map(([key, what], index) =>
      h(
        Fragment,
        { key },
        index === 0 ? "" : "  ",
        h(Text, paint("accent"), key),
        h(Text, paint("faint"), ` ${what}`),
      ),
    ),
  );
}
